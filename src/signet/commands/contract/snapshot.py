"""The action `signet contract snapshot`: write down everything that a server says about itself, as JSON."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

import msgspec

from signet.commands.lock.sources import add_sources, read_specs, unwind_on_signals
from signet.commands.terminal import say, write_json
from signet.mcp.snapshot import KINDS, Snapshot, compact, name_of
from signet.relay.server_snapshot import SnapshotError, take_snapshot
from signet.settings.usage import UsageError
from signet.system.files import open_regular

__all__ = ["add_snapshot", "read_snapshot"]

FORMAT: Final = 1
UNREADABLE: Final = 12
MAX_BYTES: Final = 64 << 20
EPILOG: Final = """\
The file is read by 'signet contract diff', as the old or the new set.
The exit status is 0 if the snapshot is written, 12 if the server cannot be read.

examples:
  signet contract snapshot -- npx -y @modelcontextprotocol/server-everything > everything.json
  signet contract snapshot --url https://host/mcp --header-file headers.txt > host.json
"""


class _File(msgspec.Struct, frozen=True):
    snapshot: int
    name: str
    server: Snapshot


class _Head(msgspec.Struct, frozen=True):
    snapshot: Any = None


def add_snapshot(actions: Any, formatter: Any) -> None:
    """Add the action `snapshot` to `signet contract`."""
    snapshot = actions.add_parser(
        "snapshot",
        help="write down everything that a server says about itself",
        description="Write down everything that a server says about itself: tools, prompts, resources, instructions.",
        epilog=EPILOG,
        usage="signet contract snapshot [options] [-- COMMAND ...]",
        formatter_class=formatter,
    )
    add_sources(snapshot)
    snapshot.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Ask the server and print what it says."""
    unwind_on_signals()
    specs = read_specs(args)
    if len(specs) > 1:
        raise UsageError(f"there are several servers: write --name and one of {', '.join(one.name for one in specs)}")
    try:
        taken = take_snapshot(specs[0], args.timeout_s)
    except SnapshotError as error:
        say(str(error))
        return UNREADABLE
    write_json(msgspec.json.format(msgspec.json.encode(_File(FORMAT, specs[0].name, taken)), indent=2).decode())
    return 0


def read_snapshot(path: str) -> Snapshot | None:
    """Return the snapshot of a file, or None if it is another file of JSON.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
    if msgspec.json.decode(data, type=_Head).snapshot != FORMAT:
        return None
    snapshot = msgspec.json.decode(data, type=_File).server
    lists = {where: tuple(map(compact, getattr(snapshot, where))) for where, *_ in KINDS.values()}
    for kind, (where, *_) in KINDS.items():
        for entry in lists[where]:
            name_of(kind, entry)
    return msgspec.structs.replace(snapshot, **lists)
