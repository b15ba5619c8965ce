"""Tests of `signet wrap` in front of servers that misbehave."""
