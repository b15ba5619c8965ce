"""What servers say about themselves, pinned."""
