"""Fuzzing: random and mutated inputs for every reader of outside bytes, kept in the repository with what it found."""
