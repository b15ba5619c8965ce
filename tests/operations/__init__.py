"""Tests of what a team needs: who calls, limits, shared state, telemetry."""
