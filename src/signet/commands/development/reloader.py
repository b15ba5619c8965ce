"""The supervisor of development mode: it watches the files, and starts a process for each generation of the tools.

It imports nothing of the user's, so that a new process loads all of it afresh, and a broken one harms nobody.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import Final

import msgspec

from signet.commands.arguments import print_err
from signet.system.processes import Process, restart_pause_s
from signet.system.text import printable

from .files import FileWatch
from .generation import Ready

__all__ = ["READY_S", "Generation", "Reloader"]

POLL_S: Final = 0.5
SETTLE_S: Final = 0.1
"""The time in which the files must not change again before they are loaded: an editor may write in two steps."""
MAX_SETTLES: Final = 20
READY_S: Final = 60.0
"""The time that a process has to load the tools; an import has a shorter limit, which not all code obeys."""
PATIENCE_S: Final = 15.0
"""The time after which a process that does not stop is killed."""
MAX_NAMED: Final = 3
BANNER: Final = (
    "development mode: the tools are loaded again when a file changes, and answers show tracebacks and values; "
    "never expose this server"
)
STRONG, PLAIN = "\033[1;33m", "\033[0m"


class Generation:
    """A process that serves the tools as they were when it started."""

    def __init__(
        self, kind: str, words: list[str], listener: socket.socket | None = None, pipe: int | None = None
    ) -> None:
        """Start a process; `pipe` stands for its standard input and output, None for those of this one."""
        self.control, child = socket.socketpair()
        fds = [child.fileno(), listener.fileno() if listener is not None else -1]
        module = "signet.commands.development.generation"
        command = [sys.executable, "-P", "-B", "-m", module, sys.argv[0], kind, *map(str, fds)]
        with child:
            passed = [fd for fd in fds if fd >= 0]
            self.process = Process([*command, *words], streams=(pipe, pipe, None), pass_fds=passed)
        self.started_s = time.monotonic()

    def ready(self) -> Ready | None:
        """Wait until the tools are loaded; return None if the process ends before, which has said why."""
        self.control.settimeout(READY_S)
        try:
            with self.control.makefile("rb") as lines:
                line = lines.readline()
        except OSError:
            self.process.kill()
            return None
        return msgspec.json.decode(line, type=Ready) if line else None

    def end(self) -> None:
        """Make the process stop, and wait for it."""
        self.process.signal(signal.SIGTERM)
        if not self.process.wait_for_end(PATIENCE_S):
            self.process.kill()


class Reloader(ABC):
    """Keeps one generation of the tools running, the newest that could be loaded."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.watch = FileWatch()
        self.fixed: dict[str, str | int | bool] = {}
        """The settings that hold until the program ends, as the newest process read them."""
        self.current: Generation | None = None
        self._loading: Generation | None = None
        self.wake = threading.Event()
        """Set to end, or to look at the processes at once."""
        self.is_stopping = False

    @abstractmethod
    def start(self) -> Generation:
        """Start a process."""

    @abstractmethod
    def switch(self, old: Generation | None, new: Generation) -> None:
        """Let a process that is ready take the place of another, which answers the calls that it has."""

    @abstractmethod
    def finish(self) -> None:
        """End all processes."""

    def run(self) -> int:
        """Serve until a signal or the end of the client; return the exit status."""
        _print_banner()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        if self._load() is None:
            return 0 if self.is_stopping else self._status
        while not self.is_stopping:
            self.wake.wait(POLL_S)
            self.wake.clear()
            if not self.is_stopping:
                self._look()
        self.finish()
        return 0

    def _on_signal(self, *_: object) -> None:
        if self.is_stopping:
            os._exit(0)
        self.is_stopping = True
        if self._loading is not None:
            self._loading.process.signal(signal.SIGTERM)
        self.wake.set()

    def _look(self) -> None:
        """Replace the process if it has ended, or if files have changed."""
        changed = self._settled()
        if changed:
            self._reload(changed)
        elif self.current is not None and self.current.process.has_ended():
            ended, self.current = self.current, None
            _say(f"the process of the tools ended with status {ended.process.status}")
            self.wake.wait(restart_pause_s(ended.started_s))
            if not self.is_stopping and self._load(ended) is not None:
                _say("another one takes its place")

    def _settled(self) -> list[str]:
        """Return the files that have changed, once they stay as they are."""
        changed = self.watch.changed()
        for _ in range(MAX_SETTLES if changed else 0):
            before = self.watch.look()
            time.sleep(SETTLE_S)
            if self.watch.look() == before:
                break
        return self.watch.changed() if changed else []

    def _reload(self, changed: list[str]) -> None:
        names = [os.path.basename(path) for path in changed[:MAX_NAMED]]
        more = f" and {len(changed) - MAX_NAMED} more" if len(changed) > MAX_NAMED else ""
        what = f"{', '.join(names)}{more}"
        tools = self._load(self.current)
        if tools is not None:
            _say(f"reloaded {what}: {tools} {'tool' if tools == 1 else 'tools'}")
        elif not self.is_stopping:
            rest = "the tools from before go on" if self.current is not None else "mend it, and it is loaded again"
            _say(f"{what} changed and cannot be loaded (see above); {rest}")

    def _load(self, old: Generation | None = None) -> int | None:
        """Start a process, let it take the place of the old one; return the number of its tools, None if it fails."""
        # Looked at before they are loaded: what changes meanwhile is seen.
        seen, since_ns = self.watch.look(wide=True), time.time_ns()
        self._loading = new = self.start()
        ready = new.ready()
        self._loading = None
        self.watch.expect(ready.sources if ready is not None else None, seen, since_ns)
        if ready is None:
            new.control.close()
            self._status = new.process.reap()
            return None
        self.switch(old, new)
        self.current = new
        self._tell_fixed(ready)
        return ready.tools

    def _tell_fixed(self, ready: Ready) -> None:
        """Say which settings have changed and are not obeyed."""
        changed = [name for name, value in self.fixed.items() if ready.fixed[name] != value]
        self.fixed = ready.fixed
        if changed:
            _say(f"{' and '.join(changed)} changed: that takes effect at the next start")


def _print_banner() -> None:
    if sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        sys.stderr.write(STRONG)
        _say(BANNER)
        sys.stderr.write(PLAIN)
        print_err("")
    else:
        _say(BANNER)


def _say(text: str) -> None:
    """Write one line to standard error; names of files may hold anything."""
    print_err(f"signet: {printable(text)}\n")
