"""One request to an upstream, told to several listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from signet.kernel.upstream import UpstreamVisit

__all__ = ["Visits"]


class Visits:
    """Passes the end of one request on; the headers are those of the first listener that has any."""

    def __init__(self, visits: Sequence[UpstreamVisit]) -> None:
        self._visits = visits
        self.headers: Mapping[str, str] = next((visit.headers for visit in visits if visit.headers), {})

    def end(self, code: str) -> None:
        """Note the status of the response, or the kind of the failure."""
        for visit in self._visits:
            visit.end(code)
