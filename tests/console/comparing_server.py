"""The `signet` command with a console that compares contract sets for so many seconds: its first argument."""

from __future__ import annotations

import sys

import msgspec


def main() -> int:
    from signet.commands import serve
    from signet.commands.cli import main as signet
    from signet.console import comparison
    from signet.proofs import asking

    comparison.TIMEOUT_S = float(sys.argv.pop(1))  # type: ignore[misc] # not final for a test
    asking.CPU_S = 600  # type: ignore[misc] # not final for a test
    # Its end waits for no comparison.
    serve.LIMITS = msgspec.structs.replace(serve.LIMITS, grace_s=0.1)
    return signet()


if __name__ == "__main__":
    sys.exit(main())
