"""The released contracts: they do not break without a version that says so."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import signet
from processes import ROOT
from signet.commands.contract.command import ContractSet, compare, read_set
from signet.compatibility.contract_set import ContractTerms
from signet.settings.catalogue import TOOLSETS, find_toolset


def may_break(before: str, after: str) -> bool:
    """Return True if contracts may break between two versions: with a new major, before 1.0 with a new minor one."""
    old, new = numbers(before), numbers(after)
    return new[:2] > old[:2] if old[0] == 0 else new[0] > old[0]


def newest(versions: Iterable[str]) -> str:
    return max(versions, key=numbers)


def numbers(version: str) -> tuple[int, int, int]:
    """Read `major.minor.patch`; a suffix (`rc1`, `.dev0`) does not count."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if match is None:
        raise ValueError(f"{version!r} is no version")
    major, minor, patch = match.groups("0")
    return int(major), int(minor), int(patch)


TAGGED = ROOT / "contracts"
LAST = newest(folder.name for folder in TAGGED.iterdir())


def breaks_of(old: ContractSet, new: ContractSet) -> list[str]:
    return [f"{finding.tool} {finding.side}: {finding.why}" for finding in compare(old, new) if finding.breaks]


def test_no_contract_breaks_without_a_version_that_says_so() -> None:
    broken = breaks_of(read_set(str(TAGGED / LAST)), read_set(str(ROOT / "src/signet/schemas")))

    assert broken == [] or may_break(LAST, signet.__version__), f"raise the version above {LAST}, or mend: {broken}"


def test_the_tagged_set_is_that_of_the_toolsets_in_the_box() -> None:
    tools = {tool.slug for toolset in TOOLSETS for tool in find_toolset(toolset).tools()}

    assert set(read_set(str(TAGGED / "0.1.0")).tools) <= tools


def test_a_contract_that_breaks_is_seen() -> None:
    old = read_set(str(TAGGED / LAST))
    terms = old.tools["oj.get_problem"]
    assert isinstance(terms.input, dict)
    new_input = {**terms.input, "required": [*terms.input["required"], "lang"]}
    new = ContractSet({**old.tools, "oj.get_problem": ContractTerms(new_input, terms.output)})

    assert breaks_of(old, new) == ['oj.get_problem input: "lang" is a required property']


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.3", "0.10.0rc1", True),
        ("0.9.0", "1.0.0", True),
        ("1.2.0", "1.3.0", False),
        ("1.2.0", "2.0.0.dev0", True),
        ("0.2.0", "0.1.0", False),
    ],
)
def test_a_version_says_whether_contracts_may_break(before: str, after: str, allowed: bool) -> None:
    assert may_break(before, after) is allowed


def test_the_newest_set_is_the_one_of_the_highest_version() -> None:
    assert newest(["0.9.0", "0.10.0", "0.2.11"]) == "0.10.0"
    with pytest.raises(ValueError, match="no version"):
        newest(["0.1.0", "notes"])


def test_a_set_is_tagged_once(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/tag_contracts.py"), "--into", str(tmp_path)]

    first = subprocess.run(command, capture_output=True, text=True, check=False)
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    bundle = tmp_path / signet.__version__ / "tools/plantuml.encode.json"
    bundle.write_text("{}")
    other = subprocess.run(command, capture_output=True, text=True, check=False)
    replaced = subprocess.run([*command, "--replace"], capture_output=True, text=True, check=False)

    assert [done.returncode for done in (first, again, other, replaced)] == [0, 0, 1, 0]
    assert "raise the version" in other.stdout
    assert bundle.read_bytes() == (ROOT / "src/signet/schemas/tools/plantuml.encode.json").read_bytes()
