"""Validation modes: whether a contract is checked, and whether it is enforced."""

from __future__ import annotations

import pytest

from signet.kernel.pipeline import RULES, Mode


@pytest.mark.parametrize(
    ("mode", "checks", "enforces"),
    [("enforce", True, True), ("shadow", True, False), ("relax", False, False), ("off", False, False)],
)
def test_each_mode_checks_and_enforces_as_its_name_says(mode: str, checks: bool, enforces: bool) -> None:
    assert RULES[mode] == (checks, enforces)


def test_every_mode_of_a_process_has_its_rules() -> None:
    assert {mode.value for mode in Mode} <= RULES.keys()
