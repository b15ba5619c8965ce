"""Embedded upstreams on loopback, with sample data written for this project and faults to order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signet.kernel.toolset import Toolset

if TYPE_CHECKING:
    from .server import Sandbox

__all__ = ["build", "run", "start_in_thread"]


def build(toolset: Toolset, token: str | None = None) -> Sandbox:
    """Return the sandbox of a toolset. If `token` is given, requests must send it as a bearer token.

    Raises:
        ValueError: the toolset has none.
    """
    if toolset.sandbox is None:
        message = f"the toolset {toolset.name} has no sandbox"
        raise ValueError(message)
    sandbox: Sandbox = toolset.sandbox.build(token)
    return sandbox


def run(toolset: Toolset, host: str, port: int, *, token: str | None, announce: Callable[[str], None]) -> None:
    """Serve a toolset's sandbox until SIGINT or SIGTERM; `announce` is called with its URL once it answers.

    Raises:
        ValueError: the toolset has none, or the address is not this machine's alone.
        OSError: the address cannot be had.
    """
    from .hosting import host_until_signal

    host_until_signal(build(toolset, token), host, port, announce)


def start_in_thread(toolset: Toolset, *, token: str | None = None) -> tuple[str, Callable[[], None]]:
    """Serve a toolset's sandbox from a daemon thread of this process; return its URL and the function that stops it.

    Raises:
        ValueError: the toolset has none.
        OSError: there is no port to be had.
    """
    from .hosting import host_in_thread

    running, stop = host_in_thread(build(toolset, token))
    return running.url, stop
