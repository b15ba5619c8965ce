"""Commands that only group others: without one of them they show their help."""

from __future__ import annotations

import pytest

from processes import run

GROUPS = ("", "oj", "boj", "token", "diagrams", "audit", "contract")


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_shows_its_help_and_ends_with_0(group: str) -> None:
    words = group.split()

    alone, helped = run(*words), run(*words, "--help")

    assert (alone.returncode, alone.stderr) == (0, b"")
    assert alone.stdout == helped.stdout
    assert alone.stdout.startswith(f"usage: signet {group}".rstrip().encode())


def test_a_flag_without_a_command_is_still_refused() -> None:
    done = run("oj", "--deterministic-ids")

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the following arguments are required: COMMAND" in done.stderr
