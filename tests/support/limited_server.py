"""The `signet` command with other limits on connections: `python limited_server.py head_s=0.5 … COMMAND …`.

The tests' own toolsets are in its catalogue.
"""

from __future__ import annotations

import json
import sys
from itertools import takewhile

import msgspec

import conformance_toolset
import example_toolset
import waiting_toolset
from signet.settings.catalogue import register


def main() -> int:
    from signet.commands import serve
    from signet.commands.cli import main as signet

    limits = list(takewhile(lambda word: "=" in word, sys.argv[1:]))
    del sys.argv[1 : 1 + len(limits)]
    changes = {name: json.loads(value) for name, _, value in (word.partition("=") for word in limits)}
    serve.START_S = changes.pop("start_s", serve.START_S)  # type: ignore[misc] # not final for a test
    serve.LIMITS = msgspec.structs.replace(serve.LIMITS, **changes)
    for module in (conformance_toolset, example_toolset, waiting_toolset):
        register(module.TOOLSET)
    return signet()


if __name__ == "__main__":
    sys.exit(main())
