"""Reports: the results of a run as text for people, as JSON, as JUnit XML and as SARIF. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet import __version__
from signet.commands.terminal import Cell, table
from signet.system.text import SPACES, printable

from .result import CheckReport, CheckResult, CheckState

__all__ = ["FORMATS", "as_json", "as_junit", "as_sarif", "as_text"]

WIDTH: Final = 120
"""The width of the report where there is no terminal."""
MARKS: Final = {
    CheckState.OK: ("✓", "green"),
    CheckState.WARNING: ("!", "yellow"),
    CheckState.FAILED: ("✗", "bold red"),
    CheckState.SKIPPED: ("-", "dim"),
}
SEVERITY: Final = (CheckState.OK, CheckState.SKIPPED, CheckState.WARNING, CheckState.FAILED)
LEVELS: Final = {CheckState.WARNING: "warning", CheckState.FAILED: "error"}
NO_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML cannot hold."""
SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT: Final = "%SRCROOT%"
FINGERPRINT: Final = "signetCheck/v1"


def as_text(report: CheckReport) -> str:
    """Return a line for each check of each tool, and the counts."""
    from rich.table import Column

    rows: list[list[Cell]] = []
    before = None
    for result in report.results:
        subject = result.tool or result.toolset
        mark, style = MARKS[result.state]
        shown = printable(result.message, keep=SPACES + "\n")
        rows.append(
            [(subject if subject != before else "", "bold"), (f"{mark} {result.state}", style), result.check, shown]
        )
        before = subject
    heads = ("", Column("", no_wrap=True), Column("", no_wrap=True), "")
    drawn = table(heads, rows, pipe_width=WIDTH, strip=True) if rows else ""
    return f"{drawn}\n\n{_summary(report)}"


def _summary(report: CheckReport) -> str:
    tools = len({result.tool for result in report.results if result.tool})
    counts = [_counted(state, report.count(state)) for state in CheckState if report.count(state)]
    end = "the toolset passes" if report.passes else "the toolset fails"
    strict = ", in which warnings count as failures" if report.is_strict else ""
    return f"{tools} {'tool' if tools == 1 else 'tools'}, checks: {', '.join(counts) or 'none'}; {end}{strict}"


def _counted(state: CheckState, count: int) -> str:
    return f"{count} warnings" if state is CheckState.WARNING and count > 1 else f"{count} {state}"


def as_json(report: CheckReport) -> str:
    """Return the results as one JSON object."""
    results = [
        {
            "toolset": result.toolset,
            "tool": result.tool or None,
            "check": result.check,
            "state": result.state,
            "message": result.message,
            "file": _near(result.place[0]) if result.place else None,
            "line": result.place[1] if result.place else None,
        }
        for result in report.results
    ]
    counts = {state: report.count(state) for state in CheckState}
    whole = {
        "signet": __version__,
        "targets": report.targets,
        "ok": report.passes,
        "counts": counts,
        "results": results,
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def as_junit(report: CheckReport) -> str:
    """Return the results as JUnit XML: a suite for each toolset, a case for each check of each tool.

    A check that has several results is one case with all their texts: readers tell cases apart by their names.
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    suites = Element("testsuites", name=report.title)
    for name in dict.fromkeys(result.toolset for result in report.results):
        results = _joined([result for result in report.results if result.toolset == name])
        failures, skipped = sum(map(report.fails, results)), sum(one.state is CheckState.SKIPPED for one in results)
        counts = {"tests": len(results), "failures": failures, "errors": 0, "skipped": skipped}
        suite = SubElement(suites, "testsuite", {"name": name, **{key: str(count) for key, count in counts.items()}})
        for result in results:
            place = {"file": _near(result.place[0]), "line": str(result.place[1])} if result.place else {}
            case = SubElement(suite, "testcase", {"classname": result.tool or name, "name": result.check, **place})
            text = NO_XML.sub("\ufffd", result.message)
            if report.fails(result):
                SubElement(case, "failure", message=text, type=result.check).text = text
            elif result.state is CheckState.SKIPPED:
                SubElement(case, "skipped", message=text)
            elif text:
                SubElement(case, "system-out").text = f"{result.state}: {text}"
    indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")


def _joined(results: list[CheckResult]) -> list[CheckResult]:
    """Return one result for each check of each tool: the worst state, and all texts of that state or better."""
    cases: dict[tuple[str, str], CheckResult] = {}
    for result in results:
        key = result.tool, result.check
        before = cases.get(key)
        if before is None:
            cases[key] = result
            continue
        texts = "\n".join(filter(None, (before.message, result.message)))
        worst = max(before, result, key=lambda one: SEVERITY.index(one.state))
        cases[key] = msgspec.structs.replace(worst, message=texts)
    return list(cases.values())


def as_sarif(report: CheckReport) -> str:
    """Return the failures and warnings as a SARIF 2.1.0 log."""
    ids = list(report.rules)
    rules = [{"id": name, "name": name, "shortDescription": {"text": text}} for name, text in report.rules.items()]
    results = [
        {
            "ruleId": result.check,
            "ruleIndex": ids.index(result.check),
            "level": "error" if report.fails(result) else LEVELS[result.state],
            "message": {"text": f"{result.tool or result.toolset}: {result.message}"},
            "locations": [_location(result)],
            "partialFingerprints": {FINGERPRINT: _fingerprint(result)},
        }
        for result in report.results
        if result.state in LEVELS
    ]
    run = {
        "tool": {"driver": {"name": report.title, "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return msgspec.json.format(
        msgspec.json.encode({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}), indent=2
    ).decode()


def _fingerprint(result: CheckResult) -> str:
    """Return what tells a result apart from others wherever its line moves to."""
    from hashlib import sha256

    parts = (result.check, result.tool or result.toolset, result.message)
    return sha256(msgspec.json.encode(parts)).hexdigest()


def _location(result: CheckResult) -> dict[str, Any]:
    name = result.tool or result.toolset
    kind = "function" if result.tool else "module"
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": name, "kind": kind}]}
    if result.place is not None:
        from urllib.parse import quote

        path = _near(result.place[0])
        is_near = not os.path.isabs(path)
        artifact = {"uri": quote(path), "uriBaseId": ROOT} if is_near else {"uri": f"file://{quote(path)}"}
        location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": result.place[1]}}
    return location


def _near(path: str) -> str:
    """Return a path below the working folder as it is written there, any other as it is."""
    near = os.path.relpath(path)
    return path if near.startswith(os.pardir) else near.replace(os.sep, "/")


FORMATS: Final[dict[str, Callable[[CheckReport], str]]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "sarif": as_sarif,
}
"""The report in each format."""
