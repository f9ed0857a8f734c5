"""Options, faults, and the control API."""
