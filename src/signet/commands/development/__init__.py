"""Development mode: a supervisor that keeps the socket or pipe, and a process for each generation of the tools."""
