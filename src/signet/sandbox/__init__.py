"""Embedded upstreams on loopback, with sample data written for this project and faults to order."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .server import Sandbox

__all__ = ["SANDBOXES", "build", "run", "start_in_thread"]

SANDBOXES: Final = {
    "oj": "an online-judge backend with sample problems",
    "boj": "the Bank of Japan's statistics API with sample series",
}
"""Which there are, and what each plays; `signet.sandbox.<name>` builds it."""


def build(name: str, token: str | None = None) -> Sandbox:
    """Put a sandbox together; with a token it wants to be asked with it.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in SANDBOXES:
        message = f"there is no sandbox '{name}'; there are: {', '.join(SANDBOXES)}"
        raise ValueError(message)
    sandbox: Sandbox = import_module(f"signet.toolsets.{name}.sandbox").build(token)
    return sandbox


def run(name: str, host: str, port: int, *, token: str | None, announce: Callable[[str], None]) -> None:
    """Play an upstream until SIGINT or SIGTERM; `announce` is given its URL once it is answered there.

    Raises:
        ValueError: there is none of this name, or the address is not this machine's alone.
        OSError: the address cannot be had.
    """
    from .hosting import host_until_signal

    host_until_signal(build(name, token), host, port, announce)


def start_in_thread(name: str, *, token: str | None = None) -> tuple[str, Callable[[], None]]:
    """Play an upstream from a daemon thread of this process; give its URL and what ends it.

    Raises:
        ValueError: there is none of this name.
        OSError: there is no port to be had.
    """
    from .hosting import host_in_thread

    running, stop = host_in_thread(build(name, token))
    return running.url, stop
