"""Exploring the Bank of Japan's statistics: find series in either language, and read them ready for use."""

from collections.abc import Sequence
from typing import Any

from msgspec import json

from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, Toolset
from signet.kernel.upstream import Upstream

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _service(settings: Any, upstream: Upstream | None) -> Upstream:
    from .upstream import IndexUpstream

    if upstream is None:
        raise RuntimeError("the index needs the Bank's upstream")
    return IndexUpstream(settings, upstream)


def _corpus() -> Sequence[CorpusRow]:
    from importlib.resources import files

    rows: list[CorpusRow] = json.decode((files(__package__) / "corpus.json").read_bytes())
    return rows


TOOLSET = Toolset(
    name="boj-explore",
    title="Bank of Japan, explored",
    extends="boj",
    instructions=(
        "To find a series call boj_search with words in English or Japanese, then make the call in a hit's `next`;"
        " cite with `citation.sentence`."
    ),
    shared_instructions=(
        "Bank of Japan statistics: call boj_search first, with words in English or Japanese, then make the call in a"
        " hit's `next`; cite with `citation.sentence`. For the Bank's own pages boj_get_metadata lists a whole"
        " database; boj_get_data_code and boj_get_data_layer read it: give lang=en unless Japanese is wanted, periods"
        " are 2024 (year) or 202401 (half, quarter, month; months for days and weeks), and while next_position is not"
        " null, call again with start_position set to it."
    ),
    tools=_tools,
    service=_service,
    corpus=_corpus,
)
