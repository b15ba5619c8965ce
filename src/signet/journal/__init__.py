"""The journal: one record per call, the same through every door."""
