"""Signet where 127.0.0.1 counts as a public address, and names have given addresses.

`python public_loopback_server.py JSON …`: JSON is an object: the addresses of each name, one for each lookup;
the last one stays. All else is `signet …`.
"""

from __future__ import annotations

import json
import socket
import sys
from functools import partial

from aiohttp.abc import AbstractResolver, ResolveResult

from signet.upstream import egress

PUBLIC = "127.0.0.1"


def kind_of(address: str) -> str:
    return egress.PUBLIC if address == PUBLIC else egress.address_kind(address)


class Names(AbstractResolver):
    """A resolver whose answers are given."""

    def __init__(self, answers: dict[str, list[str]]) -> None:
        self._answers = answers

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answers = self._answers[host]
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        return [ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        """Release nothing."""


def main() -> int:
    from signet.commands import cli

    names = Names(json.loads(sys.argv.pop(1)))
    egress.Egress = partial(egress.Egress, kind_of, names)  # type: ignore[misc,assignment]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
