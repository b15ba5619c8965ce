"""Tests of the kernel, without any process or socket."""
