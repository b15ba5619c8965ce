"""The official conformance suite finds nothing wrong beyond what a tools-only server does not offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import ROOT, Server, serving, serving_extended
from real.witness import node, run_outside

HERE = Path(__file__).parent
SUITE = ROOT / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

OURS = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
        "tools-call-error",
        "tools-call-with-progress",
        "json-schema-2020-12",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-with-progress",
        "http-header-validation",
        "http-custom-header-server-validation",
        "json-schema-2020-12",
        "dns-rebinding-protection",
    },
}
"""Scenarios that must have been run and passed whole, so that an empty run is no success."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of the fixture tools that the suite calls by name."""
    with serving_extended("--toolsets", "conformance") as running:
        yield running


@pytest.mark.parametrize("revision", OURS)
def test_the_suite_ends_well_with_only_the_given_baseline(server: Server, revision: str) -> None:
    """Against a dead server most scenarios count a pass, so readiness and our own scenarios are asked for first."""
    assert server.ask("GET", "/readyz").status == 200
    suite = (node(), "--import", str(HERE / "glob-on-node-20.mjs"), str(SUITE), "server")
    choice = ("--suite", "all", "--spec-version", revision)
    baseline = ("--expected-failures", str(HERE / f"baseline-{revision}.yml"))

    done = run_outside(*suite, "--url", f"{server.url}/mcp", *choice, *baseline, env={"NO_COLOR": "1"})

    passed = set(re.findall(r"^✓ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert passed >= OURS[revision]
    assert server.process.poll() is None


def test_the_fixture_tools_are_not_part_of_the_product() -> None:
    """They are for the suite alone; a user is told that there is no such name."""
    with pytest.raises(AssertionError, match="conformance"), serving("--toolsets", "conformance"):
        pass
