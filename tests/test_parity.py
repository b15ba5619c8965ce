"""Parity: every tool and every error class means the same over all eight ways, and a fault in one door is seen."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from commands_in_process import signet_here
from processes import FIRST_AND_LAST_DOOR, PATIENCE_S, ROOT, SIGNET, clean_env, run, serving
from signet.commands.parity import command, engine
from signet.commands.parity.channels import CHANNELS
from signet.commands.parity.command import _narrow_table
from signet.commands.parity.corpus import CorpusCall, built_in, with_slugs
from signet.commands.parity.engine import COMMANDS, run_corpus
from signet.commands.parity.report import ParityReport, ReportRow
from signet.kernel.errors import Code
from signet.mcp.server_process import ServerProcess
from signet.settings.catalogue import TOOLSETS, find_toolset
from terminals import run_on_terminal

MUTANT = (sys.executable, str(ROOT / "tests/support/mutant_server.py"))
NAMES = [channel.name for channel in CHANNELS]
LONG_S = 240.0
"""How long a test waits for a whole corpus."""

DIAGRAM = {"plantumlCode": "@startuml\nA --> B\n@enduml"}
CALLS = [
    CorpusCall("a diagram", "encodePlantUML", "plantuml.encode", DIAGRAM),
    CorpusCall("no diagram", "encodePlantUML", "plantuml.encode", {}),
    CorpusCall("another diagram", "encodePlantUML", "plantuml.encode", {"plantumlCode": "A -> C"}),
]


def mutated(fault: str, *names: str) -> Mapping[str, tuple[str, ...]]:
    """Return command lines that give some channels a fault and leave the others as they are."""
    return {
        **COMMANDS,
        **{channel.name: (*MUTANT, fault, channel.command) for channel in CHANNELS if channel.name in names},
    }


def apart(report: ParityReport) -> dict[str, dict[str, str]]:
    """Return the cells that differ, by call and channel."""
    cells = {row.name: {way: cell for way, cell in row.ways.items() if cell != "same"} for row in report.rows}
    return {name: ways for name, ways in cells.items() if ways}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ParityReport:
    """The report on the built-in corpus; one index of the Bank's series and one engine of diagrams serve all."""
    index = {"BOJ_INDEX_DIR": str(tmp_path_factory.mktemp("index"))}
    with serving("--toolsets", "plantuml-tools", "--no-journal", env={"PLANTUML_RENDER_TIMEOUT_S": "30"}) as drawing:
        engine = {"PLANTUML_SERVER": f"{drawing.url}/render", "PLANTUML_RENDER_TIMEOUT_S": "30"}
        return run_corpus(corpus_of(*TOOLSETS), TOOLSETS, settings={**index, **engine})


def corpus_of(*toolsets: str) -> list[CorpusCall]:
    """Return the built-in calls of toolsets."""
    tools = [tool for toolset in toolsets for tool in find_toolset(toolset).tools()]
    return with_slugs(built_in(toolsets), tools)


@pytest.mark.spec("5.parity.equal")
def test_every_call_means_the_same_over_all_eight_ways(whole: ParityReport) -> None:
    assert whole.ways == [
        "stdio 2025-11-25", "stdio 2026-07-28", "HTTP 2025-11-25", "HTTP 2026-07-28", "REST", "envelope stdio",
        "envelope HTTP", "command line",
    ]  # fmt: skip
    assert (apart(whole), whole.first) == ({}, None)


def test_what_each_server_draws_itself_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CHANNELS", [CHANNELS[0], CHANNELS[4]])
    toolsets = ("plantuml", "plantuml-tools")
    calls = [call for call in corpus_of(*toolsets) if call.tool in {"checkPlantUML", "renderPlantUML"}]

    report = run_corpus(calls, toolsets, settings={"PLANTUML_RENDER_TIMEOUT_S": "30"})

    assert (apart(report), report.first) == ({}, None)
    assert {row.name: row.outcome for row in report.rows}["a picture as PNG"] == "OK"


def test_the_corpus_has_every_tool_at_its_best_and_at_its_worst(whole: ParityReport) -> None:
    tools = {tool.name for toolset in TOOLSETS for tool in find_toolset(toolset).tools()}
    good = {row.tool for row in whole.rows if row.outcome == "OK"}
    bad = {row.tool for row in whole.rows if row.outcome != "OK"}

    assert good == tools
    assert bad == tools | {"nobody"}
    # No tool in the box breaks its contract; the misbehaving ones below do.
    assert {row.outcome for row in whole.rows} == {"OK", *Code} - {Code.INVALID_OUTPUT}
    assert len({row.name for row in whole.rows}) == len(whole.rows)


MEANT = {
    "400": "INVALID_INPUT", "422": "INVALID_INPUT", "401": "UNAUTHORIZED", "403": "UNAUTHORIZED", "404": "NOT_FOUND",
    "500": "INTERNAL_ERROR", "502": "INTERNAL_ERROR", "503": "INTERNAL_ERROR",
}  # fmt: skip
"""The outcome of a call whose name ends with the status of its upstream's answer."""


def test_a_call_that_is_named_after_a_status_has_its_outcome(whole: ParityReport) -> None:
    """The sample data may grow: what an example says is not there must not be there."""
    named = {row.name: row.outcome for row in whole.rows if row.name[-4:-1] in MEANT and row.name.endswith(")")}

    assert set(MEANT.values()) == set(named.values())
    assert named == {name: MEANT[name[-4:-1]] for name in named}


ODD = {
    "fine": "OK", "ticks": "OK", "waits": "OK", "prints": "OK", "missing": "NOT_FOUND", "raises": "INTERNAL_ERROR",
    "raises_later": "INTERNAL_ERROR", "hangs": "INTERNAL_ERROR", "lies": "INVALID_OUTPUT", "not_json": "INVALID_OUTPUT",
    "not_unicode": "INVALID_OUTPUT", "not_a_number": "INVALID_OUTPUT", "too_much": "INVALID_OUTPUT",
}  # fmt: skip


@pytest.mark.spec("5.parity.equal")
def test_tools_that_misbehave_do_so_in_the_same_way_everywhere() -> None:
    # `clings` cannot be cancelled and would also keep its process from ending.
    assert {tool.name for tool in misbehaving_server.TOOLS} == {*ODD, "clings"}
    calls = [CorpusCall(name, name, f"odd.{name}", {"n": 2}) for name in ODD]
    commands = {kind: (*MUTANT, "odd", kind) for kind in COMMANDS}

    report = run_corpus(calls, (), commands=commands)

    assert (apart(report), report.first) == ({}, None)
    assert {row.name: row.outcome for row in report.rows} == ODD


@pytest.mark.spec("5.parity.equal")
def test_a_server_without_a_token_says_so_in_the_same_way_everywhere() -> None:
    calls = [
        CorpusCall("no token", "get_platform_status", "oj.get_platform_status"),
        CorpusCall("no token upstream", "get_problem", "oj.get_problem", {"source": "leetcode", "id": "9001"}),
    ]

    report = run_corpus(calls, ("oj",), settings={"OJ_TOKEN": ""})

    assert apart(report) == {}
    assert [row.outcome for row in report.rows] == ["UNAUTHORIZED", "UNAUTHORIZED"]


SEEDED: dict[str, tuple[str, str, str, dict[str, str], list[str], str]] = {
    "an answer altered": (
        "result", "REST", "a diagram", {"a diagram": "result", "another diagram": "result"},
        ["result.format"], '+    "format": "png"',
    ),
    "a code altered": (
        "code", "envelope stdio", "no diagram", {"no diagram": "INTERNAL_ERROR"}, ["code"],
        '+  "code": "INTERNAL_ERROR",',
    ),
    "a record altered": (
        "record", "stdio 2026-07-28", "a diagram", dict.fromkeys((call.name for call in CALLS), "record"),
        ["record.stepId"], '+    "stepId": 2,',
    ),
    "a record left out": (
        "forgets", "HTTP 2025-11-25", "no diagram", {"no diagram": "record", "another diagram": "record"},
        ["record"], '+  "record": null',
    ),
    "a record left out where the code is read from it": (
        "forgets", "REST", "no diagram", {"no diagram": "NO_RECORD", "another diagram": "record"},
        ["code", "record"], '+  "code": "NO_RECORD",',
    ),
    "an answer that is none": (
        "mumbles", "HTTP 2026-07-28", "a diagram", {"a diagram": "UNREADABLE", "another diagram": "UNREADABLE"},
        ["result", "code"], '+  "code": "UNREADABLE",',
    ),
    "no answer on a pipe": (
        "dies", "command line", "a diagram", dict.fromkeys((call.name for call in CALLS), "NO_ANSWER"),
        ["result", "code", "record"], '+  "code": "NO_ANSWER",',
    ),
    "no answer on a socket": (
        "dies", "envelope HTTP", "a diagram", dict.fromkeys((call.name for call in CALLS), "NO_ANSWER"),
        ["result", "code", "record"], '+  "code": "NO_ANSWER",',
    ),
}  # fmt: skip


@pytest.mark.spec("5.parity.equal")
@pytest.mark.parametrize("row", SEEDED)
def test_a_fault_in_one_door_turns_the_table_red_there(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside three honest ways, which are most of them; the last fault is seen beside all seven."""
    fault, way, call, cells, fields, line = SEEDED[row]
    if row != list(SEEDED)[-1]:
        honest = [channel for channel in CHANNELS if channel.name != way][:3]
        monkeypatch.setattr(engine, "CHANNELS", [one for one in CHANNELS if one in honest or one.name == way])

    report = run_corpus(CALLS, ("plantuml",), commands=mutated(fault, way))

    assert not report.agrees
    assert report.first is not None
    assert apart(report) == {name: {way: cell} for name, cell in cells.items()}
    assert (report.first.call, report.first.way, report.first.fields) == (call, way, fields)
    assert report.first.against in NAMES
    assert report.first.diff.splitlines()[:2] == [f"--- {report.first.against}", f"+++ {way}"]
    assert line in report.first.diff.splitlines()


def test_a_fault_in_the_first_way_is_not_blamed_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CHANNELS", CHANNELS[:3])

    report = run_corpus(CALLS, ("plantuml",), commands=mutated("record", NAMES[0]))

    assert apart(report) == {call.name: {NAMES[0]: "record"} for call in CALLS}


def test_ways_that_all_fail_alike_do_not_agree() -> None:
    report = run_corpus(CALLS, ("plantuml",), commands=dict.fromkeys(COMMANDS, (sys.executable, "-c", "")))

    assert apart(report) == {call.name: dict.fromkeys(NAMES, "NO_ANSWER") for call in CALLS}
    assert report.first is not None
    assert (report.first.way, report.first.fields) == (NAMES[0], ["result", "code"])
    assert "it ended without a word" in report.first.diff or "Broken pipe" in report.first.diff


def test_journals_that_are_all_empty_do_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CHANNELS", CHANNELS[:2])

    report = run_corpus(CALLS, ("plantuml",), settings={"SIGNET_JOURNAL": "false"})

    assert [row.agrees for row in report.rows] == [False] * 3


def test_ways_that_are_started_by_others_agree_too() -> None:
    report = run_corpus(CALLS, ("plantuml",), commands=mutated("none", *NAMES))

    assert report.agrees


def test_what_was_started_is_stopped_when_it_is_broken_off(tmp_path: Path) -> None:
    seen: list[Any] = []

    def impatient(*progress: Any) -> None:
        seen.append(progress)
        if len(seen) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_corpus(
            CALLS,
            ("plantuml",),
            commands=mutated("hands_over", *NAMES),
            settings={"PIDS": str(tmp_path)},
            on_progress=impatient,
        )

    pids = [int(file.name) for file in tmp_path.iterdir()]
    assert len(pids) == 8
    assert [pid for pid in pids if is_alive(pid)] == []


def test_a_process_is_stopped_even_if_the_signal_comes_while_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(ServerProcess):
        def __init__(self, *how: Any) -> None:
            super().__init__(*how)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(engine, "ServerProcess", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_corpus(CALLS, ("plantuml",), commands=dict.fromkeys(COMMANDS, (sys.executable, "-c", "input()")))

    assert len(started) == 1
    assert not is_alive(started[0])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- the command


def corpus(folder: Path, *lines: Any) -> str:
    """Write a corpus: strings as they are, other values as JSON."""
    file = folder / "calls.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(file)


def parity(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [SIGNET, "parity", *args]
    return subprocess.run(command, capture_output=True, text=True, env=clean_env(env), timeout=LONG_S, check=False)


def test_a_corpus_that_is_given_is_played_and_shown_as_a_table_whatever_the_user_has_set(tmp_path: Path) -> None:
    """Settings of the user do not reach the servers."""
    env = {"SIGNET_TOKEN": "mine-alone", "SIGNET_PORT": "1", "SIGNET_VALIDATION": "off", "http_proxy": "http://[::1]:9"}
    calls = corpus(
        tmp_path,
        {"name": "mine", "tool": "encodePlantUML", "arguments": DIAGRAM},
        "",
        {"name": "wrong", "tool": "encodePlantUML", "slug": "plantuml.encode"},
    )

    done = parity("--corpus", calls, "--toolsets", "plantuml", env=env)

    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "signet: comparing 2 calls through 8 doors")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["stdio", "stdio", "HTTP", "HTTP", "envelope", "envelope", "command"],
        ["call", "outcome", *["2025-11-25", "2026-07-28"] * 2, "REST", "stdio", "HTTP", "line"],
        ["mine", "OK", *"✓" * 8],
        ["wrong", "INVALID_INPUT", *"✓" * 8],
        [],
        ["calls:", "2,", "ways:", "8,", "all", "agree"],
    ]


def test_faults_that_a_corpus_orders_befall_each_way_alike(tmp_path: Path) -> None:
    """Over two ways; the built-in corpus orders faults over all eight."""
    call = {"tool": "get_problem", "arguments": {"source": "leetcode", "id": "9001"}}
    calls = corpus(
        tmp_path,
        {"name": "once", **call, "order": [{"fault": "status", "status": 404, "times": 1}]},
        {"name": "well", **call},
    )

    done = parity("--corpus", calls, "--toolsets", "oj", "--json", env=FIRST_AND_LAST_DOOR)
    report = json.loads(done.stdout)

    assert done.returncode == 0
    assert [(row["name"], row["outcome"]) for row in report["rows"]] == [("once", "NOT_FOUND"), ("well", "OK")]
    assert (report["agrees"], report["ways"], report["first"]) == (True, [NAMES[0], NAMES[-1]], None)


def test_a_difference_ends_with_status_one_and_a_diff(tmp_path: Path) -> None:
    """The real command over mutant servers; PYTHONPATH alone puts them in place."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'serve' in sys.orig_argv:\n"
        f"    sys.path.insert(0, {str(ROOT / 'tests/support')!r})\n"
        "    import mutant_server\n"
        "    mutant_server.result()\n"
    )
    calls = corpus(tmp_path, {"name": "mine", "tool": "encodePlantUML", "arguments": DIAGRAM})

    done = parity("--corpus", calls, "--toolsets", "plantuml", env={"PYTHONPATH": str(tmp_path)})
    lines = done.stdout.splitlines()

    assert done.returncode == 1
    assert lines[2].split() == ["mine", "OK", *"✓" * 4, "result", *"✓" * 3]
    assert lines[4] == "calls: 1, ways: 8, calls on which they differ: 1"
    assert "'mine': REST differs from stdio 2025-11-25 in result.format" in lines
    assert {'-    "format": "svg"', '+    "format": "png"'} <= set(lines)


BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "not JSON": (("{",), "line 1 is no call"),
    "no object": (("[]",), "line 1 is no call"),
    "no name": (({"name": "x", "tool": "encodePlantUML"}, {"tool": "encodePlantUML"}), "line 2 is no call"),
    "another key": (({"name": "x", "tool": "encodePlantUML", "args": {}},), "unknown field `args`"),
    "not Unicode": (('{"name": "\\ud800", "tool": "x"}',), "line 1 is no call"),
    "nothing": (("", " "), "holds no call"),
    "a fault that is none": (
        ({"name": "x", "tool": "get_problem", "order": [{"fault": "sulk"}]},), "there is no fault 'sulk'",
    ),
    "a fault of nobody": (
        ({"name": "x", "tool": "nobody", "order": [{"fault": "hang"}]},), "no upstream stands behind",
    ),
    "a fault of a tool that asks nobody": (
        ({"name": "x", "tool": "encodePlantUML", "order": [{"fault": "hang"}]},), "no upstream stands behind",
    ),
    "two tools": (
        ({"name": "x", "tool": "encodePlantUML", "slug": "oj.get_problem"},), "are not name and slug of one enabled",
    ),
    "a slug for a name": (({"name": "x", "tool": "plantuml.encode"},), "are not name and slug of one enabled"),
}  # fmt: skip


def test_faults_of_a_toolset_that_is_not_played_are_a_usage_error(tmp_path: Path) -> None:
    calls = corpus(tmp_path, {"name": "x", "tool": "oj.zzz", "order": [{"fault": "close"}]})

    done = signet_here(tmp_path, "parity", "--corpus", calls, "--toolsets", "plantuml")

    assert done.returncode == 2
    assert b"no upstream stands behind oj.zzz" in done.stderr


@pytest.mark.parametrize("row", BAD)
def test_a_corpus_that_cannot_be_played_is_a_usage_error(tmp_path: Path, row: str) -> None:
    lines, sentence = BAD[row]

    done = signet_here(tmp_path, "parity", "--corpus", corpus(tmp_path, *lines))

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"signet: ")
    assert done.stderr.count(b"\n") == 1
    assert sentence in done.stderr.decode()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--corpus", "/no/such/file"), "cannot read /no/such/file"),
        (("--toolsets", "nothing"), "there is no toolset 'nothing'"),
        (("--fast",), "there is no --fast"),
    ],
)
def test_what_is_not_written_right_is_a_usage_error(args: tuple[str, ...], sentence: str) -> None:
    done = run("parity", *args)

    assert (done.returncode, done.stdout) == (2, b"")
    assert sentence in done.stderr.decode()


def test_a_person_at_a_terminal_sees_colours_and_how_far_it_is() -> None:
    here, there = pty.openpty()
    env = clean_env({**FIRST_AND_LAST_DOOR, "TERM": "xterm-256color", "COLUMNS": "150"})
    command = [SIGNET, "parity", "--toolsets", "plantuml"]
    with subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=env) as process:
        os.close(there)
        seen = b"".join(chunks(here)).decode()
    os.close(here)

    assert process.returncode == 0
    assert "command line: " in seen
    assert "\x1b[32m✓" in seen
    assert "calls: 11, ways: 2, all agree" in seen


def test_the_table_fits_the_terminal() -> None:
    """Channels have numbers there, and names below."""
    status, shown = run_on_terminal("parity", "--toolsets", "plantuml", columns=60)

    table = shown[shown.index("call  ") :]
    assert status == 0
    assert max(map(len, table.splitlines())) <= 60
    assert table.splitlines()[0].split() == ["call", "outcome", *"12345678"]
    assert table.splitlines()[1].split() == ["a", "diagram", "OK", *"✓" * 8]
    assert [line for line in table.splitlines() if line[:2] in {"1 ", "5 "}] == ["1 stdio 2025-11-25", "5 REST"]
    assert "calls: 11, ways: 8, all agree" in table


@pytest.mark.parametrize("columns", [60, 80])
def test_a_difference_is_named_below_a_narrow_table(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ReportRow("mine", "encodePlantUML", "OK", {**dict.fromkeys(NAMES, "same"), "REST": "INVALID_OUTPUT"})
    monkeypatch.setenv("COLUMNS", str(columns))

    drawn = _narrow_table(ParityReport(NAMES, [row], None))

    assert max(map(len, drawn.splitlines())) <= columns
    assert drawn.splitlines()[1].split() == ["mine", "OK", *"✓" * 4, "!", *"✓" * 3]
    assert drawn.splitlines()[-1] == "mine: REST INVALID_OUTPUT"


def chunks(terminal: int) -> Iterator[bytes]:
    """Read the output of a terminal until it is closed."""
    while True:
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def test_output_that_can_carry_no_signs_has_words(tmp_path: Path) -> None:
    calls = corpus(tmp_path, {"name": "mine", "tool": "encodePlantUML", "arguments": DIAGRAM})

    done = parity("--corpus", calls, "--toolsets", "plantuml", env={**FIRST_AND_LAST_DOOR, "PYTHONIOENCODING": "ascii"})

    assert done.returncode == 0
    assert done.stdout.splitlines()[2].split() == ["mine", "OK", "ok", "ok"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_all_that_was_started(tmp_path: Path, number: signal.Signals, status: int) -> None:
    arguments = {"source": "leetcode", "id": "9001"}
    calls = corpus(
        tmp_path, {"name": "stuck", "tool": "get_problem", "arguments": arguments, "order": [{"fault": "hang"}]}
    )
    command = [SIGNET, "parity", "--corpus", calls]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_env(FIRST_AND_LAST_DOOR))
    try:
        pids = children(process.pid)
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()

    assert (process.returncode, out) == (status, b"")
    assert [pid for pid in pids if is_alive(pid)] == []


def children(pid: int) -> list[int]:
    """Return the ids of the child processes, once there is one for each of two channels."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
        if len(done.stdout.split()) == 2:
            return [int(pid) for pid in done.stdout.split()]
    raise AssertionError("they were not started")


def test_the_command_line_writes_down_what_a_plain_tool_did(tmp_path: Path) -> None:
    env = {"SIGNET_LOG_DIR": str(tmp_path)}
    run("call", "encodePlantUML", "plantumlCode=A -> B", env=env)

    (journal,) = tmp_path.rglob("*.latest.jsonl")
    record = json.loads(journal.read_text())

    assert (record["transport"], record["route"], record["status"]) == ("cli", "call", "ok")


def test_where_no_terminal_is_the_progress_is_written_as_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))

    with command._progress(3) as on_progress:
        for _ in range(3):
            on_progress(CALLS[0], CHANNELS[0])

    assert capsys.readouterr().err.splitlines() == [
        "signet: comparing 3 calls through 8 doors",
        "signet: 2 of 24 calls",
    ]
