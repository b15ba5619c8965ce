"""The measuring script: figures of a small made-up tree, counted by hand, and of this one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processes import ROOT

SCRIPT = ROOT / "scripts/measure_house.py"
FILES = {
    "pyproject.toml": '[tool.made-up]\nmodules = ["signet.toolsets.boj"]  # plantuml\n',
    "src/signet/__init__.py": '"""A made-up package."""\n',
    "src/signet/py.typed": "",
    "src/signet/settings.py": '''\
"""The settings."""


class Settings:
    """All settings."""

    @classmethod
    def read(cls, environ, flags):
        return cls(**flags)
''',
    "src/signet/parts.py": '''\
"""The parts."""

import signet.settings  # noqa: F401

NAME = "# noqa is text here"
"""Prose about plantuml does not count."""


class Part:
    """A part of boj.

    And a blank line.
    """


def assemble():
    # Why it is so.
    return Part()
''',
    "src/signet/app.py": '''\
# ruff: noqa: F401
"""The composition."""

from signet.settings import Settings

TOOLS = ("encodePlantUML", "projection")


def build_server(settings, name=None):
    from .parts import assemble  # type: ignore[import]

    class Late:
        pass

    def nested():
        return assemble()

    return nested(), Settings.read({}, {})
''',
    "src/signet/shelf/__init__.py": "from signet.shelf import boj\n",
    "src/signet/shelf/boj.py": "from signet.shelf import rows\n",
    "src/signet/shelf/rows.py": "boj_base_url = 1\n",
    "src/signet/toolsets/plantuml/tools.py": "import signet.shelf.lonely\n",
    "src/signet/shelf/lonely.py": "\n",
    "src/signet/toolsets/boj/tools.py": "class Part:\n    boj = 1\n",
    "src/signet/commands/boj_mcp.py": "BOJ = 1\n",
    "src/signet/__pycache__/old.pyc": "",
    "src/signet/bare/__pycache__/old.pyc": "",
    "tests/test_parts.py": 'assert "# noqa"  # noqa: PLR0133, S101\nassert 1  # type: ignore\n',
    "bench/load.py": "x = 1  # NOT noqa\n",
}
TABLE = """\
| figure | {name} |
|---|---|
| modules | 11 |
| lines | 54 |
| lines: code | 25 |
| lines: docstring | 9 |
| lines: blank | 18 |
| lines: comment | 2 |
| lines per module: median / p90 / max | 1 / 18 / 18 |
| functions | 4 |
| lines per function: median / p90 / max | 2.5 / 10 / 10 |
| entries at the top level of the package | 6 |
| rooms | 6 |
| edges between rooms | 4 |
| rooms imported by the command line | 0 |
| import cycles, lazy imports counted | 1 |
| modules with one importer, in its folder, that would fit into it | 2 |
| public class names defined more than once | 1 |
| `noqa` in src | 2 |
| `noqa` in tests, bench, scripts | 1 |
| `type: ignore` in src | 1 |
| `type: ignore` in tests, bench, scripts | 1 |
| mechanisms: child processes | 0 |
| mechanisms: JSON-RPC heads | 0 |
| mechanisms: snapshot takers | 0 |
| mechanisms: recordings | 0 |
| mechanisms: append-only writers | 0 |
| mechanisms: patterns of secrets | 0 |
| mechanisms: locks between processes | 0 |
| mechanisms: systems of figures | 0 |
| mechanisms: settings rooms | 1 |
| shared files naming plantuml (pure) | 1 |
| shared files naming boj (with an upstream) | 3 |
| build_server | 4 / 4 / 3 / 3 |
| start to tools/list: imports | - |
| start to tools/list: calls | - |
| walk through stdio | - |
| walk through /mcp | - |
| walk through /api/tools/encodePlantUML | - |
| walk through /mcp/tool/plantuml.encode | - |
| walk of an own tool | - |
| walk of a wrapped call | - |
"""
LISTS = """
## {name}: entries at the top level of the package

- app.py
- commands
- parts.py
- settings.py
- shelf
- toolsets

## {name}: rooms

- app
- commands
- parts
- settings
- shelf
- toolsets

## {name}: edges between rooms

- app -> parts
- app -> settings
- parts -> settings
- toolsets -> shelf

## {name}: import cycles, lazy imports counted

- signet.shelf <-> signet.shelf.boj

## {name}: modules with one importer, in its folder, that would fit into it

- signet.parts (18) into signet.app (18)
- signet.shelf.rows (1) into signet.shelf.boj (1)

## {name}: public class names defined more than once

- Part: signet.parts, signet.toolsets.boj.tools

## {name}: `noqa` in src

- src/signet/app.py:1
- src/signet/parts.py:3

## {name}: `noqa` in tests, bench, scripts

- tests/test_parts.py:1

## {name}: `type: ignore` in src

- src/signet/app.py:10

## {name}: `type: ignore` in tests, bench, scripts

- tests/test_parts.py:2

## {name}: mechanisms: settings rooms

- settings

## {name}: shared files naming plantuml (pure)

- src/signet/app.py: encodePlantUML

## {name}: shared files naming boj (with an upstream)

- src/signet/shelf/__init__.py: boj
- src/signet/shelf/rows.py: boj_base_url
- pyproject.toml: signet.toolsets.boj
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small made-up checkout."""
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Run a command; git is not told of another repository, as it is inside of a hook."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run([*map(str, command)], env=env, capture_output=True, text=True, check=False)


def measure(*arguments: object, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, script, *arguments)


def test_a_small_tree_has_the_figures_that_were_counted_by_hand_and_tells_why_a_walk_has_none(tree: Path) -> None:
    done = measure(tree)

    assert done.stdout == TABLE.format(name=tree)
    assert done.returncode == 0
    reason = "ModuleNotFoundError: No module named 'signet.commands.cli'"
    assert sorted(done.stderr.splitlines()) == [
        f"{tree}: {process}: {reason}" for process in ("http", "own", "start", "wrapped")
    ]


def test_what_was_counted_is_listed_when_asked_for(tree: Path) -> None:
    done = measure("--verbose", tree)

    assert done.stdout == (TABLE + LISTS).format(name=tree)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    done = measure(tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{tmp_path} is no tree of Signet: it has no src/signet\n"


def test_a_revision_stands_beside_a_checkout(tree: Path) -> None:
    script = tree / "scripts/measure_house.py"
    script.parent.mkdir()
    shutil.copy(SCRIPT, script)
    shutil.copytree(SCRIPT.parent / "house", script.parent / "house")
    author = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "Made up")):
        run("git", "-C", tree, *command).check_returncode()
    (tree / "src/signet/new.py").write_text("class Settings: ...\n")

    done = measure("--rev", "HEAD", tree, script=script)

    rows = done.stdout.splitlines()
    assert rows[0] == f"| figure | HEAD | {tree} |"
    assert "| modules | 11 | 12 |" in rows
    assert "| public class names defined more than once | 1 | 2 |" in rows
    assert "| build_server | 4 / 4 / 3 / 3 | 4 / 4 / 3 / 3 |" in rows


def test_every_figure_of_this_tree_has_a_value() -> None:
    done = measure()

    head, _, *rows = [row.strip("| ").split(" | ") for row in done.stdout.splitlines()]
    assert done.stderr == ""
    assert head == ["figure", "this tree"]
    assert [label for label, _ in rows] == [row.strip("| ").split(" | ")[0] for row in TABLE.splitlines()[2:]]
    assert [row for row in rows if not re.fullmatch(r"[\d.]+( / [\d.]+)*", row[1])] == []
