"""What is asked of the Bank of Japan from page to page: which tool, with which arguments, and where.

Pure. A question is held to the toolset's own rules before anything is opened or sent.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs, to_builtins

from signet.kernel.errors import Fault
from signet.kernel.server import Server
from signet.settings import Settings, UsageError
from signet.toolsets.boj.query import DataCodeIn, DataLayerIn, check_data_code, check_data_layer
from signet.toolsets.boj.rate_policy import is_public

from . import SAMPLE_SOURCE, SOURCE
from .cli_errors import to_flags

__all__ = ["SeriesQuery", "origin_of", "series_query_of"]


class SeriesQuery(Struct, frozen=True):
    """A tool and its arguments in the Bank's spelling; equal questions have equal answers."""

    origin: str
    """Where it is asked; of the embedded upstream, whose port is another every time, a name."""
    tool: str
    arguments: dict[str, Any]

    @property
    def db(self) -> str:
        """The database."""
        return str(self.arguments["db"])

    @property
    def lang(self) -> str:
        """The language of names and units."""
        return str(self.arguments["lang"])

    @property
    def source(self) -> str:
        """Whose figures the answers are; only what the Bank's own host says is the Bank's."""
        if self.origin == SAMPLE_SOURCE:
            return SAMPLE_SOURCE
        if is_public(self.origin):
            return SOURCE
        host = "/".join(self.origin.split("/")[:3])
        return f"figures from {host}, in the shape of {SOURCE}"

    @property
    def last_position(self) -> int | None:
        """The last position there is, where the question itself tells it."""
        codes = self.arguments.get("codes")
        return None if codes is None else len(codes)

    def at(self, position: int) -> dict[str, Any]:
        """Give the arguments for the page that starts at a position."""
        return self.arguments if position == 1 else {**self.arguments, "start_position": position}


def origin_of(settings: Settings, server: Server) -> str:
    """Tell where a server for these settings asks; a replay has it from its cassette."""
    embedded = settings.sandbox and not settings.replay
    return SAMPLE_SOURCE if embedded else server.upstreams[0].origin


def series_query_of(asked: Any, origin: str) -> SeriesQuery:
    """Make a question of what was written on the command line.

    Raises:
        UsageError: it breaks one of the rules.
    """
    span = {"lang": asked.lang, "start_date": asked.start, "end_date": asked.end}
    try:
        if asked.codes is not None:
            by_code = check_data_code(DataCodeIn(asked.db, _listed(asked.codes), **span))
            return _question(origin, "boj_get_data_code", by_code)
        by_layer = check_data_layer(DataLayerIn(asked.db, asked.frequency, _listed(asked.layers), **span))
        return _question(origin, "boj_get_data_layer", by_layer)
    except Fault as fault:
        raise UsageError(to_flags(fault)) from None


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(","))


def _question(origin: str, tool: str, query: DataCodeIn | DataLayerIn) -> SeriesQuery:
    given = {name: value for name, value in structs.asdict(query).items() if value is not None and value is not False}
    return SeriesQuery(origin, tool, to_builtins(given))
