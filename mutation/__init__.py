"""The mutation check: rules of the source are changed one at a time, and the tests must notice each change."""
