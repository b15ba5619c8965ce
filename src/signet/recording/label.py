"""The label of a recording: what was recorded, by which version, under which settings; and where its parts lie.

    recording.json                 the label
    calls.jsonl                    the calls, in the order of their ends
    exchanges/                     one file per exchange with an upstream
    servers/<name>/messages.jsonl  one line per message of a wrapped server

A folder that version 0.2.0 wrote is read too, see `old_formats`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet import __version__
from signet.settings.usage import UsageError
from signet.system.files import locked_folder, make_private_folders, read_regular, replacing

__all__ = [
    "CASSETTE_LABEL",
    "EXCHANGES",
    "LABEL",
    "MESSAGES",
    "NEWER",
    "SERVERS",
    "SERVER_NAME",
    "TAPE_LABEL",
    "RecordedOrigin",
    "RecordedServer",
    "Recording",
    "RecordingError",
    "RecordingLabel",
    "change_label",
    "decode_label",
    "new_label",
    "server_folder",
]

LABEL: Final = "recording.json"
CASSETTE_LABEL: Final = "cassette.json"
TAPE_LABEL: Final = "tape.json"
"""The labels of version 0.2.0: of a recording of upstreams, and of that of one server."""
EXCHANGES: Final = "exchanges"
SERVERS: Final = "servers"
MESSAGES: Final = "messages.jsonl"
FORMAT: Final = 1
LOCK_WAIT_S: Final = 2.0
"""The time for which another process may change the label before we do."""
SERVER_NAME: Final = re.compile(r"[a-z0-9_-]{1,60}")
NEWER: Final = "use the version of Signet that wrote it, or a newer one"


class RecordingError(UsageError):
    """A folder that cannot be recorded into or replayed; its message is a sentence."""


class RecordedOrigin(msgspec.Struct, frozen=True):
    """The origin of a toolset's responses, and whether requests carried a token."""

    origin: str
    has_token: bool = False


class RecordedServer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A wrapped server of a recording."""

    source: str = ""
    """The command or the URL, without secrets."""
    started: str = ""
    """The time at which its recording began; empty for a server that was played from another recording."""
    era: str = ""
    """`handshake`, `modern`, or `both`; empty until the server has answered."""
    protocol: str = ""
    snapshot: str = ""
    """A digest of everything that the server says about itself."""
    served: dict[str, Any] = {}
    """How it was served, for `signet replay`."""


class RecordingLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of `recording.json`."""

    format: int
    signet: str = ""
    """The version that began the recording."""
    toolsets: dict[str, RecordedOrigin | None] = {}
    """The enabled toolsets; None for a toolset without upstream."""
    settings: dict[str, Any] = {}
    """The settings that decide which requests are sent."""
    servers: dict[str, RecordedServer] = {}


class Recording(msgspec.Struct, frozen=True):
    """A folder with a recording."""

    folder: str
    label: RecordingLabel
    exchanges: str
    """The folder of the exchanges with upstreams."""
    servers: dict[str, str] = {}
    """The folder of the messages of each recorded server."""
    is_old: bool = False
    """Whether version 0.2.0 wrote it, which removed more than secrets from requests."""

    def server(self, name: str = "") -> str:
        """Return the name of a recorded server; without a name, that of the only one.

        Raises:
            RecordingError: there is no such server, or there are several.
        """
        if name in self.servers:
            return name
        if not self.servers:
            raise RecordingError(f"{self.folder} is a recording without wrapped servers")
        if len(self.servers) > 1 and not name:
            places = ", ".join(self.servers.values())
            raise RecordingError(f"{self.folder} is a recording of several servers: choose one of {places}")
        if name and len(self.servers) > 1:
            raise RecordingError(f"{self.folder} has no recording of the server '{name}'")
        return next(iter(self.servers))


def new_label(**members: Any) -> RecordingLabel:
    """Return the label of a recording that this version begins."""
    return RecordingLabel(FORMAT, __version__, **members)


def server_folder(folder: str, name: str) -> str:
    """Return the folder of the messages of a server."""
    return os.path.join(folder, SERVERS, name)


def decode_label(data: bytes, folder: str) -> RecordingLabel:
    """Return the label of a folder; raise RecordingError if it cannot be used."""
    try:
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format", b"0")
        is_newer = msgspec.json.decode(version, type=int) > FORMAT
        label = None if is_newer else msgspec.json.decode(data, type=RecordingLabel)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{LABEL} in {folder} cannot be read ({str(error)[:200]})") from None
    if label is None:
        raise RecordingError(f"{folder} is a recording of a newer format: {NEWER}")
    wrong = next((name for name in label.servers if SERVER_NAME.fullmatch(name) is None), None)
    if wrong is not None:
        raise RecordingError(f"{LABEL} in {folder} cannot be read ({wrong[:60]!r} is not the name of a server)")
    return label


def change_label(folder: str, change: Callable[[RecordingLabel | None], RecordingLabel]) -> RecordingLabel:
    """Write the label that a function makes of the one in the folder, or of None; several processes may do so at once.

    Raises:
        OSError: the folder cannot be written to.
        RecordingError: the folder has a label that cannot be changed; or the function raises it.
    """
    make_private_folders(folder)
    path = os.path.join(folder, LABEL)
    with locked_folder(folder, wait_s=LOCK_WAIT_S):
        try:
            now: RecordingLabel | None = decode_label(read_regular(path), folder)
        except OSError:
            # A link in its place is not followed, and replaced.
            now = None
        label = change(now)
        if label != now:
            with replacing(path, f"{path}.{os.getpid()}", private=True) as file:
                file.write(msgspec.json.format(msgspec.json.encode(label)) + b"\n")
    return label
