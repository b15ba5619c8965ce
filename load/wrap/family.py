"""The wrapper under load: its process, the processes below it, and samples of what it holds."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from load.fleet import PATIENCE_S, ROOT, SIGNET, until


@dataclass(frozen=True)
class Sample:
    """What the wrapper holds at one moment."""

    processes: int
    """The wrapper and all below it."""
    descriptors: int
    """Of the wrapper alone."""
    memory_kb: int


class Family:
    """A wrapper with its server, until the block ends."""

    def __init__(self, server: list[str], folder: Path) -> None:
        self._command = [SIGNET, "wrap", "--serve", "--port", "0", "--no-console", "--no-journal", "--", *server]
        self._log = folder / "wrapper.log"
        self._server = server[-2]
        self.port = 0

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until(self._listens, f"the wrapper did not start: {self.log()}")
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> list[int]:
        """End the wrapper, and return the processes that it leaves behind."""
        below = self._below(self._process.pid) if self._process.poll() is None else []
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return [pid for pid in below if _is_running(pid)]

    def log(self) -> str:
        """Return what the wrapper has printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def kill_server(self) -> bool:
        """Kill the server with SIGKILL; return False if there is none."""
        killed = False
        for pid in self._below(self._process.pid):
            with contextlib.suppress(OSError):
                if self._server.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    killed = True
        return killed

    def sample(self) -> Sample:
        """Return what the wrapper holds now."""
        pid = self._process.pid
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        resident = re.search(r"VmRSS:\s*(\d+)", status)
        return Sample(
            processes=1 + len(self._below(pid)),
            descriptors=len(os.listdir(f"/proc/{pid}/fd")),
            memory_kb=int(resident[1]) if resident else 0,
        )

    def _listens(self) -> bool:
        found = re.search(r"listening on https?://[^:\s]+:(\d+)", self.log())
        self.port = int(found[1]) if found else 0
        return self.port > 0

    def _below(self, pid: int) -> list[int]:
        """Return the processes below one, zombies among them."""
        found: list[int] = []
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
        return found + [other for child in found for other in self._below(child)]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
