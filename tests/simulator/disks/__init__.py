"""Real disks: QEMU's processes on this machine take the place of hosts."""
