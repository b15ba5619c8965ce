"""The lists of the databases FF and CO in their real size, 20 and 100 MB, for the sandbox of the Bank of Japan.

The body is generated while it is sent and never held. All generated rows have the same length, so that any slice can be
generated alone.
"""

from __future__ import annotations

import zlib
from typing import SupportsIndex, overload

from msgspec.structs import replace

from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse
from signet.toolsets.boj.sandbox.api import (
    GZIP_HEADERS,
    METADATA_DATE,
    ROOT,
    TAKES_GZIP,
    ResponseFormat,
    metadata_body,
)
from signet.toolsets.boj.sandbox.database import SampleCatalogue, SampleDatabase
from signet.toolsets.boj.sandbox.query import SampleQuery

SERIES = {"FF_WHOLE": 33_859, "CO_WHOLE": 166_513}
"""How many series the real databases have; the Bank has none of these names."""

FIRST = 1_000_000
"""The number of the first generated row; all numbers have the same length."""

NAMES = (
    "D.I./見本項目/全規模/全産業/実績/系列1000000/規則による生成値",
    "D.I./Sample Item/All Enterprises/All Industries/Actual result/Series 1000000/Made by Rule",
)
READ_BYTES = 1 << 16
GZIP = 16 + zlib.MAX_WBITS


class GeneratedBytes(bytes):
    """Bytes that are generated when they are sliced: an opening, rows that differ in their number, a closing."""

    opening: bytes
    row: bytes
    count: int
    closing: bytes

    @classmethod
    def of(cls, opening: bytes, row: bytes, count: int, closing: bytes) -> GeneratedBytes:
        body = cls()
        body.opening, body.row, body.count, body.closing = opening, row, count, closing
        return body

    def __len__(self) -> int:
        return len(self.opening) + len(self.row) * self.count + len(self.closing)

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> int | bytes:
        if not isinstance(key, slice):
            place = range(len(self))[key]
            return self[place : place + 1][0]
        start, stop, _ = key.indices(len(self))
        rows, closing = len(self.opening), len(self) - len(self.closing)
        first = min(max(0, start - rows) // len(self.row), self.count)
        last = min(-(-max(0, stop - rows) // len(self.row)), self.count)
        generated = b"".join(self.row.replace(b"%d" % FIRST, b"%d" % (FIRST + n)) for n in range(first, last))
        parts = ((0, self.opening), (rows + first * len(self.row), generated), (closing, self.closing))
        return b"".join(part[max(0, start - at) : max(0, stop - at)] for at, part in parts)


def with_large_metadata(sandbox: Sandbox) -> Sandbox:
    """Answer a request for a list in its real size with the large body, and let the sandbox answer all others."""
    co = SampleCatalogue().find("CO")

    def handler(request: SandboxRequest) -> SandboxResponse:
        query = SampleQuery(request.query)
        series = SERIES.get(query.text("db").upper())
        if request.path != f"{ROOT}/getMetadata" or series is None:
            return sandbox.handler(request)
        layout = ResponseFormat(query.text("format").lower() or "json", query.lang(), METADATA_DATE)
        response = layout.response(_large_metadata(layout, co, series))
        if not TAKES_GZIP.search(request.headers.get("accept-encoding", "")):
            return response
        return replace(response, body=_compress(response.body), headers={**response.headers, **GZIP_HEADERS})

    return replace(sandbox, handler=handler)


def _large_metadata(layout: ResponseFormat, co: SampleDatabase, series: int) -> GeneratedBytes:
    """The rows of the samples, followed by generated rows."""
    closing, comma = (b"]}", b",") if layout.format == "json" else (b"", b"")
    opening = metadata_body(layout, "CO", []).removesuffix(closing)
    last = replace(co.rows[-1], code=f"TK00S{FIRST}GCQ00000", names=NAMES, layers=(3, FIRST, 0, 0, 0))
    row = metadata_body(layout, "CO", [last]).removeprefix(opening).removesuffix(closing)
    count = series - sum(1 for it in co.rows if it.code)
    samples = metadata_body(layout, "CO", co.rows).removesuffix(closing)
    return GeneratedBytes.of(samples, comma + row, count, closing)


def _compress(body: bytes) -> bytes:
    """Compress slice by slice; generated rows shrink to little."""
    compressor = zlib.compressobj(6, wbits=GZIP)
    slices = (body[start : start + READ_BYTES] for start in range(0, len(body), READ_BYTES))
    return b"".join(map(compressor.compress, slices)) + compressor.flush()
