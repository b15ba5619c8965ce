"""Recordings of version 0.2.0: cassettes of upstreams and tapes of wrapped servers, which are read and never written.

    cassette.json  <sha-256>.<n>.<call>.json  calls.jsonl     a cassette
    tape.json      messages.jsonl                             a tape; those of several servers lie in folders beside it

That version also removed texts that are no secrets from requests, such as page tokens. So a request that is not found
by what this version makes of it is looked up by what 0.2.0 made of it.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any, Final

import msgspec

from signet.system.files import read_regular
from signet.system.redaction import REDACTED
from signet.system.secret_patterns import NAMES

from .label import (
    CASSETTE_LABEL,
    LABEL,
    NEWER,
    SERVER_NAME,
    TAPE_LABEL,
    RecordedOrigin,
    RecordedServer,
    Recording,
    RecordingError,
    RecordingLabel,
)

__all__ = ["is_old_recording", "old_body", "old_message", "old_target", "read_old_recording", "refuse_old"]

TAPE_FORMAT: Final = 1
LOOKED_AT: Final = 1_000
"""The number of names in a folder among which those of recorded servers are looked for."""


class _Cassette(msgspec.Struct, frozen=True):
    version: str
    toolsets: dict[str, RecordedOrigin | None]
    settings: dict[str, Any]


class _Tape(msgspec.Struct, frozen=True):
    format: int
    server: str
    source: str
    started: str
    signet: str = ""
    era: str = ""
    protocol: str = ""
    snapshot: str = ""


def is_old_recording(folder: str) -> bool:
    """Return whether a folder has the label of a cassette or of a tape."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in (CASSETTE_LABEL, TAPE_LABEL))


def refuse_old(folder: str) -> None:
    """Raise RecordingError if version 0.2.0 has recorded into a folder."""
    is_of_several = not os.path.lexists(os.path.join(folder, LABEL)) and _folders_of_tapes(folder)
    if is_old_recording(folder) or is_of_several:
        raise RecordingError(
            f"{folder} is a recording of version 0.2.0, which cannot be continued: record into another folder"
        )


def read_old_recording(folder: str) -> Recording | None:
    """Return the recording of version 0.2.0 in a folder; None if there is none.

    Raises:
        RecordingError: it cannot be read.
    """
    if os.path.lexists(os.path.join(folder, CASSETTE_LABEL)):
        cassette = _decoded(folder, CASSETTE_LABEL, _Cassette)
        label = RecordingLabel(1, cassette.version, cassette.toolsets, cassette.settings)
        return Recording(folder, label, folder, is_old=True)
    folders = [folder] if os.path.lexists(os.path.join(folder, TAPE_LABEL)) else _folders_of_tapes(folder)
    tapes = {one: _decoded(one, TAPE_LABEL, _Tape) for one in folders}
    if not tapes:
        return None
    newer = next((one for one, tape in tapes.items() if tape.format > TAPE_FORMAT), None)
    if newer is not None:
        raise RecordingError(f"{newer} is a recording of a newer format: {NEWER}")
    served = {"prefixed": folders != [folder]}
    servers = {
        _plain(tape.server): RecordedServer(
            tape.source, tape.started or "?", tape.era, tape.protocol, tape.snapshot, served
        )
        for tape in tapes.values()
    }
    version = next(iter(tapes.values())).signet
    places = {_plain(tape.server): one for one, tape in tapes.items()}
    return Recording(folder, RecordingLabel(1, version, servers=servers), folder, places, is_old=True)


def _folders_of_tapes(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))[:LOOKED_AT]
    except OSError:
        return []
    below = (os.path.join(folder, name) for name in names)
    return [one for one in below if os.path.lexists(os.path.join(one, TAPE_LABEL))]


def _plain(name: str) -> str:
    """Return the name of a server, which may be changed by hand, as one that can be served."""
    return name if SERVER_NAME.fullmatch(name) else re.sub(r"[^a-z0-9_-]", "_", name.lower())[:60] or "server"


def _decoded(folder: str, name: str, shape: Any) -> Any:
    try:
        return msgspec.json.decode(read_regular(os.path.join(folder, name)), type=shape)
    except OSError as error:
        raise RecordingError(f"{name} in {folder} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{name} in {folder} cannot be read ({str(error)[:200]})") from None


def old_target(target: str) -> str:
    """Return the target of a request, without secrets already, as version 0.2.0 recorded it."""
    return _parameters().sub(r"\1%5Bredacted%5D", target)


def old_body(body: bytes) -> bytes:
    """Return the body of a request, without secrets already, as version 0.2.0 recorded it: no value kept its kind.

    A body that is not JSON is returned as it is.
    """
    try:
        return msgspec.json.encode(_without_named(msgspec.json.decode(body), is_whole=True))
    except (ValueError, RecursionError):
        return body


def old_message(message: bytes) -> bytes:
    """Return a message to a server as version 0.2.0 recorded it; ValueError or RecursionError if it is not JSON."""
    return msgspec.json.encode(_without_named(msgspec.json.decode(message), is_whole=False))


def _without_named(value: Any, *, is_whole: bool) -> Any:
    """Return a value without the fields with the name of a secret: without all of them, or without their texts."""
    if isinstance(value, list):
        return [_without_named(one, is_whole=is_whole) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _hidden(one, is_whole=is_whole) if _field().fullmatch(name) else _without_named(one, is_whole=is_whole)
        for name, one in value.items()
    }


def _hidden(value: Any, *, is_whole: bool) -> Any:
    if is_whole or isinstance(value, str):
        return REDACTED
    if isinstance(value, list):
        return [REDACTED if isinstance(one, str) else _without_named(one, is_whole=False) for one in value]
    return _without_named(value, is_whole=False)


@cache
def _field() -> re.Pattern[str]:
    return re.compile(rf"(?!progressToken$)[\w. -]*{NAMES}", re.IGNORECASE)


@cache
def _parameters() -> re.Pattern[str]:
    return re.compile(
        rf"((?:[?&]|%3f|%26|&amp;)[\w.-]{{0,40}}{NAMES}(?:=|%3d))(?:(?!%26)[^&#\s\"'\\<>])*", re.IGNORECASE
    )
