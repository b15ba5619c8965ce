"""The numbers of the house: each has a limit, which may only go down, and each job has the modules that may do it.

A limit is the number of 7bf59fe, measured by `make measure`, or a lower one that was reached since. Where the tree is
above 7bf59fe, the limit is the present number, and the goal stands beside it. A change that raises a limit says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from scripts.house import graph, tree
from scripts.house.mechanisms import MECHANISMS, users_of
from scripts.house.walks import walks_in

from processes import ROOT

LIMITS: Final = {
    "entries at the top level": 29,  # 7bf59fe: 32
    "edges between rooms": 136,  # 7bf59fe: 149
    "import cycles": 5,  # 7bf59fe: 11
    "modules that fit into their only importer": 109,  # 7bf59fe: 142
    "public class names defined twice": 6,  # 7bf59fe: 34
    "noqa": 85,  # 7bf59fe: 86
    "type: ignore": 12,  # 7bf59fe: 24
}
"""What reading the sources counts."""

WALKS: Final = {
    "start to tools/list: imports": "64",  # 7bf59fe: 81
    "start to tools/list: calls": "317",  # 7bf59fe: 1441
    "build_server": "266 / 92 / 25 / 61",  # 7bf59fe: 268 / 95 / 31 / 72
    "walk through stdio": "32 / 32 / 10 / 20",  # 7bf59fe: 33 / 33 / 11 / 21
    "walk through /mcp": "46 / 46 / 15 / 34",  # 7bf59fe: 46 / 46 / 16 / 34
    "walk through /api/tools/encodePlantUML": "42 / 42 / 13 / 29",  # 7bf59fe: 42 / 42 / 14 / 29
    "walk through /mcp/tool/plantuml.encode": "42 / 42 / 16 / 34",  # 7bf59fe: 42 / 42 / 16 / 34
    "walk of an own tool": "61 / 57 / 12 / 37",  # 7bf59fe: 61 / 57 / 12 / 34; shares of threads are 4 changes
    "walk of a wrapped call": "81 / 70 / 18 / 48",  # 7bf59fe: 96 / 84 / 24 / 60
}
"""What a start and a call enter: imported modules, calls, or calls / functions / modules / module changes."""

ONLY: Final = {
    "child processes": [
        "system.processes",
    ],
    "JSON-RPC heads": [
        "kernel.wire",
    ],
    "snapshot takers": [
        "mcp.snapshot",
    ],
    "recordings": [
        "recording.label",
    ],
    "append-only writers": [
        "system.line_file",
    ],
    "patterns of secrets": [
        "system.secret_patterns",
    ],
    "locks between processes": [
        "system.files",
    ],
    "systems of figures": [
        "system.figures",
    ],
    "settings rooms": [
        "settings",
    ],
}
"""The modules, folders or rooms that do each job; a line that is no longer true is to be deleted."""

WAYS: Final = {
    "child processes": "import subprocess\n\ndef run(command: subprocess.Popen) -> None:\n    subprocess.run([])\n",
    "JSON-RPC heads": "class _Head(msgspec.Struct):\n    method: str = ''\n",
    "snapshot takers": "cursor = page.get('nextCursor')\n",
    "recordings": "LABEL = 'recording.json'\n",
    "append-only writers": "open('lines', mode='ab')\n",
    "patterns of secrets": "TOKEN = r'gh[pousr]_[A-Za-z0-9]{36}|ghp_'\n",
    "locks between processes": "from fcntl import flock\n\nflock(1, 2)\n",
    "systems of figures": "class CallCounter:\n    calls = 0\n",
    "settings rooms": "",
}
"""A module that does each job; its name is `signet.new.settings`."""


@pytest.fixture(scope="module")
def modules() -> list[tree.Module]:
    """Every module of the package."""
    return list(tree.read_modules(ROOT / "src/signet"))


@pytest.fixture(scope="module")
def counted(modules: list[tree.Module]) -> dict[str, list[str]]:
    """What the sources are counted by, each with its places."""
    imports = graph.imports_in(modules)
    return {
        "entries at the top level": tree.top_level(ROOT / "src/signet"),
        "edges between rooms": graph.edges(imports),
        "import cycles": graph.cycles(imports),
        "modules that fit into their only importer": graph.mergeable(modules, imports),
        "public class names defined twice": tree.repeated_classes(modules),
        "noqa": tree.exceptions(ROOT, "noqa", "src"),
        "type: ignore": tree.exceptions(ROOT, "type: ignore", "src"),
    }


@pytest.fixture(scope="module")
def walks() -> dict[str, str]:
    """The walks of this tree."""
    return walks_in(ROOT)


def module_of(folder: Path, text: str, name: str = "signet.new.settings") -> tree.Module:
    """Return a module with a text, of which no file is needed."""
    path = folder / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    [module] = [one for one in tree.read_modules(folder / "signet") if one.path == path]
    return module


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_of_the_house_keeps_its_limit(name: str, counted: dict[str, list[str]]) -> None:
    assert len(counted[name]) <= LIMITS[name], "\n".join(counted[name])


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_keeps_its_limits(name: str, walks: dict[str, str]) -> None:
    found, limits = (list(map(int, figure.split(" / "))) for figure in (walks[name], WALKS[name]))

    assert [one <= limit for one, limit in zip(found, limits, strict=True)] == [True] * len(limits), walks[name]


@pytest.mark.parametrize("name", ONLY)
def test_only_these_do_a_job(name: str, modules: list[tree.Module]) -> None:
    assert users_of(name, modules) == ONLY[name]


def test_every_job_has_its_list() -> None:
    assert list(ONLY) == list(MECHANISMS) == list(WAYS)


@pytest.mark.parametrize("name", WAYS)
def test_a_new_module_that_does_a_job_is_found(name: str, tmp_path: Path) -> None:
    does, _ = MECHANISMS[name]

    assert does(module_of(tmp_path, WAYS[name]))


def test_a_function_that_ranks_figures_is_found_too(tmp_path: Path) -> None:
    does, _ = MECHANISMS["systems of figures"]

    assert does(module_of(tmp_path, "def percentile(ordered, share):\n    return ordered[0]\n"))


@pytest.mark.parametrize(
    "text",
    [
        "NAMES = frozenset(('password', 'api_key', 'cookie'))\n",
        "HELP = {'Password': 1, 'cookie': 2, 'X-API-Key': 3}\n",
        "def hides(name):\n    return name in ['password', 'secret'] or name == 'cookie'\n",
        "if name == 'password':\n    hide()\nelif name in {'secret'} or 'cookie' == name:\n    hide()\n",
        "def hides(name):\n    match name:\n        case 'password' | 'secret' | 'cookie':\n            return 1\n",
        "TOKEN = b'eyJ'\n",
    ],
)
def test_names_and_beginnings_of_secrets_are_found_in_every_form(text: str, tmp_path: Path) -> None:
    does, _ = MECHANISMS["patterns of secrets"]

    assert does(module_of(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\n\ndef end(child: subprocess.Popen[bytes]) -> None:\n    child.kill()\n",
        "'''Passwords and other secrets; see tape.json.'''\n",
        "class Answer(msgspec.Struct):\n    result: str\n    error: str\n",
        "open('a', 'rb')\n",
        "KIND = 'apiKey'\nPLACE = 'cookie'\nHEADER = 'authorization'\n",
        "class CallFigures(Struct, frozen=True):\n    calls: int\n",
    ],
)
def test_a_module_that_only_names_a_job_does_not_do_it(text: str, tmp_path: Path) -> None:
    module = module_of(tmp_path, text, "signet.new.plain")

    assert [name for name, (does, _) in MECHANISMS.items() if does(module)] == []


def test_a_dotted_path_in_a_string_is_an_import_but_for_the_table_of_features(tmp_path: Path) -> None:
    for name, text in (
        ("features/__init__.py", "FEATURES = ('signet.features.audit.wiring:open',)\n"),
        ("features/audit/__init__.py", ""),
        ("features/audit/wiring.py", "PLACE = 'signet.kernel.server'\nFILE = 'signet.lock'\n"),
        ("kernel/server.py", "TOOLS = 'signet.domains.boj.tools:open'\n"),
        ("domains/boj/tools.py", "from signet.kernel import server\n"),
        ("lock/__init__.py", ""),
    ):
        path = tmp_path / "signet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    imports = graph.imports_in(list(tree.read_modules(tmp_path / "signet")))

    assert graph.rooms(imports) == ["domains/boj", "features", "features/audit", "kernel", "lock"]
    assert graph.edges(imports) == ["domains/boj -> kernel", "features/audit -> kernel", "kernel -> domains/boj"]
    assert graph.cycles(imports) == ["signet.domains.boj.tools <-> signet.kernel.server"]
