"""A terminal of a given width for tests: run a command on it, type to it, read what a person sees."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Mapping

from processes import PATIENCE_S, SIGNET, clean_env

ROWS = 50


def run_on_terminal(*args: str, columns: int = 80, typed: bytes = b"") -> tuple[int, str]:
    """Run one `signet` command on a terminal of its own; return the exit status and the screen's text."""
    screen = Screen([SIGNET, *args], columns=columns, env={"NO_COLOR": "1", "TERM": "dumb"})
    if typed:
        screen.type(typed)
    return screen.finish()


class Screen:
    """A command on a terminal of its own."""

    def __init__(self, command: list[str], *, columns: int, env: Mapping[str, str]) -> None:
        self._here, there = pty.openpty()
        termios.tcsetwinsize(there, (ROWS, columns))
        own = {name: value for name, value in clean_env(env).items() if name not in {"COLUMNS", "LINES"}}
        self.process = subprocess.Popen(
            command, stdin=there, stdout=there, stderr=there, env=own, start_new_session=True
        )
        os.close(there)
        self._seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self._here, keys)

    def wait_for(self, text: str) -> str:
        """Read until a text is shown; return all that was shown since the last time, and forget it."""
        deadline = time.monotonic() + PATIENCE_S
        while text.encode() not in self._seen:
            assert time.monotonic() < deadline, f"{text!r} was never shown: {self._seen!r}"
            assert self._read(), f"it ended without {text!r}: {self._seen!r}"
        seen, self._seen = self._seen.decode(errors="replace"), b""
        return seen

    def finish(self) -> tuple[int, str]:
        """Read to the end; return the exit status and the text."""
        try:
            while self._read():
                pass
            return self.process.wait(PATIENCE_S), self._seen.decode().replace("\r\n", "\n")
        finally:
            self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._here)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._here], [], [], PATIENCE_S)
        assert ready, f"nothing more is shown: {self._seen!r}"
        try:
            chunk = os.read(self._here, 1 << 16)
        except OSError:
            return False
        self._seen += chunk
        return bool(chunk)
