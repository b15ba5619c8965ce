"""With this folder in PYTHONPATH, a request waits for its turn at an absent store as long as a test waits."""

from signet.upstream import pace

pace.PATIENCE_S = 60.0
