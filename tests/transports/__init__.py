"""Tests of the doors: real servers at the end of pipes and sockets, and the parts that they are made of."""
