"""The load on a wrapped server, in small: each call has one answer, and none that changes something is made twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from processes import PATIENCE_S, ROOT, clean_env


def test_a_server_that_is_killed_under_load_loses_no_answer_and_makes_no_change_twice(tmp_path: Path) -> None:
    words = ("--calls", "2000", "--kill-every", "200", "--page", str(tmp_path / "page.md"))
    done = subprocess.run(
        [sys.executable, "-m", "load.wrap", *words],
        cwd=ROOT,
        env=clean_env(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 4,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "| the server was killed, times | 9 |" in done.stdout
