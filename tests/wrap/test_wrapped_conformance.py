"""The official conformance suite finds nothing in a wrapped server that it does not find in the server itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import ROOT, Server, serving_command
from real.witness import node, run_outside
from wrap.wrappers import PYTHON, WRAP, serving_wrapped

SUITE = ROOT / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
SHIM = ROOT / "tests/real/glob-on-node-20.mjs"
REFERENCE = (PYTHON, str(ROOT / "tests/wrap/reference_server.py"))
FAULTS = {"SUCCESS": 0, "INFO": 0, "SKIPPED": 0, "WARNING": 1, "FAILURE": 2}
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many scenarios a revision requires."""

STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")

Checks = dict[tuple[str, str, int], str]
"""The outcome of each check, by scenario, id and its number among those of the same id."""


def required(revision: str) -> list[str]:
    """Return the scenarios that conformance to a revision requires, as the suite lists them."""
    lines = (SUITE.parent.parent / f"requirements/{revision}.yaml").read_text(encoding="utf-8").splitlines()
    start = lines.index("server:") + 1
    end = next(n for n, line in enumerate(lines) if n > start and line and not line.startswith((" ", "#")))
    return [line.removeprefix("  - ") for line in lines[start:end] if line.startswith("  - ")]


def checks(server: Server, revision: str, folder: Path) -> Checks:
    """Run the suite and return the outcome of every check."""
    suite = (node(), "--import", str(SHIM), str(SUITE), "server", "--url", f"{server.url}/mcp")
    done = run_outside(*suite, "--suite", "all", "--spec-version", revision, "-o", str(folder), env={"NO_COLOR": "1"})
    found: Checks = {}
    for written in sorted(folder.rglob("checks.json")):
        scenario = STAMP.sub("", written.parent.name.removeprefix("server-"))
        for check in json.loads(written.read_text(encoding="utf-8")):
            number = sum(key[:2] == (scenario, check["id"]) for key in found)
            found[scenario, check["id"], number] = check["status"]
    assert found, done.stdout + done.stderr
    return found


@pytest.fixture(scope="module")
def direct() -> Iterator[Server]:
    """The reference server itself."""
    with serving_command(*REFERENCE, "serve") as running:
        yield running


@pytest.fixture
def wrapped() -> Iterator[Server]:
    """The reference server on stdio, wrapped and served over HTTP."""
    with serving_wrapped(WRAP, (*REFERENCE, "stdio")) as running:
        yield running


@pytest.fixture(scope="module")
def before(direct: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checks]:
    """The outcome of every check of the reference server itself, at each revision."""
    return {revision: checks(direct, revision, tmp_path_factory.mktemp(revision)) for revision in REQUIRED}


@pytest.mark.parametrize("revision", REQUIRED)
def test_the_reference_server_itself_passes_every_scenario_that_is_required(
    before: dict[str, Checks], revision: str
) -> None:
    found = before[revision]

    wanted = set(required(revision))
    assert len(wanted) == REQUIRED[revision]
    assert wanted <= {scenario for scenario, _, _ in found}
    assert [key for key, status in found.items() if key[0] in wanted and FAULTS[status] > 0] == []


@pytest.mark.parametrize("revision", REQUIRED)
def test_the_wrapped_server_is_not_worse_in_any_check(
    before: dict[str, Checks], wrapped: Server, tmp_path: Path, revision: str
) -> None:
    """What passed directly passes; what was only told, or warned of, may be missing."""
    known = before[revision]

    after = checks(wrapped, revision, tmp_path)

    passed = {key for key, status in known.items() if status == "SUCCESS"}
    assert sorted(passed - set(after)) == []
    worse = {
        key: (known.get(key), status)
        for key, status in after.items()
        if FAULTS[status] > FAULTS[known.get(key, "INFO")]
    }
    assert worse == {}
