"""Measure source trees of Signet and print the figures as a Markdown table, one column per tree."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from house.graph import cycles, edges, imports_in, mergeable, rooms
from house.mechanisms import MECHANISMS, users_of
from house.tree import Figure, Module, exceptions, read_modules, repeated_classes, sizes, top_level, words_in
from house.walks import walks_in

ROOT = Path(__file__).resolve().parent.parent
TOOLSETS = {"plantuml": "pure", "boj": "with an upstream"}
OWN_FILES = r"src/signet/(((toolsets|sandbox|commands|domains)/{0}|bank)/|(.+/)?{0}_)"
"""Where a toolset has its own files; older revisions keep the commands of `boj` in `bank`."""


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


def source_figures(root: Path) -> dict[str, Figure]:
    """Return the figures that reading the sources of a tree gives."""
    modules = list(read_modules(root / "src/signet"))
    imports = imports_in(modules)
    marks = [(mark, where) for mark in ("noqa", "type: ignore") for where in ("src", "tests, bench, scripts")]
    return {
        **sizes(modules),
        "entries at the top level of the package": top_level(root / "src/signet"),
        "rooms": rooms(imports),
        "edges between rooms": edges(imports),
        "rooms imported by the command line": [
            edge for edge in edges(imports) if edge.startswith(("commands ", "cli "))
        ],
        "import cycles, lazy imports counted": cycles(imports),
        "modules with one importer, in its folder, that would fit into it": mergeable(modules, imports),
        "public class names defined more than once": repeated_classes(modules),
        **{f"`{mark}` in {folders}": exceptions(root, mark, folders) for mark, folders in marks},
        **{f"mechanisms: {name}": users_of(name, modules) for name in MECHANISMS},
        **{f"shared files naming {name} ({TOOLSETS[name]})": shared_files(root, modules, name) for name in TOOLSETS},
    }


def measure(root: Path) -> dict[str, Figure]:
    """Measure one tree."""
    if not (root / "src/signet/__init__.py").exists():
        sys.exit(f"{root} is no tree of Signet: it has no src/signet")
    return {**source_figures(root), **walks_in(root)}


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
    options = parser.parse_args()
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
