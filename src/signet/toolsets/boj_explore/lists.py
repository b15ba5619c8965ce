"""The request for the Bank's list of one database: the largest has 166,000 series in 99 million bytes.

Pure. Rows become values one at a time, so that no step holds the interpreter for long, and nothing but the body and one
row is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.toolsets.boj.decode import read_entries
from signet.toolsets.boj.models import MetadataEntry
from signet.toolsets.boj.query import MetadataIn, request_of

__all__ = ["made_at", "read_rows", "request_list"]

MAX_LIST_BYTES: Final = 134_217_728
"""A third more than the largest list."""
LIST_TIMEOUT_S: Final = 120.0
HEAD_BYTES: Final = 4_096

MADE: Final = re.compile(rb'"DATE"\s*:\s*"(\d{4}-\d\d-\d\dT)(\d{1,2})(:[^"\\]{2,24})"')


def request_list(db: str) -> UpstreamRequest:
    """Return the request for the list of a database in both languages."""
    request = request_of(MetadataIn(db, lang="jp"))
    return msgspec.structs.replace(request, max_body_bytes=MAX_LIST_BYTES, timeout_s=LIST_TIMEOUT_S)


def made_at(body: bytes) -> str:
    """Return the time at which the Bank made a list, in ISO 8601; its own hour may have one digit. Empty if unknown."""
    match = MADE.search(body[:HEAD_BYTES])
    return f"{match[1].decode()}{int(match[2]):02}{match[3].decode()}" if match else ""


def read_rows(response: UpstreamResponse, db: str) -> Iterator[MetadataEntry]:
    """Yield the rows of a list, headings included; raise Fault where it cannot be read, or the Bank refused it."""
    return read_entries(response, MetadataIn(db))
