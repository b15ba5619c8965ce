"""Tests against the real outside parts: official clients, suites and programs, and real processes of ours."""
