"""A stdio server as a process: the wire claimed before anything can print, everything served, ended well."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from signet.settings import UsageError

from .arguments import print_err

if TYPE_CHECKING:
    from signet.kernel.server import Server

__all__ = ["run_stdio"]


def run_stdio(build: Callable[[], Server], *, in_thread: bool = False) -> int:
    """Build a server once fd 1 is safe, and serve it to the end.

    Raises:
        UsageError: there is no standard output.
    """
    from signet.transports.pipes import claim_stdout

    try:
        wire = claim_stdout()
    except OSError:
        message = "standard output is closed; start this with a pipe on it"
        raise UsageError(message) from None
    from signet.transports.stdio import serve

    if serve(build(), wire, in_thread=in_thread):
        print_err("")
        os._exit(0)
    return 0
