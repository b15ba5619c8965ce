"""`signet diagrams`: fetch the files of the JavaScript engine, and tell which engine draws here."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Final

from signet.engines.assets import PACKED, PINS, checkout, data_folder, find_assets
from signet.settings.reading import read_settings
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.piped_process import run_to_end

from .arguments import Parser, add_settings
from .terminal import say, table, write

__all__ = ["add"]

FAILED: Final = 1
INSTALL_S: Final = 600
MAX_ERROR_BYTES: Final = 1 << 20
LAST_WORDS_CHARS: Final = 300


def add(parser: Parser) -> None:
    """Add the arguments of `signet diagrams`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    install = commands.add_parser("install", help="fetch PlantUML's scripts and the fonts that draw, with npm")
    install.set_defaults(run=_install)
    show = commands.add_parser("engines", help="tell which engines can draw here, and which one does")
    add_settings(show, "config")
    show.set_defaults(run=_engines)


def _install(_: argparse.Namespace) -> int:
    """Fetch the pinned packages into the user's data folder, unless they are there."""
    present = find_assets()
    if present is not None:
        write(f"PlantUML {present.version} is in {present.folder}: nothing to fetch")
        return _say_what_is_missing()
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            "npm is needed to fetch PlantUML's scripts: install Node.js, or a wheel of Signet that has them"
        )
    source, folder = checkout() or PACKED, data_folder()
    os.makedirs(folder, exist_ok=True)
    try:
        for name in PINS:
            shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
    except OSError as error:
        raise UsageError(f"cannot prepare {folder} ({error.strerror})") from None
    write(f"fetching PlantUML's scripts and fonts into {folder}")
    command = [npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    # npm, with the versions and hashes of the lock file.
    run = run_to_end(command, limit_s=INSTALL_S, cwd=folder, max_error_bytes=MAX_ERROR_BYTES)
    if run.is_late:
        say(f"npm has not finished within {INSTALL_S} s")
        return FAILED
    found = find_assets()
    if run.status or found is None:
        words = run.errors.decode(errors="replace").strip()[-LAST_WORDS_CHARS:]
        say(f"npm could not fetch them: {words or 'files are missing'}")
        return FAILED
    write(f"PlantUML {found.version} is in {found.folder}")
    return _say_what_is_missing()


def _say_what_is_missing() -> int:
    from signet.engines.javascript import missing_modules

    missing = missing_modules()
    if missing:
        say(f"{' and '.join(missing)} not installed yet; type: {advise('extra', install='diagrams')}")
        return FAILED
    return 0


def _engines(args: argparse.Namespace) -> int:
    """List the engines in the order in which they are asked."""
    from signet.engines.engine import choices
    from signet.settings.catalogue import find_toolset

    own = read_settings(os.environ, {"config": args.config}).of(find_toolset("plantuml"))
    rows = choices(own, own.server)
    first = next((row.name for row in rows if row.usable), None)
    marks = {True: "yes", False: "no"}
    write(
        table(
            ("engine", "usable", "draws", "what it is, or lacks"),
            [(row.name, marks[row.usable], "first" if row.name == first else "", row.why) for row in rows],
        )
    )
    return 0 if first else FAILED
