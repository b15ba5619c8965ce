"""The `signet` command with the example toolset in its catalogue: `python example_server.py COMMAND …`."""

from __future__ import annotations

import sys

from example_toolset import TOOLSET
from signet.catalogue import register


def main() -> int:
    register(TOOLSET)
    if sys.argv[1:] == ["cli_worker"]:
        from signet.commands.parity.cli_worker import main as call

        return call()
    from signet.commands.cli import main as signet

    return signet()


if __name__ == "__main__":
    sys.exit(main())
