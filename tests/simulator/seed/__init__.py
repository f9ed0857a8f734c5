"""The objects after start and reset."""
