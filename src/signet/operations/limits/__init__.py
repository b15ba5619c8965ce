"""Limits: how often who may call what, how many calls run at once, and calls that are answered once."""
