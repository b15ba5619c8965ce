"""The same tool on other libraries, each written as its own documentation shows."""
