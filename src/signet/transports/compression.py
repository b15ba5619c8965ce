"""gzip for the responses of clients that accept it, from a size on; who does not ask for it pays nothing."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Final

import msgspec

from signet.kernel.wire import Headers

from .messages import Response

__all__ = ["MIN_BYTES", "SLOW_BYTES", "accepts_gzip", "compressed", "with_vary"]

MIN_BYTES: Final = 4096
"""The size from which a body is compressed: a smaller one saves less than a packet or two."""
SLOW_BYTES: Final = 65_536
"""The size above which a body is compressed in a thread: the event loop is held for a quarter of a millisecond."""
LEVEL: Final = 1
"""The cheapest level: 200 MB of JSON in a second, to a fifth of its size. The default needs five times as long."""
KEPT_LEVEL: Final = 9
KEPT_PAGES: Final = 64
GZIP_FORMAT: Final = 31
"""The largest window, with the header and the checksum of gzip."""

GZIP_NAMES: Final = ("gzip", "x-gzip", "*")
"""The names for gzip in the order of their precedence; RFC 9110 has the second for old clients."""
WEIGHT: Final = re.compile(r"[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*", re.IGNORECASE)
VARY: Final = (b"vary", b"Accept-Encoding")
ENCODING: Final = (b"content-encoding", b"gzip")


def accepts_gzip(headers: Headers) -> bool:
    """Return whether a client accepts gzip, and does not like a body as it is better (RFC 9110, 12.5.3)."""
    accepted = headers.get("accept-encoding")
    if not accepted or "accept-encoding" in headers.repeated:
        return False
    weights = dict(map(_weight, accepted.lower().split(",")))
    gzip = next((weights[name] for name in GZIP_NAMES if name in weights), 0.0)
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def with_vary(response: Response) -> Response:
    """Return a response with the header that tells caches that it depends on what the client accepts."""
    return msgspec.structs.replace(response, headers=(*response.headers, VARY))


def compressed(response: Response) -> Response:
    """Return a response with a compressed body."""
    compress = _compress_once if response.is_page else _compress
    return msgspec.structs.replace(response, body=compress(response.body), headers=(*response.headers, ENCODING))


def _weight(item: str) -> tuple[str, float]:
    """Return the name of a coding and its weight; a weight that cannot be read counts as 0."""
    name, semicolon, parameter = item.partition(";")
    if not semicolon:
        return name.strip(" \t"), 1.0
    weight = WEIGHT.fullmatch(parameter)
    return name.strip(" \t"), float(weight[1]) if weight else 0.0


def _compress(body: bytes) -> bytes:
    return zlib.compress(body, LEVEL, GZIP_FORMAT)


@lru_cache(KEPT_PAGES)
def _compress_once(body: bytes) -> bytes:
    return zlib.compress(body, KEPT_LEVEL, GZIP_FORMAT)
