"""Tests of the Bank of Japan toolset; a package, so that its modules may be called what others are called."""
