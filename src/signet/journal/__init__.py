"""The journal: one record per call, the same whichever door it came through."""
