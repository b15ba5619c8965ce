"""A raw client at the end of two pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from processes import PATIENCE_S, clean_env
from wrap.callers import Caller, Message, Pending

GRACE_S: Final = 3.0
"""How long a server may go on after its input has ended; some of other people's never end by themselves."""


class StdioCaller(Caller):
    """A client that starts the command and writes lines to it."""

    def __init__(
        self,
        command: Sequence[str],
        era: str,
        capabilities: Mapping[str, Any] | None = None,
        *,
        version: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        super().__init__(era, capabilities, version)
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the caller
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env=clean_env(env),
            cwd=cwd,
        )
        self._waiting: dict[tuple[type, int | str], Pending] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: Message, pending: Pending | None = None, headers: Mapping[str, str] | None = None) -> None:
        """Write one line."""
        if pending is not None:
            self._waiting[type(pending.id), pending.id] = pending
        self.write(json.dumps(message, ensure_ascii=False).encode())

    def write(self, line: bytes) -> None:
        """Write bytes and a line end."""
        assert self.process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):  # it has ended, or was closed
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()

    def cancel(self, pending: Pending) -> None:
        """Say that nobody waits for the response any more."""
        self._waiting.pop((type(pending.id), pending.id), None)
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": "no longer wanted"})

    def close(self) -> None:
        """Close stdin and wait for the end of the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        for wait_s, end in ((GRACE_S, self.process.terminate), (PATIENCE_S, self.process.kill)):
            try:
                self.process.wait(wait_s)
            except subprocess.TimeoutExpired:
                end()
        self.process.wait()
        self._reader.join(PATIENCE_S)
        self.process.stdout.close()
        self.stderr.close()

    def log(self) -> str:
        """Return what the process has written to stderr."""
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.stray(line)
                continue
            if not isinstance(message, dict):
                self.stray(line)
            elif "method" in message:
                self.receive(message, self.send)
            elif pending := self._waiting.pop((type(message.get("id")), message.get("id")), None):
                pending.resolve(line.rstrip(b"\r\n"))
            else:
                self.stray(line)
        for pending in list(self._waiting.values()):
            pending.fail("stdout was closed")

    def stray(self, line: bytes) -> None:
        """Keep a line that answers nothing, for tests that look for it."""
        with self._changed:
            self.heard.append({"method": "stray", "params": {"line": line.decode(errors="replace")}})
            self._changed.notify_all()
