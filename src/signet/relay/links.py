"""Links to the servers that specifications name: a child process, or a remote server."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from signet.mcp.link import Link
from signet.settings.server_spec import ServerSpec
from signet.system.processes import child_environment

from .spec_secrets import without_secrets

__all__ = ["child_link", "http_link"]


def child_link(spec: ServerSpec, on_stderr: Callable[[str], None]) -> Link:
    """Return a link to a child that the command of a server starts; its last words are told without secrets."""
    from signet.mcp.child_link import ChildLink

    environ = child_environment(os.environ, spec.env)
    return ChildLink(spec.command, environ, on_stderr, cwd=spec.cwd, shown=partial(without_secrets, spec))


def http_link(spec: ServerSpec, log: Callable[[str], None]) -> Link:
    """Return a link to a remote server."""
    from signet.mcp.http_link import HttpLink

    return HttpLink(spec.url, spec.headers, log=log)
