"""Tests of the ways out, over real sockets."""
