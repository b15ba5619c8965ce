"""The citation of figures, and a short table of them for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from signet.toolsets.boj.sources import CREDIT, source_of

from .models import Citation, FetchedColumn

__all__ = ["cite", "cite_in_words", "short_table"]

TABLE_SERIES: Final = 5
TABLE_ROWS: Final = 8
ONE_DIGIT_HOUR: Final = re.compile(r"T(\d):")


def cite(series: list[FetchedColumn], databases: Mapping[str, str], origin: str, url: str, at: str) -> Citation:
    """Return the citation of some series."""
    names = {one.db: f"{databases[one.db]} ({one.db})" if one.db in databases else one.db for one in series}
    dataset = "; ".join(names.values())
    codes = [f"{one.db}:{one.code}" for one in series]
    retrieved_at = ONE_DIGIT_HOUR.sub(r"T0\1:", at)
    source = source_of(origin)
    sentence = cite_in_words(source, dataset, [one.code for one in series], retrieved_at)
    return Citation(source, dataset, codes, url, retrieved_at, sentence)


def cite_in_words(source: str, dataset: str, codes: list[str], at: str) -> str:
    """Return the sentence to show beside figures, with the Bank's credit."""
    shown = ", ".join(codes[:TABLE_SERIES]) + (", …" if len(codes) > TABLE_SERIES else "")
    return f"Source: {source}, {dataset}, series {shown}, retrieved {at[:10]}. {CREDIT}"


def short_table(series: list[FetchedColumn], citation: Citation) -> str:
    """Return the last values of the first series as text, and the source."""
    lines: list[str] = []
    for one in series[:TABLE_SERIES]:
        lines.append(f"{one.db}:{one.code}  {one.name} [{one.unit}; {one.frequency}]")
        points = [(period, value) for period, value in zip(one.periods, one.values, strict=True) if value is not None][
            -TABLE_ROWS:
        ]
        lines += [f"  {period:<8}  {value}" for period, value in points] or ["  no value in this span"]
    if len(series) > TABLE_SERIES:
        lines.append(f"… and {len(series) - TABLE_SERIES} series more")
    return "\n".join([*lines, citation.sentence])
