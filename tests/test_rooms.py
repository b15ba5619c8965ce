"""The rules of the house: who may enter which room, and how large anything may grow."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import BIN, ROOT, piping, serving_command

SOURCE = ROOT / "src/signet"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 40
SLOW = {"jsonschema_rs", "uvicorn", "httptools", "uvloop", "rich", "http", "email", "pathlib", "dataclasses", "json",
        "tomllib", "difflib", "asyncio", "ssl", "logging", "signet.kernel.schema_budget", "signet.kernel.parts",
        "signet.kernel.places"}  # fmt: skip


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_is_short_and_says_what_it_is_for(module: Path) -> None:
    text = module.read_text()
    tree = ast.parse(text)

    assert len(text.splitlines()) <= MAX_MODULE_LINES
    assert (ast.get_docstring(tree) or "").split("\n")[0].endswith("."), "a module opens with one sentence"
    for function in functions(tree):
        assert (function.end_lineno or 0) - function.lineno < MAX_FUNCTION_LINES, function.name


def test_nobody_enters_a_room_that_is_not_theirs() -> None:
    done = subprocess.run([BIN / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_the_unexpected_is_caught_around_a_call_and_around_an_answer_only() -> None:
    broad = [
        f"{module.relative_to(SOURCE)}"
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception"
    ]

    # The converter of formulas raises whatever its parts do; what it cannot read is shown as it is written.
    converter = ["console/formulas.py"]
    assert broad == [*converter, "kernel/pipeline.py", "transports/web_app.py", "transports/web_app.py"]


def test_a_possessive_group_ends_with_a_branch_that_never_matches() -> None:
    """Before Python 3.11.5, a try of such a group that fails keeps what it has read; a last branch gives it back.

    `re.match("(?:ab?c)*+", "aca").end()` was 3 there, and is 2.
    """
    groups = re.compile(r"(.{0,5})(?<!\()\)(?:[*+?]|\{[0-9,]*\})\+")
    found = {path: groups.findall(path.read_text(encoding="utf-8")) for path in MODULES}

    assert sum(map(len, found.values())) > 10
    assert {path.name: ends for path, ends in found.items() if set(ends) - {"|(?!)"}} == {}


def test_nothing_is_left_unfinished() -> None:
    words = ("TODO", "FIXME", "XXX", "NotImplementedError")

    found = [(module.name, word) for module in MODULES for word in words if word in module.read_text()]

    assert found == []


def test_nothing_slow_is_loaded_on_the_way_to_the_list() -> None:
    """What a start may not cost: no HTTP, no server framework, no schema compiler, nothing for people."""
    probe = """
import sys, signet.commands.cli, signet.transports.stdio
from signet.app import build_server
from signet.settings.reading import read_settings
from signet.kernel.server import ClientChannel
asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
print(build_server(read_settings({}, {})).receive(asked, ClientChannel()).code)
print(*sys.modules)
"""

    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run([BIN / "python", "-c", probe], env=unmeasured, capture_output=True, text=True, check=True)
    code, loaded = done.stdout.split("\n", 1)

    assert code == "0"
    assert SLOW & set(loaded.split()) == set()


TELLING = (sys.executable, "-X", "importtime", "-m", "signet")
"""The command itself, by a Python that prints each module as it is loaded."""


def of_the_console(stderr: str) -> set[str]:
    """Return what a process has loaded of the console, of the figures, and of the packages that it alone needs."""
    loaded = {line.rpartition("|")[2].strip() for line in stderr.splitlines() if line.startswith("import time:")}
    assert "signet.kernel.pipeline" in loaded
    return {
        name
        for name in loaded
        if name.startswith(("signet.console", "signet.system.figures", "markdown_it", "latex2mathml"))
    }


def test_a_server_on_stdio_loads_nothing_of_the_console() -> None:
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    params = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}
    with piping(*TELLING, "stdio", "--no-journal") as pipe:
        tools = pipe.ask(listed)["result"]["tools"]
        called = pipe.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})["result"]
        _, _, stderr = pipe.finish()

    assert (bool(tools), called["isError"]) == (True, False)
    assert of_the_console(stderr.decode()) == set()


@pytest.mark.parametrize("flags", [("--no-console",), ()])
def test_a_server_without_a_console_loads_nothing_of_it(flags: tuple[str, ...]) -> None:
    command = (*TELLING, "serve", "--port", "0", "--toolsets", "plantuml", "--no-journal", *flags)
    with serving_command(*command) as server:
        called = server.post("/api/tools/encodePlantUML", {"plantumlCode": "A -> B"})
        server.ask("GET", "/", headers={"accept": "text/html"})
        loaded = of_the_console(server.stderr())

    assert called.status == 200
    assert loaded == set() if flags else "signet.console.console" in loaded
