"""`signet diagram`: draw the diagrams of files, and draw them again when a file changes."""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from signet.settings.model import Settings
from signet.settings.reading import read_settings
from signet.settings.usage import UsageError
from signet.system.files import replacing

from .arguments import Parser, add_settings, print_err
from .call import walk
from .terminal import write

if TYPE_CHECKING:
    from signet.kernel.server import Server

__all__ = ["add"]

FAILED: Final = 1
FORMATS: Final = ("svg", "png", "txt")
STANDARD: Final = "-"
"""The name of standard input, whose picture goes to standard output."""
POLL_S: Final = 0.3
"""How often the files are looked at."""
MAX_FILE_BYTES: Final = 16_777_216

EXAMPLES: Final = """\
examples:
  signet diagram order.puml                              order.svg beside it
  signet diagram docs/*.puml --format png --out build
  signet diagram order.puml --watch                      draw it again whenever it is saved
  cat order.puml | signet diagram - > order.svg          from standard input to standard output

A file with several diagrams gives order.svg, order_001.svg, order_002.svg. What is wrong with a diagram is told as
FILE:LINE: message, and the exit status is 1.
"""


def add(parser: Parser) -> None:
    """Add the arguments of `signet diagram`."""
    parser.epilog = EXAMPLES
    parser.add_argument("files", nargs="+", metavar="FILE", help="file with PlantUML diagrams, in UTF-8; - for stdin")
    parser.add_argument("--format", choices=FORMATS, default="svg", help="format of the pictures (default: svg)")
    parser.add_argument("--out", metavar="DIR", help="folder of the pictures (default: beside each file)")
    parser.add_argument("--dark", action="store_true", help="draw light lines on a dark background")
    parser.add_argument("--watch", action="store_true", help="go on and draw each file again when it changes")
    add_settings(parser, "config", "plantuml_server", "plantuml_jar")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Draw the files."""
    if STANDARD in args.files and (args.watch or len(args.files) > 1):
        raise UsageError("- is standard input: it cannot be watched, nor drawn beside files; write it alone")
    if args.out is not None:
        try:
            os.makedirs(args.out, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {args.out} ({error.strerror}); write another --out") from None
    flags = {name: getattr(args, name) for name in ("config", "plantuml_server", "plantuml_jar")}
    settings = read_settings(os.environ, {**flags, "toolsets": "plantuml-tools"})
    try:
        good = asyncio.run(_draw_files(settings, args))
    except KeyboardInterrupt:
        if not args.watch:
            raise
        return 0
    return 0 if good else FAILED


class Targets:
    """The files that are written in one run, each with the file that it is the picture of."""

    def __init__(self, sources: list[str]) -> None:
        self._sources = {os.path.realpath(source) for source in sources}
        self._owners: dict[str, str] = {}

    def claim(self, target: str, source: str) -> str | None:
        """Note that a target is the picture of a source; return the reason why it may not be, or None."""
        place = os.path.realpath(target)
        if place in self._sources:
            return f"its picture would replace {target}, which is read here; use --out"
        owner = self._owners.setdefault(place, source)
        if os.path.realpath(owner) != os.path.realpath(source):
            return f"its picture would replace {target}, which is that of {owner}"
        return None


async def _draw_files(settings: Settings, args: argparse.Namespace) -> bool:
    """Draw every file, then those that change, if they are watched; return whether all were drawn."""
    from signet.app import build_server

    server = build_server(settings)
    seen: dict[str, Any] = {}
    targets = Targets(args.files)
    good = True
    try:
        while True:
            for path in args.files:
                stamp = _stamp(path)
                if path not in seen or stamp != seen[path]:
                    seen[path] = stamp
                    good = await _draw_file(server, path, args, targets) and good
            if not args.watch:
                return good
            await asyncio.sleep(POLL_S)
    finally:
        await server.close()


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what changes when a file is saved; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


async def _draw_file(server: Server, path: str, args: argparse.Namespace, targets: Targets) -> bool:
    """Draw the diagrams of one file; return whether all were drawn."""
    from signet.toolsets.plantuml_tools.source import split_diagrams

    text = _read(path)
    if text is None:
        return False
    base = _base(path, args.out)
    good = True
    for number, (before, source) in enumerate(split_diagrams(text)):
        target = f"{base}_{number:03d}.{args.format}" if number else f"{base}.{args.format}"
        if base == STANDARD:
            target, refusal = STANDARD, "standard output takes one diagram; use --out DIR" if number else None
        else:
            refusal = targets.claim(target, path)
        if refusal is not None:
            print_err(f"{path}:{before + 1}: {refusal}\n")
            good = False
            continue
        began = time.monotonic()
        arguments = {"plantumlCode": source, "format": args.format, "dark": args.dark}
        outcome = await walk(server, "renderPlantUML", arguments)
        if outcome.fault is not None:
            line = outcome.fault.data.get("line") or 1
            message = outcome.fault.message.removeprefix(f"line {line}: ")
            print_err(f"{path}:{before + line}: {message}\n")
            good = False
            continue
        good = _save(target, outcome.result) and good
        if target != STANDARD:
            write(f"{target}  {outcome.result['width']} x {outcome.result['height']}  {time.monotonic() - began:.1f} s")
    return good


def _base(path: str, folder: str | None) -> str:
    """Return the path of a file's pictures without number and ending; that of standard output is its name."""
    if path == STANDARD:
        return STANDARD if folder is None else os.path.join(folder, "diagram")
    return os.path.join(folder or os.path.dirname(path), os.path.splitext(os.path.basename(path))[0])


def _read(path: str) -> str | None:
    """Return the text of a file; None, with a line to the user, if it cannot be read."""
    try:
        with open(sys.stdin.fileno() if path == STANDARD else path, "rb", closefd=path != STANDARD) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        text = data.decode()
    except IsADirectoryError:
        print_err(f"{path}:1: it is a folder; name the files in it, such as {os.path.join(path, '*.puml')}\n")
        return None
    except OSError as error:
        print_err(f"{path}:1: cannot be read ({error.strerror})\n")
        return None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        print_err(f"{path}:{line}: it is not UTF-8 text\n")
        return None
    if len(data) > MAX_FILE_BYTES:
        print_err(f"{path}:1: it is larger than {MAX_FILE_BYTES} bytes\n")
        return None
    return text


def _save(path: str, result: dict[str, Any]) -> bool:
    """Write a picture, all of it or nothing."""
    data = base64.b64decode(result["data"]) if result["format"] == "png" else result["data"].encode()
    try:
        if path == STANDARD:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return True
        with replacing(path, f"{path}.part") as file:
            file.write(data)
    except OSError as error:
        print_err(f"{path}:1: cannot be written ({error.strerror})\n")
        return False
    return True
