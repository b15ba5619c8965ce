"""The targets: one module for each reader of outside bytes."""
