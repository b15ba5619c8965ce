"""Benchmarks: what Signet costs beside its peers, measured on one machine in the same minutes."""
