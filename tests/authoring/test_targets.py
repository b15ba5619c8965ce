"""Targets: files, folders, modules and installed packages become toolsets; what cannot is told in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from commands_in_process import signet_here
from processes import PATIENCE_S, SIGNET, clean_env

ADD = '''
import signet

@signet.tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b
'''


def signet(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    return signet_here(folder, *args)


def slugs(folder: Path, *args: str) -> list[str]:
    """Return the names and slugs of the tools that a command lists."""
    done = signet(folder, "tools", *args)
    assert done.returncode == 0, done.stderr.decode()
    return [" ".join(line.split()[:2]) for line in done.stdout.decode().splitlines()[1:]]


def refusal(folder: Path, target: str) -> str:
    done = signet(folder, "tools", "--toolsets", target)
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode()


def test_a_file_is_a_toolset_of_its_stem(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(ADD)

    assert slugs(tmp_path, "tools.py") == ["add tools.add"]
    assert slugs(tmp_path, "--toolsets", "tools.py") == ["add tools.add"]
    assert slugs(tmp_path, str(tmp_path / "tools.py")) == ["add tools.add"]


def test_targets_and_names_stand_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(ADD)

    assert slugs(tmp_path, "--toolsets", "plantuml,tools.py") == ["encodePlantUML plantuml.encode", "add tools.add"]


def test_a_call_by_name_slug_and_id(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(ADD)

    for name in ("add", "tools.add", "mcp.tool:tools.add"):
        done = signet(tmp_path, "call", "--toolsets", "tools.py", name, "a=1", "b=2")
        assert (done.returncode, json.loads(done.stdout)) == (0, {"result": 3})


def test_names_and_slugs_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "My-Tools.py").write_text(
        dedent('''
        import signet

        @signet.tool(name="plus", slug="tallies_of_tests.plus")
        def add(a: int) -> int:
            """Add."""
            return a

        @signet.tool
        def getHTTPPage(a: int) -> int:
            """Get."""
            return a
        ''')
    )

    assert slugs(tmp_path, "My-Tools.py") == ["plus tallies_of_tests.plus", "getHTTPPage my_tools.get_http_page"]


def test_a_folder_is_a_toolset_for_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "tallies_of_tests.py").write_text(ADD)
    (folder / "texts.py").write_text(ADD.replace("add", "join"))
    (folder / "_private.py").write_text("raise RuntimeError")
    (folder / "test_tallies.py").write_text("raise RuntimeError")

    assert slugs(tmp_path, "mine/") == ["add tallies_of_tests.add", "join texts.join"]


def test_a_module_an_attribute_and_a_package(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("from .tallies_of_tests import toolset\n")
    more = 'toolset = signet.Toolset(name="till", tools=[add])\n'
    (package / "tallies_of_tests.py").write_text(f"from . import prices\n{ADD}\n{more}\nboth = [add, prices.price]\n")
    (package / "prices.py").write_text(ADD.replace("add", "price"))

    assert slugs(tmp_path, "--toolsets", "shop.prices") == ["price prices.price"]
    assert slugs(tmp_path, "shop.prices") == ["price prices.price"]
    assert slugs(tmp_path, "shop.tallies_of_tests:toolset") == ["add till.add"]
    assert slugs(tmp_path, "shop.tallies_of_tests:both") == ["add till.add", "price tallies_of_tests.price"]
    assert slugs(tmp_path, "shop.tallies_of_tests:add") == ["add till.add"], "a tool has the slug of its toolset"
    assert slugs(tmp_path, "--toolsets", "shop") == ["add till.add"]
    assert slugs(tmp_path, "shop/tallies_of_tests.py") == ["add till.add"], (
        "a file of a package is imported as a part of it"
    )


def test_a_file_may_import_its_neighbours_and_have_a_name_of_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("import calendar\nNUMBER = int(calendar.SUNDAY)\n")
    (tmp_path / "calendar.py").write_text(
        f"from neighbour import NUMBER\n{ADD.replace('return a + b', 'return NUMBER')}"
    )

    done = signet(tmp_path, "call", "--toolsets", "calendar.py", "add", "a=1")

    assert json.loads(done.stdout) == {"result": 6}
    assert slugs(tmp_path, "calendar.py") == ["add calendar.add"]


def test_tools_beside_a_toolset_have_one_of_the_files_name(tmp_path: Path) -> None:
    more = ADD.replace("add", "other").replace("import signet", "")
    (tmp_path / "tools.py").write_text(f'{ADD}\nt = signet.Toolset(name="tallies_of_tests", tools=[add])\n{more}')

    assert slugs(tmp_path, "tools.py") == ["add tallies_of_tests.add", "other tools.other"]


def test_an_installed_package_brings_its_toolset(tmp_path: Path) -> None:
    """By an entry point, as `pip install` would leave it."""
    (tmp_path / "weather_tools.py").write_text(f'{ADD}\ntoolset = signet.Toolset(name="weather", tools=[add])\n')
    info = tmp_path / "weather-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[signet.toolsets]\nweather = weather_tools:toolset\n")
    env = clean_env({"PYTHONPATH": str(tmp_path)})

    def ask(*args: str) -> str:
        done = subprocess.run([SIGNET, "tools", *args], env=env, capture_output=True, text=True, check=True)
        return " ".join(done.stdout.split())

    assert "weather weather_tools:toolset" in ask("--installed")
    assert "add weather.add Add two integers" in ask("--toolsets", "weather")


def test_a_script_serves_its_own_tools_and_is_a_target_as_well(tmp_path: Path) -> None:
    script = tmp_path / "tools.py"
    script.write_text(f"{ADD}\nsignet.run()\n")
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()

    done = subprocess.run(
        [sys.executable, str(script), "--no-journal"],
        input=message,
        capture_output=True,
        cwd=tmp_path,
        env=clean_env(),
        timeout=PATIENCE_S,
        check=True,
    )

    assert json.loads(done.stdout)["result"]["structuredContent"] == {"result": 3}
    assert slugs(tmp_path, "tools.py") == ["add tools.add"]
    assert {path.name for path in tmp_path.iterdir()} <= {"tools.py", "__pycache__"}


def test_the_function_stays_a_function(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(f"{ADD}\nassert add(1, b=2) == 3\n")

    assert slugs(tmp_path, "tools.py") == ["add tools.add"]


BROKEN = {
    "a file that is not there": ("", "missing.py", "there is no missing.py: a target is a file (tools.py), a folder"),
    "no such module": ("", "no.such", "there is no module no.such: a target is a file"),
    "no such name": ("", "nothing", "there is no toolset 'nothing'; write --toolsets with one or more of: plantuml"),
    "no tools": ("x = 1", "tools.py", "tools.py has no tools: write @signet.tool above a function in it"),
    "no attribute": (ADD, "tools:sub", "tools has no sub: write the name of a signet.Toolset"),
    "no toolset": (
        f"{ADD}\nx = 1",
        "tools:x",
        "tools:x is no toolset: name a signet.Toolset, a function with @signet.tool",
    ),
    "an undecorated function": (
        'import signet\ndef f() -> int: return 1\nt = signet.Toolset(name="t", tools=[f])',
        "tools.py",
        "is no tool: decorate it with @signet.tool",
    ),
    "two tools of one name": (
        ADD + ADD,
        "tools.py",
        "tools.py: there are two tools add, add (tools.py:4) and add (tools.py:11): rename one, or give it name= and",
    ),
    "a type that is no contract": (
        ADD.replace("a: int", "a: complex"),
        "tools.py",
        "tools.py: add (tools.py:4) cannot be a tool: a: complex cannot be a contract; JSON has no such value",
    ),
    "a docstring that is no text": (
        ADD.replace("Add two", "\\ud800"),
        "tools.py",
        "tools.py: what add (tools.py:4) says cannot be written in JSON (",
    ),
    "an example that is no JSON": (
        ADD.replace("@signet.tool", '@signet.tool(example={"a": object()})'),
        "tools.py",
        "tools.py: what add (tools.py:4) says cannot be written in JSON (",
    ),
    "instructions that are no text": (
        f'{ADD}\nt = signet.Toolset(name="tallies_of_tests", tools=[add], instructions="\\ud800")',
        "tools.py",
        "tools.py: what the toolset tallies_of_tests says cannot be written in JSON (",
    ),
    "a slug that is none": (
        ADD.replace("@signet.tool", '@signet.tool(slug="Ünï")'),
        "tools.py",
        "'Ünï' cannot be the slug of add",
    ),
    "a name of Signet's own": (ADD, "boj.py", "boj.py: there is a toolset 'boj' already; rename the file"),
    "a toolset's name that is none": (
        f'{ADD}\nt = signet.Toolset(name="A B", tools=[add])',
        "tools.py",
        "'A B' cannot name a toolset: write small letters",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_loaded_is_told_in_a_sentence(tmp_path: Path, case: str) -> None:
    code, target, words = BROKEN[case]
    name = target if target.endswith(".py") else "tools.py"
    if code:
        (tmp_path / name).write_text(code)

    said = refusal(tmp_path, target)

    assert words in said
    assert "Traceback" not in said


def test_an_import_that_fails_shows_the_users_own_frames(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def deep():\n    return 1 / 0\n")
    (tmp_path / "tools.py").write_text("import helper\n\nhelper.deep()\n")

    said = refusal(tmp_path, "tools.py")

    assert 'tools.py", line 3, in <module>' in said
    assert 'helper.py", line 2, in deep' in said
    assert "ZeroDivisionError: division by zero" in said
    assert "tools.py does not import (ZeroDivisionError); its traceback is above" in said
    assert "importlib" not in said
    assert "signet/authoring" not in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import not_installed_anywhere", "install not_installed_anywhere, or mend its name"),
        ("raise SystemExit(0)", "does not import (SystemExit)"),
        ("class Own(BaseException): ...\nraise Own", "does not import (Own)"),
    ],
)
def test_an_import_may_fail_in_any_way(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "tools.py").write_text(code)

    assert words in refusal(tmp_path, "tools.py")


def test_an_import_that_blocks_is_ended(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("import threading\nthreading.Event().wait()\n")
    code = """
import sys
import signet.authoring.importing as importing
importing.IMPORT_S = 0.2
from signet.commands.cli import main
sys.exit(main(["tools", "tools.py"]))
"""

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=clean_env(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 2
    assert b'tools.py", line 2, in <module>' in done.stderr
    assert b"tools.py took more than 0.2 s to import: do the long work in a tool, not at the import" in done.stderr


def test_a_broken_target_stops_every_command_with_the_same_sentence(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("x = 1")
    words = b"tools.py has no tools"

    for args in (["serve", "tools.py"], ["stdio", "tools.py"], ["call", "--toolsets", "tools.py", "x"]):
        done = subprocess.run([SIGNET, *args], cwd=tmp_path, env=clean_env(), capture_output=True, check=False)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_a_package_serves_what_it_takes_from_its_modules_or_else_the_modules(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("from .tallies_of_tests import add\n")
    (package / "tallies_of_tests.py").write_text(f"{ADD}{ADD.replace('add', 'other')}")

    assert slugs(tmp_path, "--toolsets", "shop") == ["add shop.add"]

    (package / "__init__.py").write_text("")

    assert slugs(tmp_path, "shop/") == ["add tallies_of_tests.add", "other tallies_of_tests.other"]


LOUD = """
import functools

def loud(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 10
    return wrapper
"""


def test_a_function_that_another_decorator_wraps_is_listed_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(LOUD)
    (tmp_path / "tools.py").write_text(
        f"from helper import loud\n{ADD.replace('def add', '@loud' + chr(10) + 'def add')}"
    )

    done = signet(tmp_path, "call", "--toolsets", "tools.py", "add", "a=1", "b=2")

    assert json.loads(done.stdout) == {"result": 30}


def test_null_is_a_value_where_the_type_has_none_and_absent_elsewhere(tmp_path: Path) -> None:
    code = ADD.replace("a: int, b: int = 0", "a: int | None = 10, b: int = 1")
    (tmp_path / "tools.py").write_text(code.replace("-> int", "-> str").replace("a + b", 'f"{a} {b}"'))

    for given, told in (("{}", "10 1"), ('{"a": null, "b": null}', "None 1"), ('{"a": 3}', "3 1")):
        done = signet(tmp_path, "call", "--toolsets", "tools.py", "add", "--json", given)
        assert json.loads(done.stdout) == {"result": told}


def test_a_targets_own_timeout_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("raise TimeoutError('the database')")

    said = refusal(tmp_path, "tools.py")

    assert "TimeoutError: the database" in said
    assert "took more than" not in said


def test_a_folder_of_one_word_is_a_target_of_tools_too(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tallies_of_tests.py").write_text(ADD)

    assert slugs(tmp_path, "mine") == ["add tallies_of_tests.add"]


def test_a_script_that_runs_an_event_loop_already_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "tools.py"
    script.write_text(f"import asyncio\n{ADD}\n\nasync def main():\n    signet.run()\n\nasyncio.run(main())\n")

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=clean_env(), check=False)

    assert done.returncode == 2
    assert done.stderr == "signet: signet.run() has an event loop of its own: call it outside of asyncio.run()\n"


def test_the_neighbours_of_two_targets_are_not_mixed_up(tmp_path: Path) -> None:
    for folder, number in (("x", 1), ("y", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helpers.py").write_text(f"NUMBER = {number}")
        (tmp_path / folder / "between.py" if folder == "y" else tmp_path / folder / "unused.py").write_text(
            "from helpers import NUMBER"
        )
    (tmp_path / "x/t1.py").write_text(f"import json\nimport helpers\n{ADD}")
    (tmp_path / "y/t2.py").write_text(f"import json\nfrom between import NUMBER\n{ADD.replace('add', 'other')}")
    (tmp_path / "y/t3.py").write_text(f"import json\n{ADD.replace('add', 'third')}")

    told = refusal(tmp_path, "x/t1.py,y/t2.py")

    assert told == (
        "signet: y/t2.py would get the helpers of x/t1.py, not its own: rename one of the two, or serve the targets "
        "apart\n"
    )
    assert slugs(tmp_path, "y/t2.py") == ["other t2.other"]
    (tmp_path / "z").symlink_to("y")
    assert slugs(tmp_path, "--toolsets", "y/t2.py,z/t3.py") == ["other t2.other", "third t3.third"]
    assert slugs(tmp_path, "--toolsets", "x/t1.py,y/t3.py") == ["add t1.add", "third t3.third"]


def test_two_packages_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder / "shop").mkdir(parents=True)
        (tmp_path / folder / "shop/__init__.py").write_text("")
        (tmp_path / folder / "shop/tools.py").write_text(ADD)

    told = refusal(tmp_path, "x/shop/tools.py,y/shop/tools.py")

    assert "y/shop/tools.py cannot be imported as shop.tools: " in told


def test_a_copy_that_is_imported_already_is_told_with_how_to_install_the_project(tmp_path: Path) -> None:
    for folder in ("site", "my project/src"):
        (tmp_path / folder / "shop").mkdir(parents=True)
        (tmp_path / folder / "shop/__init__.py").write_text("")
        (tmp_path / folder / "shop/tools.py").write_text(ADD)
    (tmp_path / "my project/pyproject.toml").write_text("")
    (tmp_path / "first.py").write_text(f"import shop.tools\n{ADD.replace('add', 'first')}")

    def ask(*targets: str) -> subprocess.CompletedProcess[str]:
        env = clean_env({"PYTHONPATH": str(tmp_path / "site")})
        command = [SIGNET, "tools", "--toolsets", ",".join(targets)]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    assert ask("my project/src/shop/tools.py").returncode == 0
    refused = ask("first.py", "my project/src/shop/tools.py")
    assert refused.returncode == 2
    assert refused.stderr.endswith(f" -m pip install --editable '{tmp_path}/my project'\n")


@pytest.mark.parametrize("target", ["v1.2.py", "p.q/", "p.q/tools.py", "r.s/"])
def test_a_name_with_a_dot_is_loaded_by_its_path(tmp_path: Path, target: str) -> None:
    (tmp_path / "v1.2.py").write_text(ADD)
    (tmp_path / "v1_2.py").write_text("raise RuntimeError")
    for folder, code in (("p.q", ""), ("r.s", "from .tools import add")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(code)
        (tmp_path / folder / "tools.py").write_text(ADD)

    assert [line.split()[0] for line in slugs(tmp_path, target)] == ["add"]


def test_one_file_that_is_written_in_several_ways_is_one_target(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ADD)
    (tmp_path / "b.py").symlink_to("a.py")

    assert slugs(tmp_path, "--toolsets", f"a.py,./a.py,b.py,{tmp_path}/a.py") == ["add a.add"]


def test_a_folder_may_hold_scripts(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/tools.py").write_text(ADD)
    (tmp_path / "mine/setup.py").write_text("raise SystemExit")

    assert slugs(tmp_path, "mine/") == ["add tools.add"]

    (tmp_path / "mine/manage.py").write_text("raise SystemExit")

    told = refusal(tmp_path, "mine/")
    assert "mine/manage.py does not import (SystemExit)" in told
    assert told.endswith("; if it is no file of tools, name those that are, and not mine/\n")


def test_an_example_that_is_no_json_is_refused_where_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(ADD.replace("@signet.tool", '@signet.tool(example={"a": object()})'))

    assert "what add (tools.py:4) says cannot be written in JSON" in refusal(tmp_path, "tools.py")
