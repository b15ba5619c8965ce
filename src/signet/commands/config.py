"""`signet config`: every setting with its value and its origin; secrets are hidden."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

import msgspec

from signet.app import JOURNALS
from signet.settings.names import process_settings
from signet.settings.reading import read_configuration
from signet.settings.servers import with_servers_of_file
from signet.settings.shown import shown_settings

from .arguments import TOOLSET_FLAGS, Parser, add_settings, flags_of
from .terminal import say, table, write, write_json

__all__ = ["add"]

NOT_SET: Final = "-"
PIPE_WIDTH: Final = 200
"""The width of the table where there is no terminal."""

EPILOG: Final = """\
A flag wins over its variable, the variable over the file, and the file over the default.

examples:
  signet config                          as the environment and signet.toml have it
  signet config --config other.toml      as another file has it
  signet config --toolsets boj --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet config`."""
    if isinstance(parser, Parser):
        add_settings(parser, *_flags(), TOOLSET_FLAGS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = EPILOG
    parser.set_defaults(run=_run)


def _flags() -> list[str]:
    """Return the settings of the process that are flags of `signet serve`, but not of every command."""
    others = ("deterministic_ids", "stdio_reader")
    return [field.name for field in process_settings() if field.help and field.name not in others]


def _run(args: argparse.Namespace) -> int:
    """Print the settings of the process and those of the enabled toolsets."""
    configuration = read_configuration(os.environ, flags_of(args), defaults={"log_dir": JOURNALS}, with_documents=True)
    shown = list(shown_settings(with_servers_of_file(configuration.settings, is_private=False)))
    for why in configuration.warnings.values():
        say(why)
    if args.json:
        write_json(msgspec.json.encode({"settings": shown}).decode())
    else:
        rows = [(one.name, _text(one.value), one.origin) for one in shown]
        write(table(("setting", "value", "origin"), rows, pipe_width=PIPE_WIDTH, strip=True))
    return 0


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return NOT_SET if value is None or value == "" else str(value)
