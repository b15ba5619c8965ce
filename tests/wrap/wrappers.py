"""What may stand in front of a server: nothing, `signet wrap`, or another project's proxy."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from processes import ROOT, SIGNET, Server, serving_command
from wrap.http_caller import HttpCaller
from wrap.stdio_caller import StdioCaller

DOORS = ("stdio", "http")


@dataclass(frozen=True)
class Wrapper:
    """A command to put in front of a server's command, for each door."""

    name: str
    stdio: tuple[str, ...]
    http: tuple[str, ...]

    def with_flags(self, *flags: str) -> Wrapper:
        """Return the same wrapper with more flags."""
        return Wrapper(self.name, (*self.stdio[:-1], *flags, "--"), (*self.http[:-1], *flags, "--"))

    def ended(self) -> Wrapper:
        """Return the same wrapper without a command behind it."""
        return Wrapper(self.name, self.stdio[:-1], self.http[:-1])


DIRECT = Wrapper("direct", (), ())
WRAP = Wrapper("signet wrap", (SIGNET, "wrap", "--"), (SIGNET, "wrap", "--serve", "--port", "0", "--"))
_PROXY = str(ROOT / "tests/wrap/fastmcp_proxy.py")
_PROXY_PYTHON = str(ROOT / "build/servers/servers/bin/python")
FASTMCP = Wrapper("FastMCP", (_PROXY_PYTHON, _PROXY, "stdio", "--"), (_PROXY_PYTHON, _PROXY, "http", "--"))
PYTHON = sys.executable


@contextlib.contextmanager
def on_stdio(
    wrapper: Wrapper,
    command: Sequence[str],
    era: str,
    capabilities: Mapping[str, Any] | None = None,
    *,
    env: Mapping[str, str] | None = None,
) -> Iterator[StdioCaller]:
    """Talk to a server on stdio, in an empty folder, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        caller = StdioCaller((*wrapper.stdio, *command), era, capabilities, env=env, cwd=folder)
        try:
            yield caller
        finally:
            caller.close()


def serving_wrapped(
    wrapper: Wrapper, command: Sequence[str], *, env: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[Server]:
    """Serve a wrapped server over HTTP until the block ends."""
    return serving_command(*wrapper.http, *command, env=env)


@contextlib.contextmanager
def on_http(server: Server, era: str, capabilities: Mapping[str, Any] | None = None) -> Iterator[HttpCaller]:
    """Talk to a server over HTTP until the block ends."""
    caller = HttpCaller(f"{server.url}/mcp", era, capabilities)
    try:
        yield caller
    finally:
        caller.close()
