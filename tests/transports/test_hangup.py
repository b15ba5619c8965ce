"""SIGHUP: the end of the terminal stops a server, an operator's signal and `nohup` do not."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from processes import PATIENCE_S, SIGNET, clean_env

SERVE = f"{SIGNET} serve --port 0 --toolsets plantuml --no-journal --log info"
COUNTS = pytest.mark.parametrize("count", ["1", "2"])


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended and that nobody has asked for does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def heed_hangups() -> None:
    """Let a hang-up end the process that is started next, also where these tests run under nohup or block it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})


class Shell:
    """A shell on a terminal of its own, which starts a server in the background."""

    def __init__(self, folder: Path, line: str) -> None:
        self.log = folder / "log"
        self.log.touch()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            heed_hangups()
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], clean_env())
        os.write(self.terminal, f"{line} > log 2>&1 & echo $! > pid.new; mv pid.new pid\n".encode())
        until((folder / "pid").exists, "the server is started")
        self.server = int((folder / "pid").read_text())
        until(lambda: "listening on" in self.log.read_text(), "the server listens")

    def write(self, line: str) -> None:
        os.write(self.terminal, line.encode() + b"\n")

    def close(self) -> None:
        """Close the terminal, as a window is closed; the shell ends by that."""
        os.close(self.terminal)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def leave(self) -> None:
        """End the shell by its own command."""
        self.write("exit")
        os.waitpid(self.pid, 0)
        self.pid = 0
        os.close(self.terminal)


@contextlib.contextmanager
def shell(folder: Path, line: str) -> Iterator[Shell]:
    """Run a server from a shell, and end both."""
    started = Shell(folder, line)
    try:
        yield started
    finally:
        if is_alive(started.server):
            os.kill(started.server, signal.SIGTERM)
        if started.pid:
            started.close()
        until(lambda: not is_alive(started.server), "the server ends")


def wait_until_it_obeys(one: Shell, count: str) -> None:
    """Wait until the server has handled an operator's signal: it reloads, and stays."""
    subprocess.run(["kill", "-HUP", str(one.server)], check=True)
    if count == "1":
        # A server of one process reads again what may have changed, and says nothing; the next signal ends it.
        until(lambda: not int(pending(one.server), 16), "the signal is taken")
    else:
        until(lambda: "all workers are being replaced" in one.log.read_text(), "the workers are replaced")
    assert is_alive(one.server)


def pending(pid: int) -> str:
    """Return the signals that a process has not taken yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("ShdPnd:"))


@COUNTS
def test_a_server_ends_with_its_terminal_and_says_why(count: str, tmp_path: Path) -> None:
    with shell(tmp_path, f"{SERVE} --workers {count}") as one:
        one.close()

        until(lambda: not is_alive(one.server), "the server ends")

        assert "the terminal has ended: the server stops" in one.log.read_text()


def test_a_server_that_leads_the_terminal_itself_ends_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    pid, terminal = pty.fork()
    if pid == 0:
        heed_hangups()
        os.execvpe("bash", ["bash", "-c", f"exec {SERVE} > {log} 2>&1"], clean_env())
    until(lambda: "listening on" in log.read_text(), "the server listens")

    os.close(terminal)
    until(lambda: not is_alive(pid), "the server ends")

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert "the terminal has ended: the server stops" in log.read_text()


@COUNTS
def test_a_server_under_nohup_outlives_its_terminal_and_still_reloads(count: str, tmp_path: Path) -> None:
    with shell(tmp_path, f"nohup {SERVE} --workers {count}") as one:
        one.close()
        until(lambda: not int(pending(one.server), 16), "the signal is taken")
        wait_until_it_obeys(one, count)

        assert "the terminal has ended" not in one.log.read_text()


@COUNTS
def test_a_server_whose_shell_has_left_reloads_on_an_operators_signal(count: str, tmp_path: Path) -> None:
    with shell(tmp_path, f"{SERVE} --workers {count}") as one:
        one.write("disown -a")
        one.leave()
        wait_until_it_obeys(one, count)

        assert "the terminal has ended" not in one.log.read_text()


def test_a_signal_from_the_shell_of_the_terminal_reloads_while_the_terminal_is_there(tmp_path: Path) -> None:
    with shell(tmp_path, f"{SERVE} --workers 2") as one:
        one.write("kill -HUP %1")

        until(lambda: "all workers are being replaced" in one.log.read_text(), "the workers are replaced")

        assert is_alive(one.server)
