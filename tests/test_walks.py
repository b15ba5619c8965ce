"""Three newcomers' walks, as the README's "In three minutes" has them: each from `pip install` to a result."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fresh_environments import build_wheel, environ_of, make_environment
from processes import PATIENCE_S, ROOT, free_port

README = (ROOT / "README.md").read_text(encoding="utf-8")
PART = README.partition("## In three minutes\n")[2].partition("\n## ")[0]
WALKS = {
    heading.split(":")[0]: script for heading, script in re.findall(r"### (.*?)\n\n```sh\n(.*?)```", PART, re.DOTALL)
}
OPTIONAL = ("matplotlib", "plotext", "pyarrow", "mini-racer", "resvg-py")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment that has pip and no Signet; in place of an index there is a folder with the built wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    wheel = build_wheel(folder)
    return environ_of(make_environment(folder / "env", OPTIONAL), wheel.parent)


def walk(name: str, env: dict[str, str], cwd: Path) -> list[str]:
    """Run a walk in a shell that stops at the first command that fails; return its output, command by command."""
    python = [f"{env['VIRTUAL_ENV']}/bin/python", "-m", "pip", "uninstall", "-q", "-y", "signet-mcp"]
    subprocess.run(python, env=env, capture_output=True, check=True)
    lines = WALKS[name].replace("8080", str(free_port())).splitlines()
    script = "set -eu\n" + "\n".join(f"{line}\necho; echo '--- next'" if line[-1] != "&" else line for line in lines)
    bash = shutil.which("bash") or "bash"
    command = [bash, "-c", script]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=4 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode().split("--- next\n")


def test_there_are_three_walks_of_less_than_ten_commands_that_begin_with_an_installation() -> None:
    commands = {name: script.strip().splitlines() for name, script in WALKS.items()}

    assert list(commands) == ["A programmer", "An economist", "A diagram maker"]
    assert all(len(lines) < 10 and lines[0].startswith("pip install ") for lines in commands.values())


def test_a_programmer_comes_from_the_installation_to_a_right_solution_and_a_configured_client(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    _, tools, shown, found, made, _, tested, *_ = walk("A programmer", fresh, tmp_path)

    assert {"get_problem", "get_samples"} <= {line.split()[0] for line in tools.splitlines() if line}
    assert shown.startswith("# Two Sum\n\n- Source: leetcode | ID: 1 |")
    assert "| 1 | atcoder | abc901_c |" in json.loads(found)["markdown"]
    assert made.splitlines()[0] == "codeforces-1900A: statement, 1 sample and main.py"
    assert tested.splitlines()[1] == "1 of 1 right"
    entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["signet"]
    done = subprocess.run(
        [shutil.which(entry["command"], path=fresh["PATH"]) or "", *entry["args"]],
        input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        env=fresh, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert len(json.loads(done.stdout)["result"]["tools"]) == 17


def test_an_economist_comes_from_the_installation_to_a_table_and_a_picture(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    _, found, described, _, tail, drawn, *_ = walk("An economist", fresh, tmp_path)

    assert "FXERD01" in found
    assert "Yen per U.S. Dollar" in described
    table = (tmp_path / "rates.csv").read_text().splitlines()
    assert table[0] == "series_code,name,unit,frequency,survey_date,date,value"
    assert tail.split() == "\n".join(table[-2:]).split()
    assert all(line.rpartition(",")[2] for line in table[-2:]), "the lines that are shown have values"
    assert {line.partition(",")[0] for line in table[1:]} == {"FXERD01", "FXERD04"}
    assert "Unit: Yen per U.S. Dollar" in drawn
    assert (tmp_path / "rates.svg").read_text().startswith("<?xml")


def test_a_diagram_maker_comes_from_the_installation_to_pictures_and_a_link(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    _, _, _, checked, linked, *_ = walk("A diagram maker", fresh, tmp_path)

    assert (tmp_path / "hello.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(checked) == {"ok": True, "errors": [], "diagram": "sequence"}
    assert json.loads(linked)["url"].startswith("https://www.plantuml.com/plantuml/svg/")
    assert "<svg" in (tmp_path / "ab.svg").read_text()
