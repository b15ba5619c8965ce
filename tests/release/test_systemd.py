"""The installation that docs/deployment.md describes for systemd: its commands, below a folder of their own.

`make test-release` runs this: it installs packages from the index.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from processes import ROOT

pytestmark = pytest.mark.timeout(900)

PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
BLOCK = re.search(r"^```sh\n(python3 -m venv /opt/signet\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_command_of_the_unit_is_there_after_the_commands_of_the_page(tmp_path: Path) -> None:
    assert BLOCK is not None
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    places = {"/opt/signet": f"{tmp_path}/opt/signet", "/usr/local/bin": f"{tmp_path}/usr/local/bin"}
    script = re.sub("|".join(places), lambda found: places[found[0]], BLOCK[1])
    path = f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    for name in ("signet.service", "signet.socket"):
        text = (ROOT / "deploy/systemd" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/usr/local/bin", places["/usr/local/bin"]))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "./signet.service", "./signet.socket"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    version = subprocess.run(
        [tmp_path / "usr/local/bin/signet", "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (verified.returncode, verified.stderr) == (0, "")
    assert version.stdout.startswith("signet ")
