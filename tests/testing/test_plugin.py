"""The pytest plugin in projects of users: calls through every door, and what a failure says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from user_projects import counts, make_user_project, run_pytest

TOOLS = '''
import os
import sys

import signet


@signet.tool(example={"a": 1, "b": 2})
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    if a == 13:
        raise signet.Fault(signet.Code.NOT_FOUND, "there is no 13")
    if a == 14:
        raise signet.Fault(signet.Code.UNAUTHORIZED, "14 is private", name="PRIVATE_NUMBER")
    return a + b


@signet.tool
async def process() -> int:
    """Return the id of the process."""
    return os.getpid()


@signet.tool(example={})
def door() -> str:
    """Return a word that tells the command line apart."""
    return "odd" if "cli_worker" in sys.orig_argv[-1] else "even"


@signet.tool
def leave() -> int:
    """End the process."""
    os._exit(3)
'''

DOORS = """
import asyncio
import os
import threading

import pytest

import signet
import tools
from signet.testing import DOORS, ToolError, assert_contract


@pytest.mark.parametrize("door", DOORS)
def test_results_and_errors(signet_client, door):
    client = signet_client(door)
    assert (client.door, client.call("add", a=1, b=2)) == (door, {"result": 3})
    for arguments, code in [({"a": 13}, "NOT_FOUND"), ({"a": 14}, "UNAUTHORIZED"), ({"a": "x"}, "INVALID_INPUT")]:
        with pytest.raises(ToolError) as caught:
            client.call("add", **arguments)
        assert (caught.value.code, caught.value.door, caught.value.tool) == (signet.Code(code), door, "add")
        assert isinstance(caught.value, signet.Fault)
    with pytest.raises(signet.Fault) as caught:
        client.call("tools.add", a=1) if door != "envelope" else client.call("nobody")
    assert caught.value.code is signet.Code.NOT_FOUND
    assert [tool.name for tool in client.list_tools()] == ["add", "process", "door", "leave"]


def test_where_the_doors_are(signet_client):
    processes = {door: signet_client(door).call("process")["result"] == os.getpid() for door in DOORS}
    assert processes == {"here": True, "stdio": False, "mcp": True, "rest": True, "envelope": True}


def test_one_process_serves_all_tests(signet_client):
    assert len({signet_client("stdio").call("process")["result"] for _ in range(3)}) == 1
    with open("pids", "a") as file:
        file.write(f"{signet_client('stdio').call('process')['result']}\\n")


@pytest.mark.signet(door="rest")
def test_the_marker_names_the_door(signet_client):
    assert signet_client.door == "rest"


def test_a_function_that_a_test_replaces_is_replaced_for_the_doors_of_this_process(signet_client, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 7)
    assert signet_client("rest").call("process") == {"result": 7}


def test_a_client_can_be_used_in_a_running_event_loop(signet_client):
    async def work():
        return signet_client.call("add", a=1)

    assert asyncio.run(work()) == {"result": 1}


def test_contracts(signet_client):
    assert_contract("add", signet_client.call("add", a=1), arguments={"a": 1})
    assert_contract(tools.add, tools.add(1, 2))
    assert_contract(tools.add, signet_client.call("add", a=1))
    assert_contract(signet_client.list_tools()[0], {"result": 1})


def test_parity(signet_parity):
    report = signet_parity("add", ("add", {"a": 13}), ("add", {"a": "x"}))
    assert [row.outcome for row in report.rows] == ["OK", "NOT_FOUND", "INVALID_INPUT"]
    assert len(report.ways) == 8
"""

FAILURES = """
import pytest

import tools
from signet.testing import assert_contract


def test_result(signet_client):
    assert_contract("add", {"result": "three", "more": 1}, arguments={"a": 1})


def test_arguments(signet_client):
    assert_contract(tools.add, arguments={"b": [], "a": None})


def test_no_json():
    assert_contract(tools.add, object())


def test_error(signet_client):
    signet_client("rest").call("add", a=13)


def test_no_tool(signet_client):
    assert_contract("subtract", {})


@pytest.mark.signet(door="window")
def test_no_door(signet_client):
    pass


def test_parity(signet_parity):
    signet_parity()


def test_no_example(signet_parity):
    signet_parity("process")


def test_the_process_ends(signet_client):
    signet_client("stdio").call("leave")


def test_and_the_next_call_has_another(signet_client):
    assert signet_client("stdio").call("add", a=1) == {"result": 1}
"""


def test_calls_through_every_door(tmp_path: Path) -> None:
    done = run_pytest(make_user_project(tmp_path, TOOLS, DOORS), "-q")

    assert counts(done) == {"passed": 12}, done.stdout + done.stderr
    pid = int((tmp_path / "pids").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not (tmp_path / "runs").exists(), "a test leaves no journal"


CLOCK = '''
import sys
import time

import signet


@signet.tool(example={})
def now() -> float:
    """Tell the time."""
    return time.time()


@signet.tool(example={})
def early() -> float:
    """Tell the time, or fail on the command line."""
    if "parity" in "".join(sys.orig_argv):
        raise RuntimeError
    return time.time()
'''
VARYING = """
def test_the_outcome_is_compared(signet_parity):
    report = signet_parity("now")
    assert report.agrees
    assert [row.varies for row in report.rows] == [True]


def test_another_outcome_is_a_difference(signet_parity):
    signet_parity("now", "early")
"""


def test_of_a_result_that_differs_from_call_to_call_parity_compares_the_outcome(tmp_path: Path) -> None:
    done = run_pytest(make_user_project(tmp_path, CLOCK, VARYING), "-q", "--tb=short")

    assert counts(done) == {"passed": 1, "failed": 1}, done.stdout + done.stderr
    assert "the doors differ on 1 of 2 calls" in done.stdout
    assert "command line: INTERNAL_ERROR" in done.stdout


def test_a_failure_says_what_is_wrong_and_where(tmp_path: Path) -> None:
    done = run_pytest(make_user_project(tmp_path, TOOLS, FAILURES), "--tb=short", "-v")

    assert counts(done) == {"passed": 1, "failed": 8, "error": 1}, done.stdout + done.stderr
    for text in (
        'the result of add breaks its contract:\nE     result: "three" is not of type "integer"\n',
        "the arguments of add break its contract:\n",
        '     a: null is not of type "integer"',
        "the result of add breaks its contract: it is no JSON",
        "add through rest: NOT_FOUND: there is no 13",
        "there is no tool 'subtract' in ",
        "there is no door 'window': write one of here, stdio, mcp, rest, envelope",
        "the doors differ on 1 of 2 calls\nE     door: OK, but command line: result\n",
        "process has no example: write @signet.tool(example=…), or ('process', {…}) here",
        "no answer through stdio (it ended without an answer)",
    ):
        assert text in done.stdout, text
    assert "signet/testing/" not in done.stdout, "the frames of the plugin are hidden"


@pytest.mark.parametrize(
    ("tools", "toolsets", "texts"),
    [
        ("import absent_module\n", '["tools.py"]', ("tools.py does not import", "import absent_module")),
        (TOOLS, '["absent.py"]', ("there is no ", "absent.py: a target is a file")),
        (TOOLS, "", ("no tools to test: write toolsets =",)),
        (TOOLS, "[", ("signet.toml",)),
    ],
    ids=["no import", "no file", "no target", "no TOML"],
)
def test_a_target_that_cannot_be_served_is_told_in_a_sentence(
    tmp_path: Path, tools: str, toolsets: str, texts: tuple[str, ...]
) -> None:
    tests = "def test_one(signet_client): pass\n"

    done = run_pytest(make_user_project(tmp_path, tools, tests, toolsets), "-q")

    assert counts(done) == {"error": 1}, done.stdout + done.stderr
    assert all(text in done.stdout for text in texts), done.stdout
    assert "signet/testing" not in done.stdout
    assert "another exception" not in done.stdout


def test_a_contract_is_found_by_its_name_without_a_fixture_and_the_file_in_the_working_folder(tmp_path: Path) -> None:
    tests = "from signet.testing import assert_contract\ndef test_one(): assert_contract('add', result={'result': 1})\n"
    make_user_project(tmp_path, TOOLS, "")
    (tmp_path / "pytest.ini").unlink()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_one.py").write_text(tests)

    done = run_pytest(tmp_path, "-q", "tests/test_one.py")

    assert counts(done) == {"passed": 1}, done.stdout + done.stderr


def test_the_target_comes_from_a_fixture_from_the_settings_of_pytest_or_from_the_entry_point(tmp_path: Path) -> None:
    tests = "def test_one(signet_client): assert signet_client.call('add', a=1) == {'result': 1}\n"
    fixture = "import pytest\n@pytest.fixture(scope='session')\ndef signet_target(): return 'tools.py'\n"
    entry = '[project]\nname = "x"\n[project.entry-points."signet.toolsets"]\nx = "src_tools"\n'
    for name, setup in {
        "fixture": {"conftest.py": fixture},
        "ini": {},
        "entry": {"pyproject.toml": entry, "src/src_tools.py": TOOLS},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        make_user_project(folder, TOOLS, tests, toolsets="")
        for file, text in setup.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)

    fixture_run = run_pytest(tmp_path / "fixture", "-q")
    ini_run = run_pytest(tmp_path / "ini", "-q", "-o", "signet_target=tools.py", "-o", "signet_door=mcp")
    entry_run = run_pytest(tmp_path / "entry", "-q", "--signet-door=stdio")

    assert [counts(run) for run in (fixture_run, ini_run, entry_run)] == [{"passed": 1}] * 3, entry_run.stdout


SETTINGS = '''
import msgspec
import signet


class Words(msgspec.Struct, frozen=True):
    greeting: str = "Hello"
    shout: bool = False
    names: list[str] = []
    ages: dict[str, float] = {}


@signet.tool
def greet(ctx: signet.Context) -> str:
    """Greet."""
    words = ctx.settings
    end = "!" if words.shout else "."
    return " ".join([words.greeting, *words.names, *(f"{name} {age}" for name, age in words.ages.items())]) + end


words = signet.Toolset(name="words", tools=[greet], settings=Words)
'''


def test_the_tools_have_the_settings_of_the_file_and_of_the_environment_and_the_doors_those_of_the_tests(
    tmp_path: Path,
) -> None:
    tests = (
        "import pytest\nfrom signet.testing import DOORS\n@pytest.mark.parametrize('door', DOORS)\n"
        "def test_one(signet_client, door):\n"
        "    assert signet_client(door).call('greet') == {'result': 'Good day A B Ö C 1.5!'}\n"
    )
    file = '["tools.py"]\ntoken = "secret-of-the-server"\nhost = "0.0.0.0"\n[settings.words]\nshout = true\n'
    file += 'names = ["A B", "Ö"]\nages = {C = 1.5}\n'
    project = make_user_project(tmp_path, SETTINGS, tests, file)

    done = run_pytest(project, "-q", WORDS_GREETING="Good day", SIGNET_TOOLSETS="plantuml", SIGNET_REPLAY="nowhere")

    assert counts(done) == {"passed": 5}, done.stdout + done.stderr


def test_each_test_has_the_tools_of_the_nearest_project(tmp_path: Path) -> None:
    tests = (
        "from signet.testing import assert_contract\n"
        "def test_client(signet_client): assert signet_client.call('@_add', a=1) == {'result': 1}\n"
        "def test_contract(): assert_contract('@_add', result={'result': 1})\n"
        "def test_stdio(signet_client): assert signet_client('stdio').call('@_add', a=1) == {'result': 1}\n"
    )
    entry = '[project]\nname = "c"\n[project.entry-points."signet.toolsets"]\nc = "c_tools"\n'
    for name in "abc":
        folder = tmp_path / name / "tests"
        folder.mkdir(parents=True)
        (tmp_path / name / f"{name}_tools.py").write_text(TOOLS.replace("add(", f"{name}_add("))
        (folder / f"test_{name}.py").write_text(tests.replace("@", name))
        if name != "c":
            (tmp_path / name / "signet.toml").write_text(f'toolsets = ["{name}_tools.py"]\n')
    (tmp_path / "c/pyproject.toml").write_text(entry)
    (tmp_path / "c/src").mkdir()
    (tmp_path / "c/c_tools.py").rename(tmp_path / "c/src/c_tools.py")

    from_above = run_pytest(tmp_path, "-q")
    with_a_root = run_pytest(tmp_path, "-q", "a", "b", "c", f"--rootdir={tmp_path / 'a'}")
    from_below = run_pytest(tmp_path / "b/tests", "-q")

    assert counts(from_above) == {"passed": 9}, from_above.stdout + from_above.stderr
    assert counts(with_a_root) == {"passed": 9}, with_a_root.stdout + with_a_root.stderr
    assert counts(from_below) == {"passed": 3}, from_below.stdout + from_below.stderr


def test_what_is_above_a_project_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text('toolsets = ["plantuml"]\n')
    for name, file in {"by pytest": "pytest.ini", "by package": "pyproject.toml"}.items():
        (tmp_path / name).mkdir()
        make_user_project(tmp_path / name, TOOLS, "def test_one(signet_client): pass\n", toolsets="")
        (tmp_path / name / "pytest.ini").unlink()
        (tmp_path / name / file).write_text("[pytest]\n" if file == "pytest.ini" else "[tool.pytest.ini_options]\n")

        done = run_pytest(tmp_path / name, "-q")

        assert counts(done) == {"error": 1}, done.stdout + done.stderr
        assert "no tools to test: write toolsets =" in done.stdout


def test_the_tests_of_a_parallel_run_have_servers_of_their_own(tmp_path: Path) -> None:
    tests = (
        "import pytest\n@pytest.mark.parametrize('n', range(4))\n"
        "def test_one(signet_client, signet_cassette, n):\n"
        "    assert signet_client('rest').call('add', a=n) == {'result': n}\n"
    )

    done = run_pytest(make_user_project(tmp_path, TOOLS, tests), "-q", "-p", "xdist", "-n", "2")

    assert counts(done) == {"passed": 4}, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "cassettes/test_tools").iterdir()) == [
        f"test_one[{n}]" for n in range(4)
    ]


def test_a_run_that_does_not_use_the_plugin_loads_next_to_nothing() -> None:
    probe = (
        "import pytest, sys; before = set(sys.modules); import signet.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )

    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["signet", "signet.testing", "signet.testing.current", "signet.testing.plugin"]
