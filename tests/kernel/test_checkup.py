"""A finding of a check: its state, what was found, and what to do."""

from __future__ import annotations

import msgspec
import pytest

from signet.kernel.checkup import Check, CheckupResult, State, note, ok, trouble


@pytest.mark.parametrize(
    ("finding", "written"),
    [
        (ok("0.2.0"), {"state": "ok", "text": "0.2.0", "mend": ""}),
        (
            note("no pyarrow", "pip install pyarrow"),
            {"state": "note", "text": "no pyarrow", "mend": "pip install pyarrow"},
        ),
        (trouble("it is closed"), {"state": "trouble", "text": "it is closed", "mend": ""}),
    ],
)
def test_a_finding_is_written_as_its_state_its_text_and_its_remedy(
    finding: CheckupResult, written: dict[str, str]
) -> None:
    assert msgspec.to_builtins(finding) == written


def test_a_check_returns_its_finding_when_it_is_run() -> None:
    check = Check("installed", "python", lambda: ok("CPython 3.11"))

    assert check.run() == CheckupResult(State.OK, "CPython 3.11")
