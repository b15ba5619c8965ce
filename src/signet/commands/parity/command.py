"""`signet parity`: plays a corpus over every way in and says whether all of them mean the same."""

from __future__ import annotations

import argparse
import signal
from typing import Final, NoReturn

import msgspec

from signet.catalogue import TOOLSETS
from signet.commands.terminal import write
from signet.settings import Settings

from .builtin import built_in
from .channels import CHANNELS
from .corpus import named, read_corpus
from .engine import play
from .table import summary, table, watching

__all__ = ["add"]

DIFFERS: Final = 1
TERMINATED: Final = 128 + signal.SIGTERM

EPILOG: Final = """\
A corpus is a file of JSON lines: {"name": what the table calls it, "tool": its name, "arguments": {…},
"order": [faults of the sandbox, ordered for this call alone]}. Without one, every tool and every kind of error in the
box is played. The status is 0 when all ways agree, 1 when one does not, 2 when the corpus cannot be read.

examples:
  signet parity
  signet parity --toolsets plantuml --json
  signet parity --corpus calls.jsonl
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what can be written behind `signet parity`."""
    parser.epilog = EPILOG
    parser.add_argument("--corpus", metavar="FILE", help="calls to play, a JSON object a line (built in)")
    parser.add_argument("--toolsets", metavar="A,B", default="", help="toolsets to play, separated by commas (all)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Play, compare, show."""
    enabled = Settings(toolsets=args.toolsets or ",".join(TOOLSETS)).enabled()
    toolsets = [toolset.name for toolset, _ in enabled]
    calls = read_corpus(args.corpus) if args.corpus is not None else built_in(toolsets)
    calls = named(calls, [tool for toolset, _ in enabled for tool in toolset.tools()])
    # What was started must be stopped, however this ends.
    signal.signal(signal.SIGTERM, _leave)
    with watching(len(calls), len(CHANNELS)) as watch:
        board = play(calls, toolsets, watch=watch)
    if args.json:
        write(msgspec.json.encode({"agrees": board.agrees, **msgspec.to_builtins(board)}).decode())
    else:
        write(f"{table(board)}\n\n{summary(board)}")
    return 0 if board.agrees else DIFFERS


def _leave(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)
