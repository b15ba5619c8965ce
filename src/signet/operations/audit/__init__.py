"""The audit log: one line for each request, chained by hashes."""
