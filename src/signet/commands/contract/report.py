"""Reports of a comparison: as text, JSON, SARIF and JUnit, and as Markdown for a pull request. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final

import msgspec

from signet.commands.check.report import as_junit, as_sarif
from signet.commands.check.result import CheckReport, CheckResult, CheckState
from signet.commands.terminal import table
from signet.compatibility.contract_set import ContractFinding
from signet.system.text import REPLACEMENT, printable, visible

__all__ = ["FORMATS"]

Findings = list[ContractFinding]

PIPE_WIDTH: Final = 160
HEADINGS: Final = ("tool", "side", "verdict", "why", "example")
COLOURS: Final = {"breaking": "bold red", "removed": "bold red", "added": "green"}
RULES: Final = {
    "input": "Every input that a tool took is still taken.",
    "output": "Every output that a tool may return was promised.",
    "both": "No tool is gone.",
}
"""What is demanded of each side of a tool."""
TITLE: Final = "signet contract diff"
MAX_MARKDOWN_ROWS: Final = 200
"""A comment on a pull request has at most 65,536 characters."""


def _text(_: str, __: str, findings: Findings, shown: Findings) -> str:
    return (_table(shown) + "\n" if shown else "") + _summary(findings)


def _json(old: str, new: str, findings: Findings, shown: Findings) -> str:
    breaks = any(finding.breaks for finding in findings)
    return msgspec.json.encode({"old": old, "new": new, "breaking": breaks, "findings": shown}).decode()


def _summary(findings: list[ContractFinding]) -> str:
    tools = {finding.tool for finding in findings}
    broken = {finding.tool for finding in findings if finding.breaks}
    added = sum(finding.verdict == "added" for finding in findings)
    kept = len(tools) - len(broken) - added
    return f"tools: {len(tools)}, breaking: {len(broken)}, compatible: {kept}, added: {added}"


def _table(findings: list[ContractFinding]) -> str:
    """Draw the findings as a table."""
    rows = [
        (
            printable(finding.tool, substitute=REPLACEMENT),
            finding.side,
            (finding.verdict, COLOURS.get(finding.verdict, "")),
            printable(finding.why, substitute=REPLACEMENT),
            printable(finding.shown_example(), substitute=REPLACEMENT),
        )
        for finding in findings
    ]
    return table(HEADINGS, rows, pipe_width=PIPE_WIDTH, strip=True)


def _sarif(old: str, new: str, _: Findings, shown: Findings) -> str:
    return as_sarif(_report(old, new, shown))


def _junit(old: str, new: str, _: Findings, shown: Findings) -> str:
    return as_junit(_report(old, new, shown))


def _report(old: str, new: str, shown: Findings) -> CheckReport:
    """Return the findings as results of checks; they stand where the old set does, if that is a file."""
    lines = _lines(old)
    results = [
        CheckResult(
            toolset=new,
            tool=finding.tool,
            check=finding.side,
            state=CheckState.FAILED if finding.breaks else CheckState.OK,
            message=visible(_sentence(finding)),
            place=None if lines is None else (old.partition("#")[0], lines.get(finding.tool, 1)),
        )
        for finding in shown
    ]
    return CheckReport([old, new], results, title=TITLE, rules=RULES)


def _sentence(finding: ContractFinding) -> str:
    example = finding.shown_example()
    return f"{finding.verdict}: {finding.why}" + (f", for example {example}" if example else "")


def _lines(path: str) -> dict[str, int] | None:
    """Return the line of each tool in a file with a snapshot or a lock; None if it is no file."""
    path = path.partition("#")[0]
    if not os.path.isfile(path) or path.endswith(".whl"):
        return None
    lines: dict[str, int] = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = re.fullmatch(r'\s*"name": ("(?:[^"\\]|\\.)*"),?\s*', line)
            if match:
                lines.setdefault(msgspec.json.decode(match[1]), number)
    return lines


def _markdown(old: str, new: str, findings: Findings, shown: Findings) -> str:
    """Return a table for the comment on a pull request."""
    breaks = any(finding.breaks for finding in findings)
    head = "Contracts: a change breaks clients" if breaks else "Contracts: no change breaks clients"
    changed = [finding for finding in shown if finding.is_change]
    rows = [
        f"| {_code(finding.tool)} | {finding.side} | {finding.verdict} | {_cell(finding.why)} | "
        f"{_code(finding.shown_example())} |"
        for finding in changed[:MAX_MARKDOWN_ROWS]
    ]
    left = len(changed) - len(rows)
    grid = ["", "| tool | side | verdict | why | example |", "|---|---|---|---|---|", *rows] if rows else []
    more = ["", f"and {left} more"] if left else []
    where = f"{_code(old)} → {_code(new)}: {_summary(findings)}"
    return "\n".join((f"### {head}", "", where, *grid, *more))


def _cell(text: str) -> str:
    """Return a text that is shown in a cell as it is written."""
    return re.sub(r"([\\`*_{}\[\]<>|~@#&])", r"\\\1", visible(text, keep="")).replace("\n", " ")


def _code(text: str) -> str:
    """Return a text as code in a cell; a longer fence surrounds what has backticks."""
    if not text:
        return ""
    shown = visible(text, keep="").replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    blank = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


FORMATS: Final[dict[str, Callable[[str, str, Findings, Findings], str]]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "markdown": _markdown,
}
"""The report in each format: of the old set, the new one, all findings, and those to show."""
