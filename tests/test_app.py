"""The composition root: what stops a start, and in which words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from processes import PATIENCE_S, ROOT, clean_env
from signet.app import instructions_of, open_toolbox
from signet.kernel.toolset import Toolset
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.model import EnabledToolset
from signet.settings.usage import UsageError


def enabled(*toolsets: Toolset) -> list[EnabledToolset]:
    return [EnabledToolset(toolset, toolset.settings()) for toolset in toolsets]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that a test may damage."""
    shutil.copytree(ROOT / "src/signet", tmp_path / "signet", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "signet"


def started(package: Path, *flags: str) -> subprocess.CompletedProcess[bytes]:
    """Start the damaged copy on stdio and ask for the list of its tools."""
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
    return subprocess.run(
        [sys.executable, "-m", "signet", *flags],
        input=asked,
        capture_output=True,
        env=clean_env({"PYTHONPATH": str(package.parent)}),
        cwd=package.parent,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("command", [("stdio",), ("serve", "--port", "0"), ("tools",), ("call", "nobody")], ids=str)
def test_a_tool_without_a_contract_stops_the_start_with_one_sentence(copied: Path, command: tuple[str, ...]) -> None:
    (copied / "schemas/tools/plantuml.encode.json").unlink()

    done = started(copied, *command, "--toolsets", "plantuml")

    sentence = f"the tool 'plantuml.encode' has no contract: write tools/plantuml.encode.json in {copied}/schemas"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"signet: {sentence}\n")


@pytest.mark.parametrize("text", ["", "{}", "[", '{"tool": "another", "input": {}}'])
def test_a_contract_that_cannot_be_read_stops_the_start_with_one_sentence(copied: Path, text: str) -> None:
    (copied / "schemas/tools/plantuml.encode.json").write_text(text)

    done = started(copied, "stdio", "--toolsets", "plantuml")

    assert (done.returncode, done.stdout) == (2, b"")
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("signet: the contract tools/plantuml.encode.json is not usable: ")


def test_two_tools_of_one_name_stop_the_start() -> None:
    plantuml = find_toolset("plantuml")
    twin = msgspec.structs.replace(plantuml, name="twin")

    with pytest.raises(UsageError, match=r"^two enabled tools answer to '"):
        open_toolbox(enabled(plantuml, twin))


def test_the_instructions_are_those_of_the_enabled_toolsets_in_their_order() -> None:
    boj, plantuml = find_toolset("boj"), find_toolset("plantuml")

    told = instructions_of(enabled(plantuml, boj))

    assert told.startswith(f"{plantuml.instructions}\n{boj.instructions}\n")
    assert find_toolset("oj").instructions not in told


def test_the_instructions_of_all_toolsets_say_what_to_do_first_in_less_than_a_thousand_characters() -> None:
    told = instructions_of(enabled(*map(find_toolset, TOOLSETS)))

    assert len(told) < 1000
    for words in (
        "call boj_search first",
        "boj_get_metadata lists a whole database",
        "lang=en unless Japanese is wanted",
        "start_position set to it",
        "resolve_problem first",
        "encodePlantUML",
        "mend the arguments and call again",
    ):
        assert words in told


def test_a_search_is_named_first_only_where_there_is_one() -> None:
    boj, explore = find_toolset("boj"), find_toolset("boj-explore")

    both, alone, other = (instructions_of(enabled(*chosen)) for chosen in ((boj, explore), (boj,), (explore,)))

    assert both.startswith("Bank of Japan statistics: call boj_search first")
    assert both.index("boj_search") < both.index("boj_get_metadata")
    assert boj.instructions not in both
    assert alone.startswith(boj.instructions)
    assert "boj_search" not in alone
    assert other.startswith(explore.instructions)
    assert "boj_get_metadata" not in other


def test_a_toolset_without_instructions_adds_none() -> None:
    silent = msgspec.structs.replace(find_toolset("plantuml"), instructions="")

    assert instructions_of(enabled(silent)) == "An error says what to write: mend the arguments and call again."
