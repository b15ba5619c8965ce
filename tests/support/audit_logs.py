"""The audit log on disk, read and made anew without the code that writes it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from processes import PATIENCE_S

NO_HASH = "0" * 64


def lines_in(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log, whose chain must hold."""
    previous: dict[str, Any] | None = None
    lines = []
    for text in path.read_bytes().splitlines(keepends=True):
        content, _, rest = text.rpartition(b',"hash":"')
        line = json.loads(text)
        assert rest == line["hash"].encode() + b'"}\n'
        assert hashlib.sha256(content).hexdigest() == line["hash"]
        if previous is not None:
            assert (line["seq"], line["prev"]) == (previous["seq"] + 1, previous["hash"])
        lines.append(line)
        previous = line
    return lines


def requests_in(path: Path) -> list[dict[str, Any]]:
    """Return the lines of requests."""
    return [line for line in lines_in(path) if line["kind"] == "request"]


def events_in(path: Path) -> list[str]:
    """Return why each checkpoint was written."""
    return [line["event"] for line in lines_in(path) if line["kind"] == "checkpoint"]


def wait_for_requests(path: Path, count: int) -> list[dict[str, Any]]:
    """Wait until a log has lines of so many requests, and return them."""
    deadline = time.monotonic() + PATIENCE_S
    while len(found := requests_in(path)) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def wait_for_started(path: Path, count: int) -> None:
    """Wait until so many processes have said in a log that they serve; with no pause, so that this is seen at once."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes().count(b'"event":"started"') < count:
        assert time.monotonic() < deadline, "a process does not serve"


def rehashed(text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a line with another content, and the hash of that, as a forger would write it."""
    content = change(text.rpartition(b',"hash":"')[0])
    return content + b',"hash":"' + hashlib.sha256(content).hexdigest().encode() + b'"}\n'
