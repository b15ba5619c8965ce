"""Other people's servers, as data: how each is started, which files it needs, and what it is asked."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import ROOT

INSTALLED = ROOT / "build/servers"
SUITE_PACKAGES = ROOT / "node_modules"

Arguments = Mapping[str, Any]


def _no_files(folder: Path) -> None:
    """Leave the folder empty."""


@dataclass(frozen=True)
class Listed:
    """One server: `{folder}` and `{web}` stand for the folder of its files and the address of a page on loopback."""

    name: str
    package: str
    command: tuple[str, ...]
    calls: tuple[tuple[str, Arguments], ...] = ()
    reads: tuple[str, ...] = ()
    prompts: tuple[tuple[str, Arguments], ...] = ()
    prepare: Callable[[Path], None] = _no_files
    env: Mapping[str, str] = field(default_factory=dict)
    volatile: tuple[str, ...] = ()
    """Patterns of what no two runs write alike."""


def _npm(package: str, *words: str, packages: Path = INSTALLED / "node_modules") -> tuple[str, ...]:
    """Return the command of an npm package, whose program its own package.json names."""
    described = packages / package / "package.json"
    if not described.exists():
        return ("node", str(described), *words)
    programs = json.loads(described.read_text(encoding="utf-8"))["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    return ("node", str(packages / package / program), *words)


def _newest(program: str, *words: str) -> tuple[str, ...]:
    return (str(INSTALLED / "servers/bin" / program), *words)


def _older(program: str, *words: str) -> tuple[str, ...]:
    return (str(INSTALLED / "servers-older/bin" / program), *words)


# Files.


def _notes(folder: Path) -> None:
    (folder / "a.md").write_text("# hello\n\nworld\n", encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub/b.py").write_text("def double(n):\n    return 2 * n\n", encoding="utf-8")


def _graph(folder: Path) -> None:
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote a program"]}
    (folder / "memory.json").write_text(json.dumps(entity) + "\n", encoding="utf-8")


def _database(folder: Path) -> None:
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute("create table city (name text, people integer)")
        connection.execute("insert into city values ('Bern', 134000), ('Chur', 38000)")
    connection.close()


def _repository(folder: Path) -> None:
    _notes(folder)
    stamp = "2026-01-02T03:04:05+00:00"
    env = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.invalid", "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.invalid", "GIT_COMMITTER_DATE": stamp,
    }  # fmt: skip
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "First"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)
    (folder / "a.md").write_text("# hello\n\nchanged\n", encoding="utf-8")


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _workbook(folder: Path) -> None:
    """Write the smallest workbook: one sheet with a text and a number."""
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kinds}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is>'
        '<t>Bern</t></is></c><c r="B1"><v>1.5</v></c></row></sheetData></worksheet>',
    }
    with zipfile.ZipFile(folder / "book.xlsx", "w") as book:
        for name, text in parts.items():
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')


# The servers.

THOUGHT = {"thought": "First", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 3}


def official(packages: Path) -> tuple[Listed, ...]:
    """Return the four official servers of npm, which the tests install too."""
    everything, filesystem, memory, thinking = (
        f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory", "sequential-thinking")
    )
    return (
        Listed(
            "everything",
            everything,
            _npm(everything, packages=packages),
            calls=(
                ("echo", {"message": "caf\u00e9"}),
                ("get-sum", {"a": 2, "b": 3.5}),
                ("get-structured-content", {"location": "Chicago"}),
                ("get-tiny-image", {}),
                ("get-annotated-message", {"messageType": "error", "includeImage": True}),
                ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
                ("get-resource-links", {"count": 3}),
            ),
            reads=("demo://resource/static/document/features.md", "demo://resource/static/document/architecture.md"),
            prompts=(("simple-prompt", {}), ("args-prompt", {"city": "Bern", "state": "BE"})),
            volatile=(r"created at [^\"<]*", r"\d{1,2}:\d\d:\d\d( [AP]M)?", r'"blob": "[^"]*"'),
        ),
        Listed(
            "filesystem",
            filesystem,
            _npm(filesystem, "{folder}", packages=packages),
            calls=(
                ("list_allowed_directories", {}),
                ("read_text_file", {"path": "{folder}/a.md"}),
                ("list_directory", {"path": "{folder}"}),
                ("directory_tree", {"path": "{folder}"}),
                ("search_files", {"path": "{folder}", "pattern": "**/*.py"}),
                ("read_text_file", {"path": "{folder}/missing"}),
            ),
            prepare=_notes,
        ),
        Listed(
            "memory",
            memory,
            _npm(memory, packages=packages),
            calls=(
                ("read_graph", {}),
                ("search_nodes", {"query": "program"}),
                ("open_nodes", {"names": ["Ada", "Bob"]}),
            ),
            prepare=_graph,
            env={"MEMORY_FILE_PATH": "{folder}/memory.json"},
        ),
        Listed(
            "sequential-thinking",
            thinking,
            _npm(thinking, packages=packages),
            calls=(("sequentialthinking", THOUGHT), ("sequentialthinking", {**THOUGHT, "thoughtNumber": 2})),
        ),
    )


NPM = (
    *official(INSTALLED / "node_modules"),
    Listed(
        "cyanheads git",
        "@cyanheads/git-mcp-server",
        _npm("@cyanheads/git-mcp-server"),
        calls=(
            ("git_log", {"path": "{folder}"}),
            ("git_status", {"path": "{folder}"}),
            ("git_wrapup_instructions", {"acknowledgement": "yes"}),
        ),
        prompts=(("git_wrapup", {}),),
        prepare=_repository,
        volatile=(r"\d{4}-\d\d-\d\dT[\d:.]+Z",),
    ),
    Listed(
        "nodejs-debugger",
        "@hyperdrive-eng/mcp-nodejs-debugger",
        _npm("@hyperdrive-eng/mcp-nodejs-debugger"),
        calls=(("list_breakpoints", {}), ("nodejs_inspect", {"js_code": "1"})),
    ),
    Listed(
        "kazuph fetch",
        "@kazuph/mcp-fetch",
        _npm("@kazuph/mcp-fetch"),
        calls=(("imageFetch", {"url": "http://127.0.0.1/private"}),),
    ),
    Listed(
        "negokaz excel",
        "@negokaz/excel-mcp-server",
        _npm("@negokaz/excel-mcp-server"),
        calls=(
            ("excel_describe_sheets", {"fileAbsolutePath": "{folder}/book.xlsx"}),
            ("excel_read_sheet", {"fileAbsolutePath": "{folder}/book.xlsx", "sheetName": "S"}),
        ),
        prepare=_workbook,
    ),
    Listed(
        "echarts",
        "mcp-echarts",
        _npm("mcp-echarts"),
        calls=(("generate_pie_chart", {"data": [{"category": "a", "value": 1}], "outputType": "option"}),),
    ),
    Listed(
        "obsidian",
        "mcp-obsidian",
        _npm("mcp-obsidian", "{folder}"),
        calls=(("search_notes", {"query": "a"}), ("read_notes", {"paths": ["a.md"]})),
        prepare=_notes,
    ),
    Listed(
        "commands",
        "mcp-server-commands",
        _npm("mcp-server-commands"),
        calls=(("run_command", {"command": "echo hello"}), ("run_command", {"command": "exit 3"})),
        prompts=(("run_command", {"command": "echo hello"}),),
    ),
    Listed("playwright", "@playwright/mcp", _npm("@playwright/mcp")),
    Listed("context7", "@upstash/context7-mcp", _npm("@upstash/context7-mcp")),
    Listed("antv chart", "@antv/mcp-server-chart", _npm("@antv/mcp-server-chart")),
)

PYPI = (
    Listed(
        "time",
        "mcp-server-time",
        _newest("mcp-server-time", "--local-timezone", "UTC"),
        calls=(("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),),
    ),
    Listed(
        "git",
        "mcp-server-git",
        _newest("mcp-server-git"),
        calls=(
            ("git_status", {"repo_path": "{folder}"}),
            ("git_log", {"repo_path": "{folder}"}),
            ("git_diff_unstaged", {"repo_path": "{folder}"}),
        ),
        prepare=_repository,
    ),
    Listed(
        "fetch",
        "mcp-server-fetch",
        _newest("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"),
        calls=(("fetch", {"url": "{web}/page"}), ("fetch", {"url": "{web}/page", "raw": True})),
        prompts=(("fetch", {"url": "{web}/page"}),),
    ),
    Listed(
        "sqlite",
        "mcp-server-sqlite",
        _older("mcp-server-sqlite", "--db-path", "{folder}/t.db"),
        calls=(
            ("list_tables", {}),
            ("read_query", {"query": "select * from city order by name"}),
            ("describe_table", {"table_name": "city"}),
        ),
        reads=("memo://insights",),
        prompts=(("mcp-demo", {"topic": "trains"}),),
        prepare=_database,
    ),
    Listed(
        "motherduck",
        "mcp-server-motherduck",
        _newest("mcp-server-motherduck", "--db-path", ":memory:", "--read-write"),
        calls=(("execute_query", {"sql": "select 1.5 as a, 'b' as c"}), ("list_databases", {})),
    ),
    Listed(
        "alchemy",
        "mcp-alchemy",
        _newest("mcp-alchemy"),
        calls=(("all_table_names", {}), ("schema_definitions", {"table_names": ["city"]})),
        prepare=_database,
        env={"DB_URL": "sqlite:///{folder}/t.db"},
    ),
    Listed("duckduckgo", "duckduckgo-mcp-server", _newest("duckduckgo-mcp-server")),
    Listed(
        "excel",
        "excel-mcp-server",
        _newest("excel-mcp-server", "stdio"),
        calls=(("describe_workbook", {"path": "{folder}/book.xlsx"}),),
        prepare=_workbook,
        env={"EXCEL_FILES_PATH": "{folder}"},
    ),
    Listed(
        "calculator",
        "mcp-server-calculator",
        _older("mcp-server-calculator"),
        calls=(("calculate", {"expression": "2 * (3 + 4)"}), ("calculate", {"expression": "1 / 3"})),
    ),
    Listed(
        "tree-sitter",
        "mcp-server-tree-sitter",
        _older("mcp-server-tree-sitter"),
        calls=(
            ("list_languages", {}),
            ("register_project_tool", {"path": "{folder}", "name": "p"}),
            ("get_symbols", {"project": "p", "file_path": "sub/b.py"}),
        ),
        prepare=_notes,
        volatile=(r'"last_scan_time": [^,}]*',),
    ),
    Listed(
        "text-editor",
        "mcp-text-editor",
        _older("mcp-text-editor"),
        calls=(("get_text_file_contents", {"files": [{"file_path": "{folder}/a.md", "ranges": [{"start": 1}]}]}),),
        prepare=_notes,
    ),
    Listed(
        "shell",
        "mcp-shell-server",
        _older("mcp-shell-server"),
        calls=(
            ("shell_execute", {"command": ["echo", "hello"], "directory": "{folder}"}),
            ("shell_execute", {"command": ["rm", "x"], "directory": "{folder}"}),
        ),
        env={"ALLOW_COMMANDS": "echo"},
    ),
    Listed(
        "code-index",
        "code-index-mcp",
        _older("code-index-mcp"),
        calls=(("set_project_path", {"path": "{folder}"}), ("find_files", {"pattern": "*.md"})),
        prepare=_notes,
    ),
    Listed(
        "python-interpreter",
        "mcp-python-interpreter",
        _older("mcp-python-interpreter", "--dir", "{folder}"),
        calls=(("run_python_code", {"code": "print(1 + 1)"}), ("read_file", {"file_path": "a.md"})),
        prepare=_notes,
    ),
    Listed(
        "duckdb",
        "mcp-server-duckdb",
        _older("mcp-server-duckdb", "--db-path", "{folder}/d.db"),
        calls=(("query", {"query": "select 1.5 as a"}),),
    ),
)

SERVERS = (*NPM, *PYPI)
