"""Which of several servers answers for a URI: the first by name of those that list it or have a template for it.

The names are the operator's; the order of a file, and what a server lists besides, change nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Raw

from signet.mcp.messages import members, text_of
from signet.mcp.snapshot import Snapshot

__all__ = ["ClaimedUris"]

MAX_TOLD: Final = 100
"""The number of URIs that the log names; further ones are summarised."""
KEYS: Final = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}


class _Claims:
    """What one server claims."""

    def __init__(self, snapshot: Snapshot) -> None:
        templates = [text_of(members(one).get("uriTemplate")) for one in snapshot.templates]
        self.listed = {text_of(members(one).get("uri")) for one in snapshot.resources} | set(templates)
        self.listed.discard("")
        self.snapshot = snapshot
        self._starts: list[str] = []
        """The beginnings of templates in their order, none of which begins like another."""
        for start in sorted(text.partition("{")[0] for text in templates):
            if start and not (self._starts and start.startswith(self._starts[-1])):
                self._starts.append(start)

    @property
    def has_templates(self) -> bool:
        """Return whether it may claim what it does not list."""
        return bool(self._starts)

    def has(self, uri: str) -> bool:
        """Return whether the server lists a URI, or has a template that begins like it."""
        if uri in self.listed:
            return True
        at = bisect_right(self._starts, uri)
        return at > 0 and uri.startswith(self._starts[at - 1])


class ClaimedUris:
    """The URIs of all servers that are known."""

    def __init__(self, log: Callable[..., None]) -> None:
        self._log = log
        self._claims: dict[str, _Claims] = {}
        self._told: set[str] = set()

    def learn(self, name: str, snapshot: Snapshot) -> None:
        """Note what a server claims now, and tell what others claim too."""
        known = self._claims.get(name)
        if known is not None and (known.snapshot.resources, known.snapshot.templates) == (
            snapshot.resources,
            snapshot.templates,
        ):
            return
        self._claims[name] = claims = _Claims(snapshot)
        self._claims = dict(sorted(self._claims.items()))
        others = [one for other, one in self._claims.items() if other != name]
        listed = claims.listed.union(*(one.listed for one in others)) if claims.has_templates else claims.listed
        for uri in sorted(listed) if others and len(self._told) <= MAX_TOLD else ():
            self.owner(uri)

    def owner(self, uri: str) -> str | None:
        """Return the server that answers for a URI, or None. A URI that several claim is reported once."""
        claimants = [name for name, claims in self._claims.items() if claims.has(uri)]
        if len(claimants) > 1:
            self._tell(uri, claimants)
        return claimants[0] if claimants else None

    def own(self, name: str, method: str, entries: Iterable[Raw]) -> list[Raw]:
        """Return the listed resources or templates of a server for which it answers."""
        key = KEYS.get(method)
        if key is None or len(self._claims) < 2:  # noqa: PLR2004 - two may claim one thing
            return [*entries]
        found = ((text_of(members(one).get(key)), one) for one in entries)
        return [one for uri, one in found if not uri or self.owner(uri) == name]

    def _tell(self, uri: str, claimants: list[str]) -> None:
        if uri in self._told or len(self._told) > MAX_TOLD:
            return
        self._told.add(uri)
        if len(self._told) > MAX_TOLD:
            self._log("server.uri_claimed", why=f"more than {MAX_TOLD} URIs are claimed by several servers")
            return
        first, *others = claimants
        why = f"{first} answers, the first by name; {', '.join(others)} would too"
        self._log("server.uri_claimed", uri=uri[:200], server=first, why=why)
