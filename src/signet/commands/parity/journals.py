"""What the ways wrote down: each journal read, its records put beside the calls that they are of."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from signet.journal.record import METHOD, VOLATILE
from signet.journal.retention import FOLDER, LATEST
from signet.kernel.ids import deterministic
from signet.kernel.schemas import PREFIX

from .corpus import CorpusCall

__all__ = ["RecordFields", "records_of"]

RecordFields = dict[str, Any]


def records_of(log_dir: str, calls: list[CorpusCall]) -> list[RecordFields | None]:
    """Give the record of each call without the fields that may differ; None where there is none."""
    written = _read(os.path.join(log_dir, FOLDER, LATEST))
    if len(written) == len(calls):
        return [_steady(record) for record in written]
    # Some are missing, or too many: the ids that follow from a call tell whose each is.
    return _matched(written, [_id_of(asked) for asked in calls])


def _read(path: str) -> list[RecordFields]:
    try:
        with open(path, "rb") as file:
            return [msgspec.json.decode(line, type=RecordFields) for line in file.read().splitlines()]
    except OSError:
        return []


def _id_of(asked: CorpusCall) -> str:
    return deterministic(METHOD, "tool", {"arguments": asked.arguments, "toolId": PREFIX + asked.slug}).request_id


def _matched(written: list[RecordFields], ids: list[str]) -> list[RecordFields | None]:
    found: list[RecordFields | None] = []
    at = 0
    for wanted in ids:
        place = next((place for place in range(at, len(written)) if written[place].get("requestId") == wanted), None)
        found.append(None if place is None else _steady(written[place]))
        at = at if place is None else place + 1
    return found


def _steady(record: RecordFields) -> RecordFields:
    return {name: value for name, value in record.items() if name not in VOLATILE}
