"""The `signet` command without the files of the diagram engine: `python engineless_server.py COMMAND …`."""

from __future__ import annotations

import sys

from signet.engines import assets


def main() -> int:
    assets.find_assets = lambda: None
    from signet.commands.cli import main as signet

    return signet()


if __name__ == "__main__":
    sys.exit(main())
