"""Reading a recording: of this version or of 0.2.0, or of one of its servers."""

from __future__ import annotations

import os

import msgspec

from signet.system.files import read_regular

from .label import EXCHANGES, LABEL, SERVERS, Recording, RecordingError, decode_label, server_folder
from .old_formats import is_old_recording, read_old_recording

__all__ = ["is_recording", "read_recording"]


def is_recording(folder: str) -> bool:
    """Return whether a folder has the label of a recording, of this version or of 0.2.0."""
    return os.path.lexists(os.path.join(folder, LABEL)) or is_old_recording(folder)


def read_recording(folder: str) -> Recording:
    """Return the recording in a folder, or that of one server if the folder is the one of its messages.

    Raises:
        RecordingError: there is none, it cannot be read, or a newer version wrote it.
    """
    path = os.path.join(folder, LABEL)
    try:
        label = decode_label(read_regular(path), folder)
    except OSError as error:
        found = read_old_recording(folder) or _server_of_recording(folder)
        if found is None:
            message = f"there is no recording in {folder} ({LABEL}: {error.strerror}); make one with --record {folder}"
            raise RecordingError(message) from None
        return found
    folders = {name: server_folder(folder, name) for name, server in label.servers.items() if server.started}
    return Recording(folder, label, os.path.join(folder, EXCHANGES), folders)


def _server_of_recording(folder: str) -> Recording | None:
    """Return the recording of one server whose messages lie in a folder: `DIR/servers/NAME`; None for other folders."""
    servers, name = os.path.split(os.path.abspath(folder))
    above, middle = os.path.split(servers)
    if middle != SERVERS or not os.path.lexists(os.path.join(above, LABEL)):
        return None
    found = read_recording(above)
    if name not in found.servers:
        return None
    label = msgspec.structs.replace(found.label, servers={name: found.label.servers[name]})
    return msgspec.structs.replace(found, folder=folder, label=label, servers={name: folder})
