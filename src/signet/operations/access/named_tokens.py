"""Who the bearers of named tokens are, by a file of tokens that is read again when it changes.

A large file is read in a thread, while the tokens before the change hold: nobody else waits for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from signet.kernel.caller import Principal
from signet.kernel.errors import Fault

from .challenges import challenge_of, missing_token, unauthorized, unknown_token
from .tokens import digest_of
from .tokens_file import read_tokens

__all__ = ["NamedTokens"]

LOOK_S: Final = 1.0
"""The time between two looks at the file."""
LARGE_BYTES: Final = 262_144
"""The size above which a file is read in a thread."""
UNREAD: Final = ()
"""The version of a file that has to be read, whatever its version is."""

SIZE: Final = 0
"""The place of the size in a version."""

Version = tuple[int, ...] | None


class NamedTokens:
    """Knows the tokens of a file."""

    def __init__(self, path: str, warn: Callable[[str], None]) -> None:
        """Read the file; `warn` is called when it cannot be read any more.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a file of tokens.
        """
        self._path = path
        self._warn = warn
        self._version = _version(path)
        self._tokens = read_tokens(path)
        self._looked_s = monotonic()
        self._is_warned = False
        self._reading: threading.Thread | None = None

    def identify(self, token: str) -> Principal | Fault:
        """Return the principal of a token, or the fault for one that is missing, not known, expired or revoked."""
        if not token:
            return missing_token()
        if monotonic() - self._looked_s >= LOOK_S:
            self._look()
        found = self._tokens.get(digest_of(token))
        if found is None:
            return unknown_token()
        state = found.state(datetime.now(UTC))
        if state != "valid":
            how = "has expired" if state == "expired" else "was revoked"
            return unauthorized(f"This token {how}: ask the server's operator for a new one")
        return Principal(found.name, frozenset(found.scopes))

    def challenge(self, fault: Fault) -> str:
        """Return the `WWW-Authenticate` header of a refusal."""
        return challenge_of(fault)

    def reload(self) -> None:
        """Read the file now, whether it looks changed or not."""
        self._version = UNREAD
        self._look()

    def _look(self) -> None:
        """Read the file if it has changed."""
        self._looked_s = monotonic()
        version = _version(self._path)
        if version == self._version or (self._reading is not None and self._reading.is_alive()):
            return
        if version is None or version[SIZE] <= LARGE_BYTES:
            self._read(version)
        else:
            # What changes meanwhile is seen by a later look.
            self._reading = threading.Thread(target=self._read, args=(version,), name="tokens", daemon=True)
            self._reading.start()

    def _read(self, version: Version) -> None:
        """Read the file; one that cannot be read leaves the last one in use."""
        before = self._version
        try:
            tokens = read_tokens(self._path)
        except OSError as error:
            # It may be readable again without another change.
            self._warn_once(error.strerror or "it cannot be read")
            return
        except ValueError as error:
            self._warn_once(str(error))
        else:
            self._is_warned = False
            left = list(self._tokens.values())
            self._tokens = tokens
            while left:
                # To free all of them in one step would hold up other threads.
                left.pop()
        if self._version is before:
            self._version = version

    def _warn_once(self, why: str) -> None:
        if not self._is_warned:
            self._is_warned = True
            self._warn(f"the tokens in {self._path} stay as they were: {why}")


def _version(path: str) -> Version:
    try:
        found = os.stat(path)
    except OSError:
        return None
    # Who may write to a file decides whether it is used: a change of its mode is one, too, and changes its last time.
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_mode
