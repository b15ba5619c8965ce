"""What a team needs of a server: who calls, an audit log, limits, state that processes share, telemetry."""
