"""The page of fair shares has a row for everything scarce, with the numbers of the code and tests that exist."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from processes import ROOT

SOURCE = ROOT / "src/signet"
PAGE = (ROOT / "docs/shared-fairly.md").read_text(encoding="utf-8")
COLUMNS = ["what", "limit", "share", "who is refused", "setting", "test"]
LINK = re.compile(r'\[([^\]]+)\]\(\.\./([^ )]+) "([^"]+)"\)')
NUMBER = re.compile(r"([\d,]+)(?: (s|KiB|MiB))?")
UNITS = {None: 1, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20}
WORDS = ("connections", "handshakes", "threads", "processes", "queue", "idempotency", "Redis", "subscriptions",
         "unread answers", "lists")  # fmt: skip

NAMED = {"Shares", "FairTurns", "HeldValues", "Places"}
"""What is made with the name of a thing."""
NAMED_BY_OTHERS = {
    "system/places.py": "the name is given to it",
    "system/threads.py": "the names of threads are given to it",
    "operations/store/held.py": "the name is given to it",
    "engines/jar.py": "places of an engine, which have their name in engines/places.py",
    "engines/javascript.py": "places of an engine, which have their name in engines/places.py",
    "operations/limits/places.py": "places of a tool, which have their names in the same module",
}
UNNAMED = {"Semaphore", "BoundedSemaphore", "ThreadPoolExecutor", "ProcessPoolExecutor", "FairExecutor", "Slots",
           "SessionTable", "Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "Line", "Budget", "Kept", "Threads",
           "WorkThreads", "Expiring", "Thread", "Timer", "Popen", "create_subprocess_exec",
           "create_subprocess_shell"}  # fmt: skip
"""What is made without one: its module is in a row."""
SIZED = {"Semaphore", "BoundedSemaphore", "ThreadPoolExecutor", "ProcessPoolExecutor"}
"""What is made with its size."""
ALONE = {
    "boj.py": "a command runs its one coroutine in it",
    "authoring/loop_watch.py": "one thread of a development server",
    "console/processes.py": "one thread of a process",
    "engines/javascript_child.py": "one thread of a child",
    "engines/pool.py": "one timer of an engine that is idle",
    "mcp/plain_http.py": "two threads for the one server that a command asks",
    "openapi/fetching.py": "the start reads one document in it",
    "operations/access/named_tokens.py": "one thread of a process",
    "operations/store/memory.py": "its buckets and answers are in rows; each upstream caches for itself",
    "operations/telemetry/otlp_metrics.py": "one thread of a process",
    "operations/telemetry/tracing.py": "one thread at the end of a process",
    "system/loop_thread.py": "one thread of a command",
    "system/processes.py": "processes of places, which have names, and of commands",
    "transports/http_server.py": "makes the places of connections",
    "transports/hangup.py": "one thread of a process",
    "transports/stdio.py": "one timer of a process",
    "transports/workers.py": "makes the threads of offloaded work",
    "mcp/server_process.py": "the servers of a command",
}
"""Modules that share nothing by themselves, and why."""
ROOMS_FOR_ONE = ("commands/", "sandbox/", "testing/")
"""Commands serve one person; sandboxes and tests, a developer."""

KINDS = ("WAITING|QUEUED|IN_FLIGHT|THREADS|LOST|SESSIONS|CALLS|TASKS|ASKED|HELD|STREAMS|NOTES|FOLLOWERS|BUCKETS|"
         "REFUSED|UNREAD|UNSENT|BACKLOG|PROCESSES|QUESTIONS|PLACES|NAMES|URIS|ACCEPTED|MISSING|AGREEMENTS")  # fmt: skip
BYTES = "[A-Z_]*(?:KEPT|TOTAL|UNREAD|WAITING|CACHED|ANSWERS?|COMPILED)_BYTES"
LIMITS = re.compile(rf"MAX_(?:[A-Z]+_)?(?:{KINDS})(?:_BYTES)?|[A-Z_]+_AT_ONCE|{BYTES}")
"""How the limits of what is shared are named."""
OTHER_LIMITS = {
    "authoring/schema.py MAX_PLACES": "of an error that is told",
    "console/feed.py MAX_PROCESSES": "workers of one server",
    "console/processes.py MAX_PROCESSES": "workers of one server",
    "kernel/arguments.py MAX_NAMES": "of an error that is told",
    "kernel/places.py MAX_PLACES": "of an error that is told",
    "operations/access/tokens_file.py LINES_AT_ONCE": "a pause for the event loop",
    "operations/audit/verification.py MAX_PROCESSES": "of a file that a command reads",
    "operations/limits/policy.py MAX_PLACES": "what a setting may say",
    "proofs/asking.py MAX_ANSWER_BYTES": "of one answer of a child",
    "relay/opening.py MAX_NOTES": "lines of the log",
    "recording/message_index.py MAX_CALLS": "of a recording that is played",
    "transports/heads.py MAX_KEPT_BYTES": "of one head",
    "transports/http_server.py FAILED_AT_ONCE": "after which memory is given back",
    "transports/sessions.py SWEPT_AT_ONCE": "a pause for the event loop",
    "transports/writer.py MAX_UNSENT_BYTES": "of one turn of the event loop; then it is unread, and counted",
}
"""Numbers that are named like these and limit nothing that callers share."""


class Row(NamedTuple):
    """One line of a table."""

    what: str
    limits: str
    """The limit, and how it is shared."""
    refused: str
    test: str

    @property
    def numbers(self) -> list[tuple[str, str, str]]:
        """The numbers as the page has them, each with its module and its name there."""
        found = LINK.findall(self.limits + self.refused)
        return [(text, path.removeprefix("src/signet/"), name) for text, path, name in found]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


TABLES = [[cells(line) for line in table.splitlines()] for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)]
ROWS = [Row(line[0].replace("**", ""), line[1] + line[2], line[3], line[5]) for table in TABLES for line in table[2:]]
MODULES = {module for row in ROWS for _, module, _ in row.numbers}


@cache
def source() -> dict[str, ast.Module]:
    """Return all modules, by their paths."""
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def makings(names: set[str]) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield where something is made that has one of these names: the module, the name, the call."""
    for module, tree in source().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                made = node.func.value if isinstance(node.func, ast.Subscript) else node.func
                name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
                if name in names:
                    yield module, name, node


def thing_of(module: str, call: ast.Call) -> str | None:
    """Return a pattern of the name with which something is made; None if the name is given from elsewhere."""
    match call.args[:1]:
        case [ast.Constant(str(name))]:
            return re.escape(name)
        case [ast.JoinedStr(parts)]:
            return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in parts)
        case [ast.Name(name)] if name.isupper():
            known = importlib.import_module(f"signet.{module.removesuffix('.py').replace('/', '.')}")
            return re.escape(getattr(known, name))
    return None


def value_of(module: str, name: str) -> float:
    """Return the value of a constant, or of a member of a settings class."""
    path = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    value = importlib.import_module(f"signet.{path}")
    for part in name.split("."):
        found = getattr(value, part)
        value = found() if isinstance(found, type) else found
    assert isinstance(value, int | float)
    return value


def test_the_tables_have_the_same_columns_and_each_row_says_all_but_its_setting() -> None:
    assert len(ROWS) > 50
    assert [table[0] for table in TABLES] == [COLUMNS] * len(TABLES)
    for table in TABLES:
        for line in table[2:]:
            assert len(line) == len(COLUMNS), line[0]
            assert all(cell for cell, column in zip(line, COLUMNS, strict=True) if column != "setting"), line[0]


@pytest.mark.parametrize("word", WORDS)
def test_what_callers_fight_for_is_on_the_page(word: str) -> None:
    assert [row.what for row in ROWS if word.casefold() in row.what.casefold()]


def test_whatever_is_shared_by_name_has_a_row_of_that_name() -> None:
    missing = []
    for module, made, call in makings(NAMED):
        thing = thing_of(module, call)
        if thing is None:
            missing += [] if module in NAMED_BY_OTHERS else [f"{module}: {made} without a name"]
        elif module not in NAMED_BY_OTHERS or ".+" not in thing:
            rows = [row for row in ROWS if re.fullmatch(thing, row.what, re.IGNORECASE)]
            here = [row for row in rows if ".+" not in thing or module in {path for _, path, _ in row.numbers}]
            missing += [] if here else [f"{module}: {made} {thing}"]

    assert missing == [], "name it in a table of docs/shared-fairly.md"


def test_whatever_is_bounded_without_a_name_is_in_a_module_of_a_row() -> None:
    made = {module for module, _, _ in makings(UNNAMED) if not module.startswith(ROOMS_FOR_ONE)}

    assert sorted(made - MODULES - ALONE.keys()) == [], "add a row to docs/shared-fairly.md"
    assert sorted(ALONE.keys() - made) == []


def test_the_size_of_a_semaphore_or_a_pool_is_in_a_row() -> None:
    known = {f"{module} {name}" for row in ROWS for _, module, name in row.numbers}
    sized = {
        f"{module} {ast.unparse(call.args[0])}"
        for module, _, call in makings(SIZED)
        if module not in ALONE and not module.startswith(ROOMS_FOR_ONE)
    }

    assert sorted(sized - known) == [], "add a row to docs/shared-fairly.md"


def test_limits_that_are_named_like_those_of_shared_things_are_in_a_row() -> None:
    known = {f"{module} {name}" for row in ROWS for _, module, name in row.numbers}
    rooms = (
        "authoring/",
        "console/",
        "engines/",
        "kernel/",
        "journal/",
        "operations/",
        "proofs/",
        "recording/",
        "relay/",
        "transports/",
    )
    found = {
        f"{module} {node.target.id}"
        for module, tree in source().items()
        if module.startswith(rooms)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and LIMITS.fullmatch(node.target.id)
    }

    assert len(found) > 40
    assert sorted(found - known - OTHER_LIMITS.keys()) == [], "add a row to docs/shared-fairly.md"
    assert sorted(OTHER_LIMITS.keys() - found) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_row_has_the_numbers_of_the_code_and_no_others(row: Row) -> None:
    for text, module, name in row.numbers:
        number = NUMBER.fullmatch(text)
        assert number is not None, text
        assert int(number[1].replace(",", "")) * UNITS[number[2]] == value_of(module, name), f"{module} {name}"
    assert re.findall(r"\d+", LINK.sub("", row.limits)) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_the_tests_of_a_row_exist(row: Row) -> None:
    tests = LINK.findall(row.test)

    assert tests
    for _, path, name in tests:
        tree = ast.parse(Path(ROOT, path).read_text(encoding="utf-8"))
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert name in defined, f"{path} has no {name}"
