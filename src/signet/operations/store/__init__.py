"""The state that processes share: in this process, or in Redis."""
