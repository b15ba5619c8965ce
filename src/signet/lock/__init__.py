"""What a server says about itself, pinned."""
