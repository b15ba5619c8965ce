"""The `signet` command with a console that takes every record, however fast they come."""

from __future__ import annotations

import sys


def main() -> int:
    from signet.commands.cli import main as signet
    from signet.console import feed

    feed.BURST = 1_000_000  # type: ignore[misc] # not final for a test
    return signet()


if __name__ == "__main__":
    sys.exit(main())
