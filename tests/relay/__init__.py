"""Tests of what stands in front of other people's servers."""
