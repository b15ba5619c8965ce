"""The command `signet contract learn TAPE`: infer the output schemas of a recorded server's tools from its results."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import msgspec

from signet.advice import advise
from signet.commands.terminal import say, table, write, write_json
from signet.mcp.link import LinkError
from signet.relay.tape_learning import LearnedTool, learn
from signet.relay.tape_reader import TapeReader
from signet.settings.usage import UsageError
from signet.system.files import replacing

__all__ = ["add_learn"]

NOTHING: Final = 1
PIPE_WIDTH: Final = 160
EPILOG: Final = """\
A tape is what 'signet wrap --record TAPE' has written. A schema says what all recorded results have in common, and is
marked "x-inferred": more results make it wider. Without --out the bundles are printed as JSON.
The exit status is 0 if something was learned, 1 if nothing was, 2 if the tape cannot be read.

examples:
  signet contract learn tapes/files --out learned
  signet contract learn tapes/files --all > bundles.json
"""


def add_learn(actions: Any, formatter: Any) -> None:
    """Add the action `learn` to `signet contract`."""
    parser = actions.add_parser(
        "learn",
        help="infer output schemas from the recorded results of a wrapped server",
        description="Infer the output schema of each tool that states none from the results on a tape.",
        epilog=EPILOG,
        formatter_class=formatter,
    )
    parser.add_argument("tape", metavar="TAPE", help="the folder of a tape")
    parser.add_argument("--out", metavar="FOLDER", help="write a bundle for each tool to FOLDER/tools")
    parser.add_argument("--all", action="store_true", help="learn of tools that state an output schema too")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Read the tape, infer, and print or write what was learned."""
    tape = TapeReader(args.tape)
    try:
        learned = learn(tape, datetime.now(UTC).date().isoformat(), is_for_all=args.all)
    except (LinkError, ValueError, RecursionError) as error:
        raise UsageError(str(error)) from None
    finally:
        tape.close()
    found = [one for one in learned if one.output is not None]
    if args.out is None:
        write_json(msgspec.json.encode([_bundle(one) for one in found]).decode())
    else:
        _write(args.out, found)
        _show(learned)
        if any(one.origin == "structuredContent" for one in found):
            write(f"\n{_advice(args.out, tape.label.server)}")
    if not found:
        say(f"{args.tape} has no results of which a schema could be inferred")
    return 0 if found else NOTHING


def _bundle(one: LearnedTool) -> dict[str, Any]:
    return {"tool": one.name, "input": one.input, "output": one.output}


def _write(folder: str, learned: list[LearnedTool]) -> None:
    """Write a bundle for each tool, as `signet contract diff` reads them."""
    try:
        os.makedirs(os.path.join(folder, "tools"), exist_ok=True)
        for one in learned:
            # A name of a server's tool may be no name of a file.
            path = os.path.join(folder, "tools", f"{quote(one.name, safe='')[:200]}.json")
            with replacing(path, f"{path}.new") as file:
                file.write(msgspec.json.format(msgspec.json.encode(_bundle(one)), indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename} ({error.strerror})") from None


def _show(learned: list[LearnedTool]) -> None:
    rows = [(one.name, str(one.results), one.origin or "", one.why) for one in learned]
    write(table(("tool", "results", "inferred from", "not learned"), rows, pipe_width=PIPE_WIDTH, strip=True))


def _advice(folder: str, server: str) -> str:
    """Return what to write into signet.toml so that what was learned is enforced."""
    path = os.path.relpath(folder)
    entry = f"[servers.{server}]\ncontracts = {msgspec.json.encode(path).decode()}"
    wrap = advise("wrap.contracts", folder=path)
    how = f"to enforce what structuredContent shows: '{wrap} -- COMMAND', or in signet.toml"
    return f"{how}\n\n{entry}"
