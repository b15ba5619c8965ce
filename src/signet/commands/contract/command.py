"""The command `signet contract diff OLD NEW`: compare two contract sets tool by tool and print the findings."""

from __future__ import annotations

import argparse
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from signet.commands.arguments import printable
from signet.commands.terminal import REPLACEMENT, table, write, write_json

from .compatibility import Side, compare_schemas
from .sources import ContractSet, as_listed, read_set

__all__ = ["Finding", "add", "compare"]

BREAKS: Final = 1
PIPE_WIDTH: Final = 160
MAX_EXAMPLE_CHARS: Final = 300
SIDES: Final[tuple[Side, Side]] = ("input", "output")
HEADINGS: Final = ("tool", "side", "verdict", "why", "example")
COLOURS: Final = {"breaking": "bold red", "removed": "bold red", "added": "green"}
EPILOG: Final = """\
A set is a folder with tools/*.json (or a folder of such bundles), a wheel, http://…/mcp or 'stdio:COMMAND …'.
The exit status is 0 if all changes are compatible, 1 if a change breaks clients, 2 if a set cannot be read.

examples:
  signet contract diff contracts/0.1.0 src/signet/schemas
  signet contract diff signet_mcp-0.1.0-py3-none-any.whl signet_mcp-0.2.0-py3-none-any.whl
  signet contract diff http://127.0.0.1:8080/mcp 'stdio:signet stdio' --json
"""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on one side of a tool, or on a tool that was added or removed."""

    tool: str
    side: Side | Literal["both"]
    verdict: Literal["compatible", "breaking", "added", "removed"]
    why: str
    example: Any | UnsetType = UNSET

    @property
    def breaks(self) -> bool:
        """Whether a client of the old set may fail with the new one."""
        return self.verdict in {"breaking", "removed"}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet contract`."""
    actions = parser.add_subparsers(
        title="actions",
        metavar="ACTION",
        required=True,
        prog=parser.prog,
        help="diff OLD NEW: compare two contract sets",
    )
    diff = actions.add_parser(
        "diff",
        help="compare two contract sets: compatible or breaking, with an example",
        description="Compare two contract sets tool by tool: compatible, or breaking with an example that shows why.",
        epilog=EPILOG,
        formatter_class=parser.formatter_class,
    )
    diff.add_argument("old", metavar="OLD", help="the contract set that clients rely on")
    diff.add_argument("new", metavar="NEW", help="the contract set that replaces it")
    diff.add_argument("--json", action="store_true", help="print JSON, with examples in full")
    diff.add_argument("--token", help="bearer token to send to HTTP servers (default: none)")
    diff.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Compare the two sets and print the findings."""
    findings = compare(read_set(args.old, token=args.token), read_set(args.new, token=args.token))
    breaks = any(finding.breaks for finding in findings)
    if args.json:
        report = {"old": args.old, "new": args.new, "breaking": breaks, "findings": findings}
        write_json(msgspec.json.encode(report).decode())
    else:
        write(_table(findings) + "\n" + _summary(findings))
    return BREAKS if breaks else 0


def compare(old: ContractSet, new: ContractSet) -> list[Finding]:
    """Compare each tool of two sets; bundles are converted to a server's list if the other set is one."""
    if old.listed != new.listed:
        old, new = as_listed(old), as_listed(new)
    findings: list[Finding] = []
    for name, terms in old.tools.items():
        if name not in new.tools:
            findings.append(Finding(name, "both", "removed", "it is gone"))
            continue
        for side in SIDES:
            result = compare_schemas(getattr(terms, side), getattr(new.tools[name], side), side)
            verdict: Literal["compatible", "breaking"] = "compatible" if result.compatible else "breaking"
            findings.append(Finding(name, side, verdict, result.why, result.example))
    findings += [Finding(name, "both", "added", "it is new") for name in new.tools if name not in old.tools]
    return findings


def _summary(findings: list[Finding]) -> str:
    tools = {finding.tool for finding in findings}
    broken = {finding.tool for finding in findings if finding.breaks}
    added = sum(finding.verdict == "added" for finding in findings)
    kept = len(tools) - len(broken) - added
    return f"tools: {len(tools)}, breaking: {len(broken)}, compatible: {kept}, added: {added}"


def _table(findings: list[Finding]) -> str:
    """Draw the findings as a table."""
    rows = [
        (
            printable(finding.tool, substitute=REPLACEMENT),
            finding.side,
            (finding.verdict, COLOURS.get(finding.verdict, "")),
            printable(finding.why, substitute=REPLACEMENT),
            printable(_example(finding.example), substitute=REPLACEMENT),
        )
        for finding in findings
    ]
    return table(HEADINGS, rows, pipe_width=PIPE_WIDTH, strip=True)


def _example(value: Any) -> str:
    if value is UNSET:
        return ""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_EXAMPLE_CHARS else text[:MAX_EXAMPLE_CHARS] + "…"
