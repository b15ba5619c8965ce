"""The lock: what a server says about itself, pinned by digest and by value, and what a change of it means."""
