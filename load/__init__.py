"""`make load`: three servers of two workers behind HAProxy, with Redis, callers at every door, and faults in order."""
