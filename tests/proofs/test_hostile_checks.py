"""Commands about a server whose schemas are hostile: they end, and say what they could not find out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from processes import PATIENCE_S, ROOT, SIGNET, clean_env

HOSTILE = str(ROOT / "tests/proofs/schema_server.py")


def signet(*words: str, word: str) -> tuple[int, str]:
    command = [SIGNET, *words, "--", sys.executable, HOSTILE, word]
    done = subprocess.run(command, check=False, env=clean_env(), timeout=PATIENCE_S, capture_output=True)
    return done.returncode, done.stdout.decode()


def test_a_check_of_a_pattern_that_takes_minutes_ends() -> None:
    status, told = signet("check", word="pattern")

    assert status == 0
    assert "no value was found that keeps the input contract; there may be one" in told


@pytest.mark.parametrize("word", ["doubling", "doubling-choices", "chain", "deep", "malformed"])
def test_a_check_of_a_schema_that_cannot_be_used_fails(word: str) -> None:
    status, told = signet("check", word=word)

    assert status == 1
    assert "its input schema cannot be used" in told


def test_the_page_of_a_tool_looks_at_few_of_its_alternatives() -> None:
    status, told = signet("tools", "weather", word="alternatives")

    assert status == 0
    assert "city (required): any value" in told
