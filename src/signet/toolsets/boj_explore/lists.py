"""The Bank's list of one database, read row by row: the largest has 166,000 series in 99 million bytes.

Pure. Rows become values one at a time, so that no step holds the interpreter for long, and nothing but the body and one
row is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw

from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.toolsets.boj.decode import read_metadata
from signet.toolsets.boj.faults import too_large, undecodable
from signet.toolsets.boj.fields import as_entry, text_of
from signet.toolsets.boj.models import MetadataEntry
from signet.toolsets.boj.query import MetadataIn, request_of

__all__ = ["made_at", "read_rows", "request_list"]

MAX_LIST_BYTES: Final = 134_217_728
"""A third more than the largest list."""
LIST_TIMEOUT_S: Final = 120.0
MAX_ROWS: Final = 400_000
HEAD_BYTES: Final = 4_096
MAX_ERROR_BYTES: Final = 65_536
"""More than a refusal of the Bank has."""

SUCCESS: Final = re.compile(rb'^\W*"STATUS"\s*:\s*"?200\b')
MADE: Final = re.compile(rb'"DATE"\s*:\s*"(\d{4}-\d\d-\d\dT)(\d{1,2})(:[^"\\]{2,24})"')
ROWS: Final = b'"RESULTSET"'
ROW: Final = re.compile(rb'\{[^{}"]*+(?:"(?:[^"\\]++|\\.)*+"[^{}"]*+)*+\}', re.DOTALL)

_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])


def request_list(db: str) -> UpstreamRequest:
    """Return the request for the list of a database in both languages."""
    request = request_of(MetadataIn(db, lang="jp"))
    return msgspec.structs.replace(request, max_body_bytes=MAX_LIST_BYTES, timeout_s=LIST_TIMEOUT_S)


def made_at(body: bytes) -> str:
    """Return the time at which the Bank made a list, in ISO 8601; its own hour may have one digit. Empty if unknown."""
    match = MADE.search(body[:HEAD_BYTES])
    return f"{match[1].decode()}{int(match[2]):02}{match[3].decode()}" if match else ""


def read_rows(response: UpstreamResponse, db: str) -> Iterator[MetadataEntry]:
    """Yield the rows of a list, headings included.

    Raises:
        Fault: the Bank refused the request, or the response cannot be read.
    """
    body = response.body
    start = body.find(ROWS, 0, HEAD_BYTES)
    if response.broken:
        raise undecodable(response.broken)
    if response.cut:
        raise too_large(f"it has more than the {len(body):,} bytes that are read", "")
    if start < 0 or SUCCESS.match(body[:HEAD_BYTES]) is None:
        read_metadata(msgspec.structs.replace(response, body=bytes(body[:MAX_ERROR_BYTES])), MetadataIn(db))
        raise undecodable("it is no list of series in JSON")
    try:
        for count, match in enumerate(ROW.finditer(body, start)):
            if count == MAX_ROWS:
                raise too_large(f"it has more than {MAX_ROWS:,} rows", "")
            yield as_entry({name: text_of(value) for name, value in _OBJECT.decode(match[0]).items()})
    except (ValueError, RecursionError) as error:
        raise undecodable(str(error)) from None
