"""The states and the placement of VMs, apart from what modules for VMs need."""

from __future__ import annotations

from collections.abc import Sequence

# The states of a VM that changes without a call.
CHANGING_STATES = tuple(
    "Starting Stopping Rebooting Destroying Migrating VolumeMigrating VolumeRecovering Expunging Pausing Resuming"
    " Registering".split()
)

# The states of a VM that permit to attach and to detach its volumes and ISOs.
ATTACHING_STATES = ("Running", "Stopped", "Paused")

# The parameters that place a new VM.
PLACEMENT = ("clusterUuid", "hostUuid")


def join_states(states: Sequence[str]) -> str:
    """Return states in a sentence: ``Running, Stopped or Paused``."""
    return " or ".join(filter(None, [", ".join(states[:-1]), states[-1]]))
