"""Tests of what a team needs: who calls, an audit log, limits, shared state, telemetry, deployment."""
