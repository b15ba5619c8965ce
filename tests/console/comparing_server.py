"""The `signet` command with a console that compares contract sets for so many seconds: its first argument."""

from __future__ import annotations

import sys


def main() -> int:
    from signet.commands.cli import main as signet
    from signet.console import comparison

    comparison.TIMEOUT_S = float(sys.argv.pop(1))  # type: ignore[misc] # not final for a test
    comparison.CPU_S = 600  # type: ignore[misc] # not final for a test
    return signet()


if __name__ == "__main__":
    sys.exit(main())
