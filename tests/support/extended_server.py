"""The `signet` command with the tests' own toolsets in its catalogue: `python extended_server.py COMMAND …`."""

from __future__ import annotations

import sys

import conformance_toolset
import example_toolset
from signet.settings.catalogue import register


def main() -> int:
    for module in (conformance_toolset, example_toolset):
        register(module.TOOLSET)
    if sys.argv[1:] == ["cli_worker"]:
        from signet.commands.parity.cli_worker import main as call

        return call()
    from signet.commands.cli import main as signet

    return signet()


if __name__ == "__main__":
    sys.exit(main())
