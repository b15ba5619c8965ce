"""The command `signet preflight TOOL…`: look whether tools are as they were pinned, before a run relies on them."""

from __future__ import annotations

import argparse
from typing import Final

from signet.commands.arguments import Parser
from signet.commands.terminal import write, write_json
from signet.lock.comparison import EntryChange
from signet.lock.file import Lock, LockError, read_lock
from signet.lock.policy import LockPolicy, describe, is_blocked, parse_policy
from signet.mcp.snapshot import name_of
from signet.proofs.changes import compare_snapshots
from signet.relay.server_snapshot import SnapshotError, take_snapshot
from signet.settings.server_spec import ServerSpec
from signet.settings.usage import UsageError
from signet.system.text import visible

from .command import BLOCKED, CHANGED, UNREADABLE
from .report import as_json
from .sources import add_lock_file, add_sources, advice_for, read_specs, say_why, unwind_on_signals

__all__ = ["add"]

EPILOG: Final = """\
With several servers a tool is named as it is served, SERVER_TOOL, or as its server names it.
The exit status is 0 if all tools are as pinned, 10 if one changed in a way that is let through, 11 if one is blocked,
12 if it cannot be told: there is no lock, no such tool, or the server does not start.

examples:
  signet preflight echo -- npx -y @modelcontextprotocol/server-everything
  signet preflight files_read_file git_git_log
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet preflight`."""
    parser.epilog = EPILOG
    parser.usage = "signet preflight TOOL ... [options] [-- COMMAND ...]"
    if isinstance(parser, Parser):
        parser.behind = "tools"
    parser.add_argument("tools", nargs="+", metavar="TOOL", help="tools to look at")
    text = "what to do about changed words: text=note or text=block (default: text=note)"
    parser.add_argument("--lock", metavar="POLICY", default="text=note", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_lock_file(parser)
    add_sources(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Compare the tools with the lock and print a line for each."""
    try:
        policy = parse_policy(args.lock)
    except ValueError as error:
        raise UsageError(f"--lock: {error}") from None
    unwind_on_signals()
    specs = read_specs(args)
    try:
        lock = read_lock(args.lock_file)
        found = {spec.name: _changes(spec, lock, args) for spec in specs}
    except (LockError, SnapshotError) as error:
        say_why(error, specs, args)
        return UNREADABLE
    pinned = {spec.name: {name_of("tool", one) for one in lock.servers[spec.name].snapshot.tools} for spec in specs}
    results = [_result(tool, pinned, found, policy) for tool in args.tools]
    if args.json:
        states = [{"tool": tool, "status": status, "why": why} for tool, (status, why) in zip(args.tools, results)]  # noqa: B905 - one result for each tool
        write_json(as_json({}, lock=args.lock_file, tools=states))
    else:
        for _, sentence in results:
            write(sentence)
    return max(status for status, _ in results)


def _changes(spec: ServerSpec, lock: Lock, args: argparse.Namespace) -> dict[str, EntryChange]:
    """Return the tools of a server that changed, by their old and their new names."""
    if spec.name not in lock.servers:
        command = advice_for("accept", [spec], args, name=spec.name)
        raise LockError(f"the lock has no server '{spec.name}'; pin it: {command}")
    changes = compare_snapshots(lock.servers[spec.name].snapshot, take_snapshot(spec, args.timeout_s))
    return {name: one for one in changes if one.kind == "tool" for name in (one.name, one.was or one.name)}


def _result(
    tool: str, pinned: dict[str, set[str]], found: dict[str, dict[str, EntryChange]], policy: LockPolicy
) -> tuple[int, str]:
    """Return the status of a tool, and a sentence on it."""
    places = [(server, name) for server in pinned for name in (tool, tool.removeprefix(f"{server}_"))]
    for server, name in places:
        change = found[server].get(name)
        if change is not None:
            blocked = is_blocked(change, policy)
            return (BLOCKED, f"blocked: {describe(change)}") if blocked else (CHANGED, f"noted: {describe(change)}")
        if name in pinned[server]:
            return 0, f"as pinned: the tool '{visible(name, keep='')}' of {server}"
    return UNREADABLE, f"unknown: no server has, or had, a tool '{visible(tool, keep='')}'"
