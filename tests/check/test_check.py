"""`signet check`: for each check a toolset that fails it alone, and one that passes them all."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree as ET

import pytest

from commands_in_process import signet_here
from processes import FIRST_AND_LAST_DOOR, SIGNET, clean_env
from signet.commands.check import command as check_command
from signet.commands.check.report import as_text
from signet.commands.check.result import CheckReport, CheckResult, CheckState
from signet.commands.parity import engine
from signet.settings.catalogue import find_toolset
from terminals import Screen

PATIENCE_S = 120.0
"""A check starts eight servers."""
ALL_DOORS = {"PYTHONPATH": ""}
HEAD = """
import os
import time
from typing import Annotated

import signet
from msgspec import Meta

Count = Annotated[int, Meta(description="how many, such as 3")]
"""
GOOD = (
    HEAD
    + '''
@signet.tool(example={"n": 3})
def double(n: Count) -> int:
    """Return twice a number."""
    print("a line on standard output")
    os.write(1, b"a line on descriptor one")
    return 2 * n
'''
)
CHECKS = ["contract", "frozen", "satisfiable", "example", "wrong-input", "parity", "client", "secret"]


def freeze(folder: Path) -> None:
    """Freeze the contracts of a file of tools, in this process."""
    done = signet_here(folder, "contract", "freeze", "tools.py")
    assert done.returncode == 0, done.stderr


def signet(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process, which calls tools through two doors unless another PYTHONPATH is given."""
    return subprocess.run(
        [SIGNET, *args],
        cwd=folder,
        # A file that is written twice within a second may have an outdated bytecode.
        env=clean_env({"PYTHONDONTWRITEBYTECODE": "1", **FIRST_AND_LAST_DOOR, **env}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def write(folder: Path, code: str, name: str = "tools.py") -> None:
    (folder / name).write_text(code, encoding="utf-8")


def check(folder: Path, *args: str, **env: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the report of a check."""
    done = signet(folder, "check", *args, "--format", "json", **env)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def check_here(folder: Path, *args: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the report of a check in this process, whose tools are called through two doors only.

    The process is not ended although a thread may be left behind.
    """
    two_doors = mock.patch.object(engine, "CHANNELS", engine.CHANNELS[:2])
    with two_doors, mock.patch.object(check_command, "leave"):
        done = signet_here(folder, "check", *args, "--format", "json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def states(report: dict[str, Any]) -> dict[str, str]:
    return {result["check"]: result["state"] for result in report["results"]}


def failures(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(result["check"], result["message"]) for result in report["results"] if result["state"] == "failed"]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tools that passes every check."""
    folder = tmp_path_factory.mktemp("good")
    write(folder, GOOD)
    freeze(folder)
    return folder


def test_a_toolset_that_keeps_every_rule_passes(good: Path) -> None:
    done = signet(good, "check", "tools.py", "--strict", **ALL_DOORS)

    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0] == ["tools.double", "✓", "ok", "contract"]
    assert lines[1:8] == [["✓", "ok", name] for name in CHECKS[1:]]
    assert done.stdout.splitlines()[-1] == (
        "1 tool, checks: 8 ok; the toolset passes, in which warnings count as failures"
    )
    assert "a line on standard output" in done.stderr
    assert "a line on descriptor one" in done.stderr


NO_EXAMPLE = GOOD.replace('@signet.tool(example={"n": 3})', "@signet.tool")
FAILING: dict[str, tuple[str, tuple[str, str]]] = {
    "a pattern that JSON Schema does not know": (
        GOOD.replace("n: Count", 's: Annotated[str, Meta(pattern=r"a\\Z", description="a text")]')
        .replace('{"n": 3}', '{"s": "a"}')
        .replace("2 * n", "len(s)"),
        ("contract", "the contract tools/tools.double.json is not usable: "),
    ),
    "an input that nothing keeps": (
        GOOD.replace("int, Meta(", "int, Meta(ge=5, le=4, "),
        ("satisfiable", "no value keeps the input contract, so nobody can call it: "),
    ),
    "an output that nothing keeps": (
        GOOD.replace("-> int", "-> Annotated[int, Meta(gt=5, lt=6)]"),
        ("satisfiable", "no value keeps the output contract, so it can never answer: "),
    ),
    "no example": (NO_EXAMPLE, ("example", "it has no example: write @signet.tool(example={'n': 0})")),
    "an example that breaks the contract": (
        GOOD.replace('{"n": 3}', '{"n": "3"}'),
        ("example", "its example breaks the input contract: "),
    ),
    "an example with an argument too many": (
        GOOD.replace('{"n": 3}', '{"n": 3, "elsewhere": 4}'),
        ("example", "its example has arguments that it does not know: elsewhere"),
    ),
    "a call that fails": (
        GOOD.replace("2 * n", "n / 0"),
        ("example", "a call with its example fails: INTERNAL_ERROR: "),
    ),
    "a result that breaks the contract": (
        GOOD.replace("2 * n", "str(n)"),
        ("example", "a call with its example fails: INVALID_OUTPUT: "),
    ),
    "a tool that never returns": (
        GOOD.replace("2 * n", "time.sleep(1000)"),
        ("example", "a call with its example fails: INTERNAL_ERROR: double did not answer within 1 s"),
    ),
    "a tool that holds the event loop": (
        GOOD.replace('{"n": 3}', '{"n": 3}, inline=True').replace("2 * n", "time.sleep(1000)"),
        ("example", "it never returns: nothing came within "),
    ),
    "an example with a number that JSON lacks": (
        GOOD.replace("int, Meta", "float, Meta").replace('{"n": 3}', '{"n": float("nan")}'),
        ("example", "its example is no JSON object (JSON has neither NaN nor infinity)"),
    ),
    "a secret in the example": (
        GOOD.replace("n: Count", 's: Annotated[str, Meta(description="a text")]')
        .replace('{"n": 3}', '{"s": "AKIA' + "Z3MHXYOJ4KQ7PLRD" + '"}')
        .replace("2 * n", "len(s)"),
        ("secret", "/example/s: "),
    ),
    "a secret in the description": (
        GOOD.replace("a number.", "a number. Send token AKIA" + "Z3MHXYOJ4KQ7PLRD" + " with it."),
        ("secret", "/description: "),
    ),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_toolset_fails_exactly_the_check_that_it_breaks(tmp_path: Path, how: str) -> None:
    code, (name, message) = FAILING[how]
    write(tmp_path, code)

    never_ends = "time.sleep" in code
    status, report = (check if never_ends else check_here)(tmp_path, "tools.py", "--call-timeout-s", "1")

    assert (status, report["ok"]) == (1, False)
    assert [(check, text[: len(message)]) for check, text in failures(report)] == [(name, message)]
    assert set(states(report)) == set(CHECKS)


def test_a_check_that_could_not_run_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, NO_EXAMPLE)

    _, report = check(tmp_path, "tools.py")

    assert [(one["check"], one["message"]) for one in report["results"] if one["state"] == "skipped"] == [
        ("parity", "its example does not hold")
    ]


BY_HAND = '''
import msgspec
from signet.kernel.errors import Code, Fault
from signet.kernel.tools import tool
from signet.kernel.toolset import Toolset

class In(msgspec.Struct):
    n: int

@tool(name="half", slug="half.half", title="Half", example={"n": 4}, CHANGE)
def half(args: In, ctx):
    """Return the half of a number."""
    return {"half": args.n / 2}

toolset = Toolset(name="half", title="Half", tools=lambda: (half,), schema_root=ROOT)
'''
BUNDLE = {
    "tool": "half.half",
    "input": {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "a number, such as 4"}},
        "required": ["n"],
    },
    "output": {"type": "object", "properties": {"half": {"type": "number"}}, "required": ["half"]},
}
REFUSALS = {
    "as it should be": ("rest_errors=()", []),
    "under another code": (
        "adapt_fault=lambda fault: Fault(Code.NOT_FOUND, fault.message)",
        ["[] breaks the input contract, and is refused as NOT_FOUND, not as INVALID_INPUT"],
    ),
}


@pytest.mark.parametrize("how", REFUSALS)
def test_wrong_input_must_be_refused_as_such(tmp_path: Path, how: str) -> None:
    change, told = REFUSALS[how]
    (tmp_path / "contracts/tools").mkdir(parents=True)
    (tmp_path / "contracts/tools/half.half.json").write_text(json.dumps(BUNDLE))
    write(tmp_path, BY_HAND.replace("CHANGE", change).replace("ROOT", repr(str(tmp_path / "contracts"))), "half.py")

    status, report = check_here(tmp_path, "half.py")

    assert (status, failures(report)) == (1 if told else 0, [("wrong-input", text) for text in told])


def test_a_tool_that_answers_each_door_in_another_way_fails_parity(tmp_path: Path) -> None:
    """It looks for what only the processes of one door have among their arguments."""
    write(tmp_path, "import sys\n" + GOOD.replace("2 * n", "3 if 'serve' in sys.orig_argv else 2"))

    status, report = check(tmp_path, "tools.py", **ALL_DOORS)

    assert status == 1
    [(name, message)] = failures(report)
    assert name == "parity"
    assert message.startswith("not all 8 doors say OK alike (")
    assert "REST: result" in message
    assert '-    "result": ' in message


def test_a_tool_whose_result_differs_from_call_to_call_passes_parity(tmp_path: Path) -> None:
    write(tmp_path, "import random\n" + GOOD.replace("2 * n", "random.randrange(10**12)"))

    status, report = check(tmp_path, "tools.py")

    assert (status, failures(report)) == (0, [])
    assert [one["message"] for one in report["results"] if one["check"] == "parity"] == [
        "its result differs from call to call; the outcome is the same over 2 doors"
    ]


BROKEN = 'the input of tools.double breaks callers ("m" is a required property; {"n":0} is refused now): '
DRIFTS: dict[str, tuple[Callable[[str], str], str]] = {
    "breaking": (
        lambda code: code.replace("n: Count)", "n: Count, m: Count)").replace('{"n": 3}', '{"n": 3, "m": 4}'),
        BROKEN + "mend it, or 'signet contract freeze tools.py --version 0.2.0'",
    ),
    "compatible": (
        lambda code: code.replace("n: Count)", "n: Count | None)"),
        (
            "the input of tools.double changed and breaks nobody (takes more: n changed): "
            "'signet contract freeze tools.py'"
        ),
    ),
    "gone": (
        lambda code: code.replace("def double", "def triple"),
        "tools.double is gone, which breaks its callers: mend it, or 'signet contract freeze tools.py --version 0.2.0'",
    ),
}


@pytest.mark.parametrize("how", DRIFTS)
def test_an_edit_after_freezing_fails_and_says_what_it_breaks(tmp_path: Path, how: str) -> None:
    change, told = DRIFTS[how]
    write(tmp_path, GOOD)
    freeze(tmp_path)
    write(tmp_path, change(GOOD))

    status, report = check_here(tmp_path, "tools.py")

    assert status == 1
    assert ("frozen", told) in failures(report)
    assert {name for name, _ in failures(report)} == {"frozen"}
    assert states(report)["parity"] == "skipped"


def test_a_breaking_edit_with_a_higher_version_is_frozen_and_passes(tmp_path: Path) -> None:
    toolset = '\ntools = signet.Toolset(name="tools", tools=[double], version="1.0.0")\n'
    write(tmp_path, GOOD + toolset)
    freeze(tmp_path)
    write(tmp_path, DRIFTS["breaking"][0](GOOD) + toolset)
    _, refused = check_here(tmp_path, "tools.py")
    write(tmp_path, DRIFTS["breaking"][0](GOOD) + toolset.replace("1.0.0", "2.0.0"))
    _, unfrozen = check_here(tmp_path, "tools.py")

    frozen = signet(tmp_path, "contract", "freeze", "tools.py")
    status, report = check_here(tmp_path, "tools.py")

    assert 'write version="2.0.0" in its signet.Toolset' in failures(refused)[0][1]
    assert failures(unfrozen)[0][1].endswith("is refused now): 'signet contract freeze tools.py'")
    assert (frozen.returncode, status, failures(report)) == (0, 0, [])


def test_a_broken_file_fails_and_the_other_checks_go_on(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    freeze(tmp_path)
    (tmp_path / "contracts/tools/tools.double.json").write_text("{\n  nothing")

    status, report = check_here(tmp_path, "tools.py")

    assert status == 1
    [(name, message)] = failures(report)
    assert name == "frozen"
    assert message.startswith("the contract contracts/tools/tools.double.json, line 2, is not usable: ")
    assert states(report)["example"] == "ok"


def test_what_is_not_frozen_yet_and_what_a_client_loses_are_warnings(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("n: Count", "n: int"))

    status, report = check_here(tmp_path, "tools.py")
    strict, _ = check_here(tmp_path, "tools.py", "--strict")

    warnings = [(one["check"], one["message"]) for one in report["results"] if one["state"] == "warning"]
    assert (status, report["ok"], strict) == (0, True, 1)
    assert warnings[0] == ("frozen", "not frozen yet: 'signet contract freeze tools.py' keeps its contract")
    assert {name for name, _ in warnings} == {"frozen", "client"}


@pytest.mark.parametrize(("side", "state"), [("input", "ok"), ("output", "warning")])
def test_a_contract_for_which_no_value_is_found_is_a_warning_unless_the_example_keeps_it(
    tmp_path: Path, side: str, state: str
) -> None:
    """A pattern that looks behind itself is beyond the search, and no proof says that nothing matches it."""
    text = 'Annotated[str, Meta(pattern="(?<=a)b", description="a text such as ab")]'
    code = GOOD.replace("n: Count", f"s: {text}" if side == "input" else 's: Annotated[str, Meta(description="x")]')
    code = code.replace("-> int", f"-> {text}" if side == "output" else "-> str")
    write(tmp_path, code.replace('{"n": 3}', '{"s": "ab"}').replace("2 * n", "s"))

    status, report = check_here(tmp_path, "tools.py")

    assert (status, states(report)["satisfiable"], states(report)["example"]) == (0, state, "ok")


def test_the_report_as_json_names_the_file_and_the_line(good: Path) -> None:
    _, report = check(good, "tools.py")

    assert {key: value for key, value in report.items() if key not in {"results", "signet"}} == {
        "targets": ["tools.py"],
        "ok": True,
        "counts": {"ok": 8, "warning": 0, "failed": 0, "skipped": 0},
    }
    assert report["results"][0] == {
        "toolset": "tools",
        "tool": "tools.double",
        "check": "contract",
        "state": "ok",
        "message": "",
        "file": "tools.py",
        "line": 11,
    }


def test_the_report_as_junit(tmp_path: Path) -> None:
    write(tmp_path, NO_EXAMPLE)

    done = signet(tmp_path, "check", "tools.py", "--format", "junit", "--output", "check.xml")

    root = ET.fromstring((tmp_path / "check.xml").read_text(encoding="utf-8"))
    [suite] = root
    cases = {case.get("name"): case for case in suite}
    assert done.returncode == 1
    assert "✗ failed" in done.stdout
    assert (root.tag, suite.tag, {case.tag for case in suite}) == ("testsuites", "testsuite", {"testcase"})
    assert suite.attrib == {"name": "tools", "tests": "8", "failures": "1", "errors": "0", "skipped": "1"}
    assert list(cases) == CHECKS
    assert cases["example"].attrib == {
        "classname": "tools.double",
        "name": "example",
        "file": "tools.py",
        "line": "11",
    }
    [failure] = cases["example"]
    assert (failure.tag, failure.get("type")) == ("failure", "example")
    assert failure.text == failure.get("message") == "it has no example: write @signet.tool(example={'n': 0})"
    assert [child.tag for child in cases["parity"]] == ["skipped"]
    assert [child.tag for child in cases["frozen"]] == ["system-out"]
    assert list(cases["contract"]) == []


def test_the_report_as_sarif(tmp_path: Path) -> None:
    (tmp_path / "my tools").mkdir()
    write(tmp_path, NO_EXAMPLE, "my tools/tools.py")

    done = signet(tmp_path, "check", "my tools/tools.py", "--format", "sarif")

    log = json.loads(done.stdout)
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert done.returncode == 1
    assert (log["version"], set(log)) == ("2.1.0", {"$schema", "version", "runs"})
    assert set(run) == {"tool", "invocations", "columnKind", "results"}
    assert (driver["name"], [rule["id"] for rule in driver["rules"]]) == ("signet check", CHECKS)
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in driver["rules"])
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("frozen", "warning"),
        ("example", "error"),
    ]
    assert run["results"][1] == {
        "ruleId": "example",
        "ruleIndex": 3,
        "level": "error",
        "message": {"text": "tools.double: it has no example: write @signet.tool(example={'n': 0})"},
        "locations": [
            {
                "logicalLocations": [{"fullyQualifiedName": "tools.double", "kind": "function"}],
                "physicalLocation": {
                    "artifactLocation": {"uri": "my%20tools/tools.py", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 11},
                },
            }
        ],
        "partialFingerprints": {
            "signetCheck/v1": sha256(
                b'["example","tools.double","it has no example: write @signet.tool(example={\'n\': 0})"]'
            ).hexdigest()
        },
    }


def places(log: dict[str, Any]) -> list[str]:
    """Return the files of the results on contracts."""
    results = [result for result in log["runs"][0]["results"] if result["ruleId"] == "frozen"]
    return [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results]


def test_every_result_in_sarif_has_a_file_that_is_there(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    freeze(tmp_path)
    write(tmp_path, GOOD.replace("def double", "def triple"))

    gone = json.loads(signet(tmp_path, "check", "tools.py", "--format", "sarif").stdout)
    (tmp_path / "contracts/toolset.json").write_text("{}")
    broken = json.loads(signet(tmp_path, "check", "tools.py", "--format", "sarif").stdout)
    (tmp_path / "contracts/toolset.json").unlink()
    missing = json.loads(signet(tmp_path, "check", "tools.py", "--format", "sarif").stdout)

    assert places(gone) == ["tools.py", "contracts/tools/tools.double.json"]
    assert places(broken) == ["contracts/toolset.json"]
    assert places(missing) == ["tools.py"]


def test_a_toolset_that_is_gone_or_has_another_name_fails(tmp_path: Path) -> None:
    second = GOOD.removeprefix(HEAD).replace("double", "second")
    both = GOOD + second + '\nmore = signet.Toolset(name="more", tools=[second], version="1.0.0")\n'
    write(tmp_path, both)
    freeze(tmp_path)
    write(tmp_path, GOOD)

    _, gone = check_here(tmp_path, "tools.py")
    write(tmp_path, both.replace('name="more"', 'name="others"'))
    _, renamed = check_here(tmp_path, "tools.py")

    told = ("frozen", "more.second is gone, which breaks its callers: ")
    assert [(name, text[: len(told[1])]) for name, text in failures(gone)] == [told]
    assert told in [(name, text[: len(told[1])]) for name, text in failures(renamed)]


def test_in_junit_no_two_cases_have_one_name(tmp_path: Path) -> None:
    write(tmp_path, NO_EXAMPLE.replace("n: Count)", "n: int, m: int = 0)"))

    done = signet(tmp_path, "check", "tools.py", "--format", "junit", "--strict")

    [suite] = ET.fromstring(done.stdout)
    cases = [(case.get("classname"), case.get("name")) for case in suite]
    [client] = [case for case in suite if case.get("name") == "client"]
    assert suite.get("tests") == str(len(cases)) == str(len(set(cases)))
    assert "/inputSchema/properties/n: " in (client[0].text or "")
    assert "/inputSchema/properties/m: " in (client[0].text or "")


@pytest.mark.parametrize("where", ["full", "closed"])
def test_a_report_that_cannot_be_printed_is_no_failed_check(good: Path, where: str) -> None:
    to = {"full": ">/dev/full", "closed": ">&-"}[where]

    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" check tools.py {to}', SIGNET],
        cwd=good,
        env=clean_env(FIRST_AND_LAST_DOOR),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 2
    assert b"signet: cannot write to standard output (" in done.stderr.splitlines()[-1]


def test_a_report_that_cannot_be_written_at_the_end_is_printed(tmp_path: Path) -> None:
    """The tool takes the folder of the report away."""
    (tmp_path / "reports").mkdir()
    write(tmp_path, GOOD.replace("2 * n", "os.rmdir('reports') or 2 if os.path.exists('reports') else 2"))

    done = signet(tmp_path, "check", "tools.py", "--output", "reports/check.json", "--format", "json")

    assert done.returncode == 2
    assert "the toolset passes" in done.stdout
    assert "signet: cannot write reports/check.json (" in done.stderr.splitlines()[-1]


def test_on_a_narrow_terminal_the_names_of_the_checks_stay_whole(good: Path) -> None:
    """And without colours there are no other styles."""
    env = {**FIRST_AND_LAST_DOOR, "NO_COLOR": "1", "TERM": "xterm-256color"}
    screen = Screen([SIGNET, "check", str(good / "tools.py")], columns=40, env=env)

    status, text = screen.finish()

    report = text[text.index("tools") :]
    assert status == 0
    assert [name for name in CHECKS if name not in report] == []
    assert "\033[1m" not in text


def test_without_a_target_the_entry_point_of_the_project_is_checked(tmp_path: Path) -> None:
    (tmp_path / "src/doubling").mkdir(parents=True)
    write(tmp_path, "", "src/doubling/__init__.py")
    write(tmp_path, GOOD, "src/doubling/tools.py")
    write(
        tmp_path,
        '[project]\nname = "x"\n[project.entry-points."signet.toolsets"]\nx = "doubling.tools"\n',
        "pyproject.toml",
    )

    status, report = check(tmp_path)

    assert (status, report["targets"], failures(report)) == (0, ["doubling.tools"], [])
    assert states(report)["parity"] == "ok"


UNRUNNABLE = {
    "nothing to check": ((), "signet: there is nothing to check: "),
    "no such file": (("nothing.py",), "signet: there is no nothing.py: "),
    "no report there": (("tools.py", "--output", "nowhere/report"), "signet: cannot write nowhere/report "),
}


@pytest.mark.parametrize("how", UNRUNNABLE)
def test_a_check_that_cannot_run_has_another_status(tmp_path: Path, how: str) -> None:
    args, told = UNRUNNABLE[how]
    write(tmp_path, NO_EXAMPLE)

    done = signet(tmp_path, "check", *args)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(told)


def test_the_toolsets_of_signet_pass_on_their_sandboxes(tmp_path: Path) -> None:
    done = signet(tmp_path, "check", "plantuml", "boj", "--sandbox")

    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "4 tools, checks: 28 ok; the toolset passes"


def test_the_examples_are_answered_from_a_recording(tmp_path: Path) -> None:
    """Without the bank: a call that was not recorded has no answer."""
    for tool in find_toolset("boj").tools()[:2]:
        arguments = json.dumps(tool.example)
        done = signet(
            tmp_path, "call", tool.name, "--toolsets", "boj", "--sandbox", "--record", "cassette", "--json", arguments
        )
        assert done.returncode == 0, done.stderr

    status, report = check(tmp_path, "boj", "--replay", "cassette")

    examples = {one["tool"]: one["state"] for one in report["results"] if one["check"] == "example"}
    doors = {one["tool"]: one["state"] for one in report["results"] if one["check"] == "parity"}
    assert status == 1
    assert examples == {"boj.get_data_code": "ok", "boj.get_data_layer": "ok", "boj.get_metadata": "failed"}
    assert doors == {"boj.get_data_code": "ok", "boj.get_data_layer": "ok", "boj.get_metadata": "skipped"}


def test_every_door_has_the_variables_and_settings_of_the_toolset(tmp_path: Path) -> None:
    code = GOOD.replace("n: Count)", "n: Count, context: signet.Context)")
    code = code.replace("2 * n", 'n * context.settings.factor * int(os.environ["TOOLS_TIMES"])')
    settings = """
import msgspec, os
class Own(msgspec.Struct, frozen=True, kw_only=True):
    factor: Annotated[int, signet.setting("what to multiply with")] = 1
tools = signet.Toolset(name="tools", tools=[double], settings=Own)
"""
    write(tmp_path, code + settings)

    own = {"TOOLS_FACTOR": "3", "TOOLS_TIMES": "5"}
    done = signet(tmp_path, "check", "tools.py", "--format", "json", **own, **ALL_DOORS)

    report = json.loads(done.stdout)
    assert (done.returncode, failures(report)) == (0, [])
    assert states(report)["parity"] == "ok"


def test_a_terminated_check_leaves_no_process_behind(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("2 * n", "time.sleep(1000)"))
    process = subprocess.Popen(
        [SIGNET, "check", "tools.py"], cwd=tmp_path, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.readline()

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(("count", "words"), [(1, "1 warning;"), (2, "2 warnings;")])
def test_the_report_begins_with_its_first_result_and_ends_with_counts(count: int, words: str) -> None:
    results = [CheckResult("tools", "tools.add", "client", CheckState.WARNING, "say more")] * count

    shown = as_text(CheckReport(["tools.py"], results, is_strict=False)).splitlines()

    assert shown[0].split() == ["tools.add", "!", "warning", "client", "say", "more"]
    assert words in shown[-1]
