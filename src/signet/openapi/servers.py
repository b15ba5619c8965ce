"""Servers: the address of a service as a document states it, absolute or relative to the document. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from .document import is_url
from .plan import ServerPlan
from .references import Node

__all__ = ["address_of", "plan_servers"]

VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
MAX_URL_CHARS: Final = 2_000


def plan_servers(node: Node) -> tuple[ServerPlan, ...]:
    """Return the first server of a list that has an address, with the defaults of its variables."""
    for server in node.value if isinstance(node.value, list) else ():
        url = server.get("url") if isinstance(server, dict) else None
        if isinstance(url, str) and len(url) <= MAX_URL_CHARS:
            return (ServerPlan(_filled(url, server.get("variables")), node.base),)
    return ()


def _filled(url: str, variables: Any) -> str:
    """Return a URL with the default of each variable; one that has none stays as it is written."""

    def default(match: re.Match[str]) -> str:
        known = variables.get(match[1]) if isinstance(variables, dict) else None
        value = known.get("default") if isinstance(known, dict) else None
        return str(value) if isinstance(value, str | int) else match[0]

    return VARIABLE.sub(default, url)


def address_of(servers: tuple[ServerPlan, ...]) -> str:
    """Return the absolute address of the first server; empty where the document is a file and states a relative one."""
    if not servers:
        return ""
    from urllib.parse import urljoin

    url, base = servers[0].url, servers[0].base
    if is_url(url):
        return url.rstrip("/")
    if "://" in url or not is_url(base):
        return ""
    return urljoin(base, url).rstrip("/")
