"""docs/deployment.md: its commands are run, each block in one shell, on ports that are free."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from processes import ROOT, SIGNET, clean_env, free_port

PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
PORTS = ("8080", "8081", "8082", "8083", "8088", "8090", "9464", "6380")
PATIENCE_S = 120


def sections() -> dict[str, list[str]]:
    """Return the commands of each section."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)[1:]
    found = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        found[title] = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return {title: lines for title, lines in found.items() if lines}


def prepared(folder: Path, ports: dict[str, str]) -> None:
    """Lay out what the commands find: the files of deploy/, with this installation and these ports."""
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    unit = folder / "deploy/systemd/signet.service"
    unit.write_text(unit.read_text().replace("/usr/local/bin/signet", SIGNET))
    page = folder / "deploy/nginx.conf"
    page.write_text(translated(page.read_text(), ports))


def translated(text: str, ports: dict[str, str]) -> str:
    """Return a text with other ports."""
    return re.sub("|".join(PORTS), lambda found: ports[found[0]], text)


@pytest.mark.parametrize("title", sections())
def test_the_commands_of_the_page_run(title: str, tmp_path: Path) -> None:
    ports = {port: str(free_port() + number) for number, port in enumerate(PORTS)}
    prepared(tmp_path, ports)
    script = "\n".join(["set -eum", *(translated(line, ports) for line in sections()[title])])
    path = f"{Path(SIGNET).parent}:{os.environ.get('PATH', '')}:/usr/sbin"
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=clean_env({"PATH": path}),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        status = process.wait(PATIENCE_S)
    finally:
        stop_session(process.pid)
        process.wait()

    assert status == 0, log.read_text("utf-8", "replace")[-3000:]


def stop_session(leader: int) -> None:
    """Kill what is left of a session, by number."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                if session == leader:
                    os.kill(int(entry.name), 9)
            except (OSError, IndexError, ValueError):
                continue


def test_a_revoked_token_is_refused_on_the_page() -> None:
    assert any("token revoke" in line for line in sections()["One machine"])
