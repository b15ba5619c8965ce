"""`signet contract diff` as it is typed: folders, wheels, running servers, and what cannot be read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here, signet_here
from processes import BIN, ROOT, SIGNET, serving

SCHEMAS = ROOT / "src/signet/schemas"
BOX = SCHEMAS
BUNDLES = len(list((SCHEMAS / "tools").glob("*.json")))


def edited(folder: Path, slug: str, *path: str, to: Any) -> None:
    """Change one place of a bundle; None deletes it."""
    file = folder / f"{slug}.json"
    bundle = json.loads(file.read_text())
    place = bundle
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    file.write_text(json.dumps(bundle))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copytree(SCHEMAS / "tools", tmp_path / "old/tools")
    return tmp_path / "old"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A folder of bundles, without a folder `tools` around them."""
    shutil.copytree(SCHEMAS / "tools", tmp_path / "new")
    return tmp_path / "new"


def diff(*args: Any, status: int) -> str:
    done = run_here("contract", "diff", *map(str, args))
    assert done.returncode == status, done
    return (done.stderr if status == 2 else done.stdout).decode()


def findings(*args: Any, status: int) -> dict[tuple[str, str], dict[str, Any]]:
    report = json.loads(diff(*args, "--json", status=status))
    assert report["breaking"] is bool(status)
    return {(finding["tool"], finding["side"]): finding for finding in report["findings"]}


def test_a_folder_is_compatible_with_a_copy_of_it(old: Path, new: Path) -> None:
    table = diff(old, new, status=0)

    assert table.splitlines()[-1].endswith(f"breaking: 0, compatible: {BUNDLES}, added: 0")


def test_a_change_that_breaks_is_told_with_an_example(old: Path, new: Path) -> None:
    edited(new, "oj.get_problem", "input", "properties", "id", "type", to="integer")

    table = diff(old, new, status=1)
    changes = findings(old, new, status=1)

    assert '"a" is not of type "integer"' in table
    assert '{"id":"a","source":"a"}' in table
    assert table.splitlines()[-1] == f"tools: {BUNDLES}, breaking: 1, compatible: {BUNDLES - 1}, added: 0"
    assert changes["oj.get_problem", "input"] == {
        "tool": "oj.get_problem",
        "side": "input",
        "verdict": "breaking",
        "why": 'id: "a" is not of type "integer"',
        "example": {"source": "a", "id": "a"},
    }
    assert changes["oj.get_problem", "output"]["verdict"] == "compatible"


def test_only_what_breaks_is_shown_where_that_is_asked_for(old: Path, new: Path) -> None:
    same = diff(old, new, "--only-breaking", status=0)
    edited(new, "oj.get_problem", "input", "properties", "id", "type", to="integer")
    (new / "plantuml.encode.json").unlink()

    table = diff(old, new, "--only-breaking", status=1)
    changes = findings(old, new, "--only-breaking", status=1)

    counts = f"tools: {BUNDLES}, breaking: 2, compatible: {BUNDLES - 2}, added: 0"
    assert same == f"tools: {BUNDLES}, breaking: 0, compatible: {BUNDLES}, added: 0\n"
    assert set(changes) == {("oj.get_problem", "input"), ("plantuml.encode", "both")}
    assert "compatible" not in table.removesuffix(f"{counts}\n")
    assert table.endswith(f"{counts}\n")


def test_each_side_has_its_own_direction(old: Path, new: Path) -> None:
    wider = ["string", "integer"]
    edited(new, "oj.get_problem", "input", "properties", "id", "type", to=wider)
    edited(new, "boj.get_data_code", "output", "properties", "raw", "type", to=wider)

    there, back = findings(old, new, status=1), findings(new, old, status=1)

    assert (there["oj.get_problem", "input"]["verdict"], back["oj.get_problem", "input"]["verdict"]) == (
        "compatible",
        "breaking",
    )
    assert there["boj.get_data_code", "output"]["verdict"] == "breaking"
    assert there["boj.get_data_code", "output"]["example"]["raw"] == 0
    assert back["boj.get_data_code", "output"]["verdict"] == "compatible"


def test_a_removed_tool_breaks_and_an_added_one_does_not(old: Path, new: Path) -> None:
    (new / "plantuml.encode.json").unlink()

    removed, added = findings(old, new, status=1), findings(new, old, status=0)

    assert removed["plantuml.encode", "both"]["verdict"] == "removed"
    assert added["plantuml.encode", "both"]["verdict"] == "added"


def test_a_wheel_is_read(new: Path, tmp_path: Path) -> None:
    build = [BIN / "python", "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    edited(new, "plantuml.encode", "output", "additionalProperties", to=None)

    same, other = findings(SCHEMAS, wheel, status=0), findings(wheel, new, status=1)

    assert {finding["why"] for finding in same.values()} == {"unchanged"}
    assert "unexpected" in other["plantuml.encode", "output"]["example"]


def test_a_running_server_is_read_over_http() -> None:
    """Bundles are converted to a server's list: by MCP name, and without outputs of tools that answer in text."""
    with serving("--sandbox") as server:
        changes = findings(BOX, f"{server.url}/mcp", status=0)

    assert {name for name, _ in changes} >= {"encodePlantUML", "get_problem", "boj_get_metadata"}
    assert {finding["why"] for finding in changes.values()} - {"it is new"} == {"unchanged"}


def test_a_server_with_a_token_is_read_with_it() -> None:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": "sesame"}) as server:
        refused = diff(f"{server.url}/mcp", BOX, status=2)
        changes = findings(f"{server.url}/mcp", BOX, "--token", "sesame", status=0)

    assert "401" in refused
    assert changes["encodePlantUML", "input"]["verdict"] == "compatible"


def test_a_server_is_read_over_its_pipes(tmp_path: Path) -> None:
    fewer = f"stdio:{SIGNET} stdio --toolsets plantuml --log-dir {tmp_path}"
    more = f"stdio:{SIGNET} stdio --log-dir {tmp_path}"

    added, removed = findings(fewer, more, status=0), findings(more, fewer, status=1)

    assert added["encodePlantUML", "output"]["why"] == "unchanged"
    assert added["boj_get_metadata", "both"]["verdict"] == "added"
    assert removed["boj_get_metadata", "both"]["verdict"] == "removed"


def test_what_a_server_calls_itself_cannot_draw_on_the_screen(tmp_path: Path) -> None:
    bundle = {"tool": "[red]x\u001b[2J[/red]", "input": {"type": "object"}}
    (tmp_path / "x.json").write_text(json.dumps(bundle))

    table = diff(tmp_path, tmp_path, status=0)

    assert "[red]x�[2J[/red]" in table


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere", "is no contract set"),
        ("empty", "holds no tools"),
        ("odd", "is no bundle of a tool's contracts"),
        ("twice", "has the tool a twice"),
        ("broken.whl", "is no wheel"),
        ("bare.whl", "holds no tools"),
        ("stdio:", "no command is written"),
        ("stdio:no-such-command", "gives no list of tools"),
        (
            f"stdio:{sys.executable} -c 'import sys; sys.exit(\"out of order\")'",
            "it ended with exit code 1; its last line on standard error: out of order",
        ),
        (f"stdio:{sys.executable} -c 'print(input() and 1)'", "it ended with exit code 0"),
        ("http://127.0.0.1:9/mcp", "gives no list of tools"),
        ("http://", "gives no list of tools"),
        ("http://[/mcp", "gives no list of tools"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path: Path, source: str, sentence: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/package.json").write_text('{"name": "x"}')
    (tmp_path / "twice").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"twice/{name}.json").write_text('{"tool": "a", "input": {"type": "object"}}')
    (tmp_path / "broken.whl").write_bytes(b"PK")
    with zipfile.ZipFile(tmp_path / "bare.whl", "w") as wheel:
        wheel.writestr("other/x.json", "{}")

    done = signet_here(tmp_path, "contract", "diff", str(BOX), source)

    assert (done.returncode, done.stdout) == (2, b"")
    assert sentence in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [("diff",), ("diff", "one"), ("merge", "one", "two")])
def test_a_command_that_is_not_whole_is_told_in_one_sentence(args: tuple[str, ...]) -> None:
    done = run_here("contract", *args)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_the_comparison_is_not_loaded_on_the_way_to_a_server() -> None:
    probe = """
import sys
from signet.commands.cli import parser
parser(["stdio"])
print([name for name in sys.modules if "commands.contract" in name or "compatibility" in name or "signet.mcp" in name])
"""

    done = subprocess.run([BIN / "python", "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
