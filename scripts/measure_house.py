"""Measure source trees of Signet and print the figures as a Markdown table, one column per tree."""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MAX_MODULE_LINES = 500
TIMEOUT_S = 60
PACKAGE_FILES = {"__init__.py", "__main__.py", "py.typed"}
TOOLSETS = {"plantuml": "pure", "boj": "with an upstream"}
OWN_FILES = r"src/signet/(((toolsets|sandbox|commands)/{0}|bank)/|(.+/)?{0}_)"
"""Where a toolset has its own files; older revisions keep the commands of `boj` in `bank`."""
COMPOSITION = "build_server"
DIAGRAM = {"plantumlCode": "A"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "encodePlantUML", "arguments": DIAGRAM}}
INVOKE = {**CALL, "method": "mcp.tool.invoke", "params": {"tool": "mcp.tool:plantuml.encode", "input": DIAGRAM}}
DOORS = {"stdio": CALL, "/mcp": CALL, "/api/tools/encodePlantUML": DIAGRAM, "/mcp/tool/plantuml.encode": INVOKE}

Figure = str | int | list[str]
"""The value of a row; a list counts by its length and is printed with --verbose."""


class Module(NamedTuple):
    """One source file of the package."""

    path: Path
    name: str
    text: str
    tree: ast.Module
    size: int


def read_modules(package: Path) -> Iterator[Module]:
    """Read every module of the package, in the order of their paths."""
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        yield Module(path, name, text, ast.parse(text), text.count("\n"))


def comments_in(text: str) -> list[tokenize.TokenInfo]:
    """Return the comments of a source text; a `#` inside a string is none."""
    return [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]


@cache
def nodes_in(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a module; they are gone through many times."""
    return list(ast.walk(tree))


def docstrings_in(tree: ast.Module) -> set[ast.AST]:
    """Return the docstrings of a module, its classes, functions and constants."""
    values = (node.value for node in nodes_in(tree) if isinstance(node, ast.Expr))
    return {value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def kinds_of_lines(module: Module) -> Counter[str]:
    """Count the lines of a module by kind; a blank line of a docstring is blank."""
    kinds = dict.fromkeys(range(1, module.size + 1), "code")
    kinds |= {token.start[0]: "comment" for token in comments_in(module.text) if token.line.lstrip().startswith("#")}
    for node in docstrings_in(module.tree):
        kinds |= dict.fromkeys(range(node.lineno, node.end_lineno + 1), "docstring")
    kinds |= {number: "blank" for number, line in enumerate(module.text.split("\n")[:-1], 1) if not line.strip()}
    return Counter(kinds.values())


def spread(values: Iterable[int]) -> str:
    """Return median, 90th percentile and maximum."""
    ordered = sorted(values) or [0]
    return f"{statistics.median(ordered):g} / {ordered[len(ordered) * 9 // 10]} / {ordered[-1]}"


def sizes(modules: list[Module]) -> dict[str, Figure]:
    """Return the figures of modules, functions and lines."""
    kinds = sum(map(kinds_of_lines, modules), Counter())
    nodes = [node for module in modules for node in nodes_in(module.tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "modules": len(modules),
        "lines": kinds.total(),
        **{f"lines: {kind}": kinds[kind] for kind in ("code", "docstring", "blank", "comment")},
        "lines per module: median / p90 / max": spread(module.size for module in modules),
        "functions": len(functions),
        "lines per function: median / p90 / max": spread(node.end_lineno - node.lineno + 1 for node in functions),
    }


def imports_of(module: Module, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports, inside functions too."""
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    names: set[str] = set()
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names & known - {module.name}


def mergeable(modules: list[Module]) -> list[str]:
    """Return the modules that have one importer, lie in its folder and would fit into it; no `__init__` takes part."""
    importers: dict[str, list[Module]] = defaultdict(list)
    for importer in modules:
        for name in imports_of(importer, {module.name for module in modules}):
            importers[name].append(importer)
    pairs = [(module, importers[module.name][0]) for module in modules if len(importers[module.name]) == 1]
    return [
        f"{module.name} ({module.size}) into {importer.name} ({importer.size})"
        for module, importer in pairs
        if module.path.parent == importer.path.parent
        and module.size + importer.size < MAX_MODULE_LINES
        and not {module.path.name, importer.path.name} & PACKAGE_FILES
    ]


def repeated_classes(modules: list[Module]) -> list[str]:
    """Return the class names that are defined more than once, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in nodes_in(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module.name)
    return [f"{name}: {', '.join(names)}" for name, names in sorted(places.items()) if len(names) > 1]


def exceptions(root: Path, mark: str, folders: str) -> list[str]:
    """Return the places of the comments that switch a checker off."""
    return [
        f"{path.relative_to(root).as_posix()}:{comment.start[0]}"
        for path in sorted(path for folder in folders.split(", ") for path in (root / folder).rglob("*.py"))
        if mark in (text := path.read_text(encoding="utf-8"))
        for comment in comments_in(text)
        if re.search(rf"#\s*(ruff:\s*)?{mark}\b", comment.string)
    ]


def top_level(package: Path) -> list[str]:
    """Return the modules and folders at the top level of the package; a folder of caches only is none."""
    files = (path.relative_to(package).parts for path in package.rglob("*") if path.is_file())
    return sorted({parts[0] for parts in files if "__pycache__" not in parts} - PACKAGE_FILES)


@cache
def words_in(tree: ast.Module) -> str:
    """Return the identifiers and the string constants of a module, one a line; docstrings are left out."""
    values = (value for node in set(nodes_in(tree)) - docstrings_in(tree) for value in vars(node).values())
    words = (word for value in values for word in (value if type(value) is list else (value,)))
    return "\n".join(str(word) for word in words if isinstance(word, str | bytes))


def shared_files(root: Path, modules: list[Module], toolset: str) -> list[str]:
    """Return the files that name a toolset in code or configuration without being its own."""
    texts = {module.path.relative_to(root).as_posix(): words_in(module.tree) for module in modules}
    configuration = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    texts["pyproject.toml"] = json.dumps(configuration, default=str)
    # The name is a word of its own, or a part of a snake_case or camelCase one.
    start, end = r"(?:(?<![A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z]))", r"(?:(?![A-Za-z0-9])|(?<=[a-z])(?=[A-Z]))"
    mention = re.compile(rf"[\w./-]*?{start}(?i:{toolset}){end}[\w./-]*")
    return [
        f"{path}: {', '.join(names)}"
        for path, text in texts.items()
        if not re.match(OWN_FILES.format(toolset), path) and (names := sorted(set(mention.findall(text))))
    ]


async def walk(subject: str) -> str:
    """Measure the second run of a subject in this process; the first one does the lazy imports."""
    replies = run_again(subject)
    await anext(replies)
    modules: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        # The bodies of modules and classes, which an import runs, are not optimized code.
        if event == "call" and module.startswith("signet.") and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            modules.append(module)

    sys.setprofile(note)
    reply = await anext(replies)
    sys.setprofile(None)
    if subject in DOORS and b"plantuml.com" not in reply:
        sys.exit(f"the reply holds no diagram: {reply!r}")
    return f"{len(modules)} / {len(set(modules))} / {len(list(groupby(modules)))}"


async def run_again(subject: str) -> AsyncIterator[bytes]:
    """Build a server, or call the tool through a door, again and again, and yield the replies."""
    from signet import app
    from signet.settings.model import Settings

    while subject == COMPOSITION:
        app.build_server(Settings.read({}, {}))
        yield b""
    settings = Settings.read({}, {"log_dir": ".", "toolsets": "plantuml"})
    message = json.dumps(DOORS[subject]).encode()
    if subject == "stdio":
        from signet.transports.conversation import Conversation

        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        conversation = Conversation(app.build_server(settings), writer, reader)
        conversation.open()
        while True:
            conversation.take(message + b"\n")
            yield os.read(reader, 65_536)
    application = (getattr(app, "build_app", None) or app.build_site)(settings)  # older revisions say build_site
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "raw_path": subject.encode(), "headers": headers}
    requests, replies = asyncio.Queue(), asyncio.Queue()
    while not hasattr(application, "admit"):  # older revisions: an ASGI application
        requests.put_nowait({"type": "http.request", "body": message})
        await application(scope, requests.get, replies.put)
        yield b"".join(replies.get_nowait().get("body", b"") for _ in range(replies.qsize()))
    from signet.kernel.wire import Headers
    from signet.transports.messages import Request

    # From the head on, as an ASGI server hands it over; what the connection itself adds is in tests/test_road.py.
    while True:
        request = Request("POST", subject, Headers(("host", "content-type"), ("localhost", "application/json")))
        application.admit(request)
        request.body = message
        yield application.answer(request).body


def walk_in(root: Path, subject: str) -> str:
    """Measure a subject in a process that imports the package from this tree."""
    # Variables of the shell, settings and coverage among them, are left out.
    environment = {"PYTHONPATH": str(root.resolve() / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, __file__, "--walk", subject]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{root}: {subject}:", *done.stderr.splitlines()[-1:], file=sys.stderr)
    return done.stdout.strip() or "-"


def measure(root: Path) -> dict[str, Figure]:
    """Measure one tree."""
    if not (root / "src/signet/__init__.py").exists():
        sys.exit(f"{root} is no tree of Signet: it has no src/signet")
    modules = list(read_modules(root / "src/signet"))
    marks = [(mark, where) for mark in ("noqa", "type: ignore") for where in ("src", "tests, bench, scripts")]
    roads = (COMPOSITION, *DOORS)
    return {
        **sizes(modules),
        "modules with one importer, in its folder, that would fit into it": mergeable(modules),
        "class names defined more than once": repeated_classes(modules),
        **{f"`{mark}` in {folders}": exceptions(root, mark, folders) for mark, folders in marks},
        "entries at the top level of the package": top_level(root / "src/signet"),
        **{f"road through {name}: functions / modules / module changes": walk_in(root, name) for name in roads},
        **{f"shared files naming {name} ({TOOLSETS[name]})": shared_files(root, modules, name) for name in TOOLSETS},
    }


def page(columns: dict[str, dict[str, Figure]], *, verbose: bool) -> Iterator[str]:
    """Yield the lines of the table and, if asked for, of the lists behind its figures."""
    rows = {label: [figures[label] for figures in columns.values()] for label in next(iter(columns.values()))}
    yield "| " + " | ".join(["figure", *columns]) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for label, row in rows.items():
        yield "| " + " | ".join([label, *(str(len(cell) if isinstance(cell, list) else cell) for cell in row)]) + " |"
    for label, row in rows.items() if verbose else ():
        for name, cell in zip(columns, row, strict=True):
            if isinstance(cell, list) and cell:
                yield from ("", f"## {name}: {label}", "", *(f"- {line}" for line in cell))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", metavar="TREE", nargs="*", help="a checkout (default: this one)")
    parser.add_argument("--rev", action="append", default=[], help="a git revision of this repository; repeatable")
    parser.add_argument("--verbose", action="store_true", help="list what was counted below the table")
    parser.add_argument("--walk", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.walk:
        print(asyncio.run(asyncio.wait_for(walk(options.walk), TIMEOUT_S)))
        return
    with tempfile.TemporaryDirectory() as folder:
        roots = {rev: Path(folder, str(number)) for number, rev in enumerate(options.rev)}
        for rev, root in roots.items():
            root.mkdir()
            archive = subprocess.run(["git", "-C", ROOT, "archive", rev], stdout=subprocess.PIPE, check=True)
            subprocess.run(["tar", "-x", "-C", root], input=archive.stdout, check=True)
        roots |= {tree: Path(tree) for tree in options.trees}
        columns = {name: measure(root) for name, root in (roots or {"this tree": ROOT}).items()}
    print("\n".join(page(columns, verbose=options.verbose)))


if __name__ == "__main__":
    main()
