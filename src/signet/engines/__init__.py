"""The engines that draw diagrams: each runs in a child process that can be killed, or on another server."""
