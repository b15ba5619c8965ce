"""What the operating system offers for safety: child processes with limits."""
