"""The ids of requests: what a client may call its own, and what a request without one is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from secrets import token_hex
from typing import Final

from signet.kernel.wire import Headers
from signet.system.secret_patterns import OWN_BEGIN, WEB_BEGIN

__all__ = ["HEADER", "is_own_id", "new_request_ids"]

HEADER: Final = "x-request-id"
FORM: Final = re.compile(rf"(?!{OWN_BEGIN}|{WEB_BEGIN})[A-Za-z0-9._-]{{1,128}}")
"""An id that can be written into logs and headers; tokens begin with what no id may begin with."""


def is_own_id(given: str, headers: Headers) -> bool:
    """Return whether an id that a client sends can be taken over; the token that it sends is none."""
    return FORM.fullmatch(given) is not None and headers.get("authorization", "").split()[-1:] != [given]


def new_request_ids() -> Iterator[str]:
    """Return ids without end, which no other process makes: a random part, and a count. Each costs a format."""
    return map(f"{token_hex(8)}-%06x".__mod__, count(1))
