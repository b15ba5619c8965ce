"""Spending: the work of a check is counted, and a check that needs more than is left ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from processes import clean_env
from signet.kernel.spending import OverBudgetError, Spending

HEAVY = ("signet.kernel.parts", "signet.kernel.places", "signet.kernel.schema_budget", "signet.kernel.schema_work")


def test_work_is_spent_until_nothing_is_left() -> None:
    spending = Spending(10)

    spending.spend(4)
    spending.spend(6)

    assert spending.left == 0
    with pytest.raises(OverBudgetError):
        spending.spend(1)


def test_the_contracts_load_nothing_of_the_budget_before_the_first_schema() -> None:
    told = "import sys, signet.kernel.pipeline; print([name for name in sys.argv[1:] if name in sys.modules])"
    command = [sys.executable, "-c", told, *HEAVY]

    done = subprocess.run(command, capture_output=True, text=True, env=clean_env(), check=True)

    assert done.stdout == "[]\n"
