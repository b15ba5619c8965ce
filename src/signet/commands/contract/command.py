"""The command `signet contract diff OLD NEW`: compare two contract sets tool by tool and print the findings.

A contract set, the input and output schemas of each tool, is read from a folder, a wheel or a running server.
"""

from __future__ import annotations

import argparse
from typing import Final

from signet.commands.terminal import write, write_json
from signet.compatibility.contract_set import ContractFinding
from signet.proofs.changes import compare_contracts

from .freeze import add_freeze
from .learn import add_learn
from .report import FORMATS
from .sets import ContractSet, as_listed, read_set
from .snapshot import add_snapshot

__all__ = ["ContractSet", "add", "compare", "read_set"]

BREAKS: Final = 1
EPILOG: Final = """\
A set is a folder with tools/*.json (or a folder of such bundles), a wheel, http://…/mcp, 'stdio:COMMAND …', a file
that 'signet contract snapshot' wrote, or a signet.lock (FILE#SERVER where it has several servers).
The exit status is 0 if all changes are compatible, 1 if a change breaks clients, 2 if a set cannot be read.

examples:
  signet contract diff contracts/0.1.0 src/signet/schemas --only-breaking
  signet contract diff signet_mcp-0.1.0-….whl signet_mcp-0.2.0-….whl
  signet contract diff http://127.0.0.1:8080/mcp 'stdio:signet stdio' --json
  signet contract diff server.json 'stdio:npx -y some-server' --format markdown
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet contract`."""
    actions = parser.add_subparsers(
        title="actions",
        metavar="ACTION",
        required=True,
        prog=parser.prog,
        help="diff: compare two contract sets; snapshot: write down what a server says; freeze: keep your own; "
        "learn: infer output schemas from recorded results",
    )
    diff = actions.add_parser(
        "diff",
        help="compare two contract sets: compatible or breaking, with an example",
        description="Compare two contract sets tool by tool: compatible, or breaking with an example that shows why.",
        epilog=EPILOG,
        usage="signet contract diff OLD NEW [options]",
        formatter_class=parser.formatter_class,
    )
    diff.add_argument("old", metavar="OLD", help="the contract set that clients rely on")
    diff.add_argument("new", metavar="NEW", help="the contract set that replaces it")
    diff.add_argument("--only-breaking", action="store_true", help="leave out what breaks nobody; the counts stay")
    diff.add_argument("--format", choices=FORMATS, default="text", help="form of the report (default: text)")
    diff.add_argument("--json", action="store_true", help="the same as --format json: examples in full")
    diff.add_argument("--token", help="bearer token to send to HTTP servers (default: none)")
    diff.set_defaults(run=_run)
    add_snapshot(actions, parser.formatter_class)
    add_freeze(actions, parser.formatter_class)
    add_learn(actions, parser.formatter_class)


def _run(args: argparse.Namespace) -> int:
    """Compare the two sets and print the findings."""
    findings = compare(read_set(args.old, token=args.token), read_set(args.new, token=args.token))
    breaks = any(finding.breaks for finding in findings)
    shown = [finding for finding in findings if finding.breaks] if args.only_breaking else findings
    form = "json" if args.json else args.format
    text = FORMATS[form](args.old, args.new, findings, shown)
    (write_json if form == "json" else write)(text)
    return BREAKS if breaks else 0


def compare(old: ContractSet, new: ContractSet) -> list[ContractFinding]:
    """Compare each tool of two sets; bundles are converted to a server's list if the other set is one."""
    if old.listed != new.listed:
        old, new = as_listed(old), as_listed(new)
    return compare_contracts(old.tools, new.tools)
