"""Servers: the addresses of a service as a document states them, absolute or relative to the document. Pure.

Secrets are for the origin of the document's first server alone: an operation may state another one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from signet.upstream.origin import host_of, parse_origin

from .document import is_url
from .failure import shown
from .plan import DocumentPlan, OperationPlan, ServerPlan
from .references import Node

__all__ = ["address_of", "elsewhere_note", "origin_of", "plan_servers", "service_of"]

VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
MAX_URL_CHARS: Final = 2_000
MAX_NAMED: Final = 5
"""The most operations that one sentence names, and the most origins."""


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


def origin_of(address: str) -> str:
    """Return the origin of an address in normal form; empty where it has none."""
    try:
        whole = parse_origin(address, with_path=True)
    except ValueError:
        return ""
    return f"{whole.partition('://')[0]}://{host_of(whole)}"


def service_of(plan: DocumentPlan, operation: OperationPlan) -> tuple[str, bool]:
    """Return the address that the document states for an operation, and whether it is of another origin."""
    general = address_of(plan.servers)
    if not operation.servers or operation.servers == plan.servers:
        return general, False
    address = address_of(operation.servers)
    return address, not address or origin_of(address) != origin_of(general)


def elsewhere_note(plan: DocumentPlan, setting: str) -> str:
    """Return a sentence about the operations that state a server of another origin; empty where none does."""
    found: dict[str, str] = {}
    for one in plan.operations:
        address, is_elsewhere = service_of(plan, one)
        if is_elsewhere and address:
            found[one.name] = origin_of(address) or address
    if not found:
        return ""
    origins = _listed([shown(one) for one in dict.fromkeys(found.values())])
    home = origin_of(address_of(plan.servers))
    whose = f"secrets go to {shown(home)} alone" if home else "the document has no address for secrets"
    text = f"{_listed(list(found))} {'state' if len(found) > 1 else 'states'} another server ({origins})"
    return (
        f"{text} and {'are' if len(found) > 1 else 'is'} called there without secrets: {whose}, unless {setting} is set"
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
