"""The ids of requests: what a client may call its own, and what a request without one is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from secrets import token_hex
from typing import Final

__all__ = ["HEADER", "is_request_id", "new_request_ids"]

HEADER: Final = "x-request-id"

is_request_id: Final = re.compile(r"[A-Za-z0-9._-]{1,128}").fullmatch
"""Whether an id that a client sends can be taken over: it is written into logs and headers."""


def new_request_ids() -> Iterator[str]:
    """Return ids without end, which no other process makes: a random part, and a count. Each costs a format."""
    return map(f"{token_hex(8)}-%06x".__mod__, count(1))
