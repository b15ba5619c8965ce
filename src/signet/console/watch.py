"""What the console sees of a server: the records of its calls, its requests to upstreams, its refusals.

    journal's thread ── a batch of records ──▶ on_records       nothing is done on the way of a call
    upstream ── visit ──▶ visitors
    web application ── refusal ──▶ on_refusal

It exists only where a console is served. A view appends its listeners before the first call; they raise nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signet.kernel.upstream import UpstreamVisit

from .visits import Visits

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord

__all__ = ["Watch"]


class Watch:
    """Passes on what happens in a server to the views that show it."""

    def __init__(self) -> None:
        self.on_records: list[Callable[[list[tuple[JournalEntry, JournalRecord]]], None]] = []
        """Called in the journal's thread with each batch of calls, whether a journal is kept or not."""
        self.on_written: list[Callable[[int, float], None]] = []
        """Called in the journal's thread with the number of written records and the age of the oldest unwritten."""
        self.on_refusal: list[Callable[[str, int, str], None]] = []
        """Called on the event loop with the address, the status and the reason of each refused request."""
        self.visitors: list[Callable[[str, str, str], UpstreamVisit]] = []
        """Called on the event loop with the upstream's name, the method and the origin of each request to it."""

    def records(self, batch: list[tuple[JournalEntry, JournalRecord]]) -> None:
        """Pass on a batch of calls."""
        for listener in self.on_records:
            listener(batch)

    def journal_written(self, records: int, lag_s: float) -> None:
        """Pass on how many records were written, and the age of the oldest that was not."""
        for listener in self.on_written:
            listener(records, lag_s)

    def refusal(self, address: str, status: int, reason: str) -> None:
        """Pass on that a request was refused before it was a call."""
        for listener in self.on_refusal:
            listener(address, status, reason)

    def visit(self, upstream: str, method: str, origin: str) -> UpstreamVisit:
        """Begin a request to an upstream."""
        return Visits([visitor(upstream, method, origin) for visitor in self.visitors])
