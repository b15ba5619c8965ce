"""What the lock blocks of the requests to one running instance of a server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import Code, Fault
from signet.mcp.messages import members
from signet.mcp.snapshot import KINDS, Snapshot, name_of
from signet.system.places import Shares

__all__ = ["BeingCompared", "Blocked", "check_lock"]

Blocked = Mapping[tuple[str, str], str]
"""Why an entry cannot be used, by its kind and its name."""

WAIT_S: Final = 5.0
"""How long a request for an entry that is being compared waits: an honest change takes less than a second."""
MAX_WAITING: Final = 64
"""The requests that wait so, of which each caller has a share; further ones are refused at once.

So the turns of a server are left for others.
"""
VARIABLE: Final = re.compile(r"\{[^{}]*\}")
"""A variable of a template."""


class BeingCompared(dict[tuple[str, str], str]):
    """What the lock blocks of an instance, while changed schemas of it are still being compared."""

    def __init__(self, blocked: Blocked, pending: Collection[tuple[str, str]]) -> None:
        super().__init__(blocked)
        self._pending = pending
        self._done = asyncio.Event()
        self._waiting = Shares("requests that wait for a comparison", MAX_WAITING)

    def settle(self, blocked: Blocked) -> None:
        """Take what is blocked after all."""
        self.clear()
        self.update(blocked)
        self._pending = ()
        self._done.set()

    async def wait_for(self, method: str, raw: Raw, more: Mapping[str, Any] | None, holder: str) -> None:
        """Wait for a while if an entry that a request names is being compared; others go on at once."""
        if not self._pending or not any(one in self._pending for one in _named(method, raw, more)):
            return
        if not self._waiting.take(holder):
            return
        try:
            async with asyncio.timeout(WAIT_S):
                await self._done.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.give_back(holder)


def check_lock(pinned: Snapshot, blocked: Blocked, method: str, raw: Raw, more: Mapping[str, Any] | None) -> None:
    """Raise Fault if the lock blocks what a request names; `more` has the members that the server knows otherwise."""
    for kind, name in _named(method, raw, more):
        why = _why_blocked(pinned, blocked, kind, name)
        if why:
            data = {"retryable": False}
            raise Fault(Code.UNAUTHORIZED, why, name="BLOCKED_BY_LOCK", status=403, as_tool_result=True, data=data)


def _named(method: str, raw: Raw, more: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the kinds and names of what a request names."""
    parts: dict[str, Any] = {**members(raw), **(more or {})}
    match method:
        case "tools/call":
            yield "tool", _text(parts.get("name"))
        case "prompts/get":
            yield "prompt", _text(parts.get("name"))
        case "resources/read" | "resources/subscribe":
            yield "resource", _text(parts.get("uri"))
        case "completion/complete":
            given = parts.get("ref")
            reference = given if isinstance(given, dict) else members(given)
            if "name" in reference:
                yield "prompt", _text(reference["name"])
            if "uri" in reference:
                yield "template", _text(reference["uri"])


def _text(value: Any) -> str:
    text = msgspec.json.decode(value) if isinstance(value, Raw) else value
    return text if isinstance(text, str) else ""


def _why_blocked(pinned: Snapshot, blocked: Blocked, kind: str, name: str) -> str:
    """Return why something cannot be used; empty if it can."""
    why = blocked.get((kind, name), "")
    if why or kind == "tool":
        return why
    if kind == "prompt":
        # What is not listed was not pinned either: a prompt is words for a model.
        return "" if name in _names(pinned, kind) else f"the prompt {name[:100]!r} is not pinned"
    if kind == "template":
        return blocked.get(("resource", name), "")
    return "" if not blocked or name in _names(pinned, kind) else _why_by_template(pinned, blocked, name)


def _why_by_template(pinned: Snapshot, blocked: Blocked, uri: str) -> str:
    """Return why a resource that no list has cannot be read: it is of a template that is blocked, and of no other."""
    reasons = [why for (kind, name), why in blocked.items() if kind == "template" and _matches(name, uri)]
    others = (name for name in _names(pinned, "template") if ("template", name) not in blocked)
    return reasons[0] if reasons and not any(_matches(name, uri) for name in others) else ""


def _names(pinned: Snapshot, kind: str) -> Iterator[str]:
    return (name_of(kind, entry) for entry in getattr(pinned, KINDS[kind].where))


def _matches(template: str, uri: str) -> bool:
    """Return whether a URI has all literal parts of a template, in their order."""
    first, *rest = VARIABLE.split(template)
    if not rest:
        return uri == first
    last = rest.pop()
    if not uri.startswith(first) or not uri.endswith(last) or len(uri) < len(first) + len(last):
        return False
    at, end = len(first), len(uri) - len(last)
    for part in rest:
        found = uri.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
