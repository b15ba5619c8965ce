"""Telemetry: figures for Prometheus and OpenTelemetry, spans, the access log."""
