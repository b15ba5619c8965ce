"""The kernel: every rule of a call, and no I/O."""
