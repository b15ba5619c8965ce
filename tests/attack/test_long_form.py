"""The long form of the attacks, `make attack`, for some seconds: its parts run, and it says what it found."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

from attack.observation import Observed, until
from processes import PATIENCE_S, ROOT, clean_env

COMMAND = (sys.executable, str(ROOT / "scripts/attack.py"))
PARTS = ["heads", "bodies", "busy", "processes", "threads", "handshakes", "unread", "schemas", "mixed"]
LINE = re.compile(r"^ +\d+ s +(\d+) requests +(\d+) errors of bystanders +[\d.]+ MiB +\d+ descriptors$", re.MULTILINE)


def test_each_part_for_some_seconds_passes_and_prints_what_it_counts() -> None:
    done = subprocess.run(
        [*COMMAND, "--minutes", "0.02", "--every", "0.5"],
        capture_output=True,
        encoding="utf-8",
        env=clean_env(),
        timeout=8 * PATIENCE_S,
        check=False,
    )

    told = LINE.findall(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^(\w+): ", done.stdout, re.MULTILINE) == PARTS
    assert done.stdout.count("\n  passed\n") == len(PARTS)
    assert len(told) >= len(PARTS)
    assert {errors for _, errors in told} == {"0"}


def test_a_server_that_dies_is_told_by_the_exit_status() -> None:
    words = [*COMMAND, "mixed", "--minutes", "1", "--every", "0.5"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8", env=clean_env()) as process:
        assert process.stdout is not None
        try:
            next(line for line in process.stdout if LINE.match(line))
            [server] = Observed(process.pid).children()
            os.kill(server, signal.SIGKILL)
            rest = process.stdout.read()
            status = process.wait(4 * PATIENCE_S)
        finally:
            process.kill()

    assert status == 1
    assert "FAILED: the server died" in rest
    until(lambda: not Observed(server).alive(), "the server has ended")
