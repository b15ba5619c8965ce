"""Benchmarks: the speed and memory of Signet and its peers, measured on one machine at the same time."""
