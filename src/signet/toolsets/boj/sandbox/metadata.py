"""Answers with the rows of a database, headings among them: in both languages when asked in Japanese; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from .database import LEVELS
from .messages import DONE, LANGS
from .response_format import ResponseFormat, csv_of, head_of, spoken
from .series import SampleRow

__all__ = ["BUILT", "opening_of", "told_metadata", "told_rows"]

BUILT: Final = "2026-02-19T9:00:06.669+09:00"
"""When the metadata were written; the Bank's hour has no leading zero."""

BLANK: Final = SampleRow(layers=(0,) * LEVELS, names=("", ""))


def told_metadata(manner: ResponseFormat, db: str, rows: Iterable[SampleRow]) -> bytes:
    """Write the rows of a database."""
    opening, closing = opening_of(manner, db)
    return opening + told_rows(manner, rows) + closing


def opening_of(manner: ResponseFormat, db: str) -> tuple[bytes, bytes]:
    """Give what stands before the rows and what stands after them."""
    head = {**head_of(DONE, manner.lang, manner.date), "DB": db}
    if manner.format == "json":
        return msgspec.json.encode(head)[:-1] + b',"RESULTSET":[', b"]}"
    return csv_of([*head.items(), _keys(BLANK, manner.lang)]).encode(manner.encoding), b""


def told_rows(manner: ResponseFormat, rows: Iterable[SampleRow]) -> bytes:
    """Write rows alone."""
    told = [_keys(row, manner.lang) for row in rows]
    if manner.format == "json":
        return b",".join(map(msgspec.json.encode, told))
    return csv_of(row.values() for row in told).encode(manner.encoding)


def _keys(row: SampleRow, lang: str) -> dict[str, Any]:
    langs = LANGS if lang == "jp" else (lang,)
    start, end, last_update = row.told
    return {
        "SERIES_CODE": row.code,
        **spoken("NAME_OF_TIME_SERIES", row.names, *langs),
        **spoken("UNIT", row.units, *langs),
        "FREQUENCY": row.every,
        **spoken("CATEGORY", row.categories, *langs),
        **{f"LAYER{n}": layer for n, layer in enumerate(row.layers, 1)},
        "START_OF_THE_TIME_SERIES": start,
        "END_OF_THE_TIME_SERIES": end,
        "LAST_UPDATE": last_update,
        **spoken("NOTES", row.notes, *langs),
    }
