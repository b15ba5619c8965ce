"""The log filter: which words it takes, which it refuses, and that it names every part that logs."""

from __future__ import annotations

import ast

import pytest

from processes import ROOT
from signet.system.logs import DEBUG, INFO, TRACE, WARN, Log


@pytest.mark.parametrize(
    ("directives", "http", "call"),
    [
        ("", WARN, WARN),
        ("info", INFO, INFO),
        ("DEBUG", DEBUG, DEBUG),
        ("http=debug", DEBUG, WARN),
        ("signet::http=debug", DEBUG, WARN),
        ("signet=debug", DEBUG, DEBUG),
        ("info, call = debug", INFO, DEBUG),
        ("http", TRACE, WARN),
    ],
)
def test_a_filter_sets_the_level_of_each_part(directives: str, http: int, call: int) -> None:
    log = Log("signet", directives)

    assert (log.level_of("http"), log.level_of("call")) == (http, call)


@pytest.mark.parametrize("word", ["verbose", "loud", "nothing=debug", "signet::nothing", "http=loud", "a b", "7"])
def test_a_word_that_is_no_level_and_no_target_is_refused_with_those_there_are(word: str) -> None:
    with pytest.raises(ValueError, match="is not a log directive") as refused:
        Log("signet", f"info,{word}")

    sentence = str(refused.value)
    assert sentence.startswith(f"'{word}'")
    assert "off, error, warn, info, debug, trace" in sentence
    targets = "signet, access, audit, call, contract, http, journal, record, server, store, telemetry, upstream"
    assert targets in sentence


@pytest.mark.parametrize("directives", ["hyper=debug", "verbose", "info,h2::codec=loud,what even"])
def test_a_lenient_filter_passes_over_what_is_meant_for_other_programs(directives: str) -> None:
    """RUST_LOG is shared."""
    assert Log("oj-mcp-rs", directives, lenient=True).level_of("http") in {WARN, INFO}


def test_a_drop_in_server_takes_its_own_name_and_signets() -> None:
    log = Log("boj-mcp-server", "boj_mcp_server::call=debug,signet::http=info")

    assert (log.level_of("call"), log.level_of("http"), log.level_of("journal")) == (DEBUG, INFO, WARN)


def test_every_part_that_logs_is_a_target() -> None:
    """Each is named where a line is written, behind the level."""
    named = set()
    for module in (ROOT / "src/signet").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            words = (
                [one.id for one in getattr(node, "args", []) if isinstance(one, ast.Name)]
                if isinstance(node, ast.Call)
                else []
            )
            if set(words) & {"ERROR", "WARN", "INFO", "DEBUG", "TRACE"}:
                texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
                named.add(texts[0])

    parts = {"access", "audit", "call", "contract", "http", "journal", "record", "store", "telemetry", "upstream"}
    assert named == {"", *parts}
