"""Tests of the toolset that explores the Bank of Japan; a package, as the names of its modules are used elsewhere."""
