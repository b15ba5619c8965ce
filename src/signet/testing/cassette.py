"""The cassette of a test: a folder beside it, recorded once and replayed from then on."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from typing import Final

from signet.recording.folder import is_recording
from signet.settings.usage import UsageError
from signet.system.advice import advise

__all__ = ["Cassette", "place_of_cassette"]

FOLDER: Final = "cassettes"
MAX_NAME_CHARS: Final = 100
NONE: Final = "none"
ALL: Final = "all"


def place_of_cassette(path: str, test: str) -> str:
    """Return the folder of a test's cassette: `cassettes/<file>/<test>` beside the file of the test."""
    folder, file = os.path.split(path)
    name = re.sub(r"[^\w.\[\]-]+", "_", test)[:MAX_NAME_CHARS]
    if name != test:
        # Two parameters may differ in nothing else.
        name += "-" + hashlib.sha256(test.encode()).hexdigest()[:8]
    return os.path.join(folder, FOLDER, os.path.splitext(file)[0], name)


class Cassette:
    """The recording of one test, which is being made or replayed."""

    def __init__(self, folder: str, mode: str) -> None:
        """Decide what to do.

        Args:
            folder: the place of the recording.
            mode: `once`, `none` or `all`: when to record.
        """
        self.folder = folder
        self.is_recording = mode == ALL or not is_recording(folder)
        """Whether the tools reach their upstreams, and what they get is kept."""
        self.is_missing = self.is_recording and mode == NONE
        """Whether there is no recording, and none is to be made: a test that makes no call needs none."""
        self._scratch = ""

    def require(self) -> None:
        """Raise UsageError if there is no recording, and none is to be made."""
        __tracebackhide__ = True
        if self.is_missing:
            message = (
                f"there is no recording in {os.path.relpath(self.folder)}, and none is made in CI or with "
                f"--signet-record=none: run '{advise('cassette.record')}' where the upstream can be reached, and "
                "commit the folder"
            )
            raise UsageError(message)

    @property
    def place(self) -> str:
        """The folder that a server records into, or replays.

        Raises:
            UsageError: there is no recording, and none is to be made.
        """
        __tracebackhide__ = True
        self.require()
        if not self.is_recording:
            return self.folder
        if not self._scratch:
            above = os.path.dirname(self.folder)
            os.makedirs(above, exist_ok=True)
            self._scratch = tempfile.mkdtemp(prefix=".recording-", dir=above)
        return self._scratch

    def end(self, *, keep: bool) -> None:
        """Put a recording in its place once the servers that made it have ended, or throw it away."""
        if not self._scratch:
            return
        # A test that calls nothing has recorded nothing.
        if keep and is_recording(self._scratch):
            shutil.rmtree(self.folder, ignore_errors=True)
            os.replace(self._scratch, self.folder)
        else:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch = ""
