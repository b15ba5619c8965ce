"""The folder of a recording under attack: nothing in it blocks a server or is written through."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
from hashlib import sha256
from pathlib import Path

import pytest

import oj_harness
from commands_in_process import run_here
from door_calls import rpc
from planted_files import LINKS, OBSTACLES, obstruct
from processes import PATIENCE_S, SIGNET, Pipe, piping, serving
from signet.kernel.errors import Fault
from signet.recording.exchanges import ExchangeReader, ExchangeWriter
from signet.recording.folder import read_recording
from signet.recording.label import Recording, RecordingLabel, new_label
from signet.recording.upstream import replayed_today

PROBLEM = {"source": oj_harness.SAMPLE[0], "id": oj_harness.SAMPLE[1]}
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def calls(pipe: Pipe, count: int) -> int:
    """Make calls and return the number of good answers."""
    asked = rpc("tools/call", {"name": "get_problem", "arguments": PROBLEM})
    return sum(pipe.ask(asked)["result"]["isError"] is False for _ in range(count))


def record(tape: Path, number: signal.Signals) -> tuple[int, int, bytes]:
    """Record calls, send a signal; return the number of good answers, the status and stderr."""
    flags = ("--toolsets", "oj", "--sandbox", "--record", str(tape))
    with piping(SIGNET, "stdio", *flags, env=oj_harness.DIRECT) as pipe:
        good = calls(pipe, 10)
        pipe.process.send_signal(number)
        status, _, err = pipe.finish()
    return good, status, err


@pytest.mark.parametrize("name", ["recording.json", "calls.jsonl"])
@pytest.mark.parametrize("kind", [kind for kind in OBSTACLES if kind not in LINKS])
def test_an_obstacle_in_the_place_of_a_file_is_one_warning_and_no_failed_call(
    tmp_path: Path, kind: str, name: str
) -> None:
    is_intact = obstruct(tmp_path / "tape" / name, kind, tmp_path / "aside")

    good, status, err = record(tmp_path / "tape", SIGNALS[len(kind + name) % 2])

    assert (good, status) == (10, 0)
    if (name, kind) == ("recording.json", "hard link"):  # its name is replaced, the file is not written to
        assert (tmp_path / "aside/target").read_bytes() == b"theirs\n"
    else:
        assert err.count(b"record.unwritable") == 1
        assert is_intact()


@pytest.mark.parametrize("kind", LINKS)
def test_calls_are_not_written_through_a_link(tmp_path: Path, kind: str) -> None:
    is_intact = obstruct(tmp_path / "tape/calls.jsonl", kind, tmp_path / "aside")

    good, status, err = record(tmp_path / "tape", SIGNALS[len(kind) % 2])

    assert (good, status) == (10, 0)
    assert err.count(b"record.unwritable") == 1
    assert b"Is a symbolic link" in err
    assert is_intact()


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_in_the_place_of_the_label_is_neither_read_nor_written_through(tmp_path: Path, kind: str) -> None:
    label = tmp_path / "tape/recording.json"
    obstruct(label, kind, tmp_path / "aside")
    theirs = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    good, status, _ = record(tmp_path / "tape", SIGNALS[len(kind) % 2])

    assert (good, status) == (10, 0)
    assert label.is_symlink() is False
    assert list(json.loads(label.read_bytes())["toolsets"]) == ["oj"]
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == theirs


def test_an_http_server_with_fifos_in_its_recording_answers_everybody_and_ends(tmp_path: Path) -> None:
    for name in ("recording.json", "calls.jsonl"):
        os.mkfifo(tmp_path / name)
    flags = ("--toolsets", "oj", "--sandbox", "--record", str(tmp_path))

    with serving(*flags, env=oj_harness.DIRECT) as server:
        for _ in range(10):
            assert server.post("/api/tools/get_problem", PROBLEM).status == 200
            assert server.ask("GET", "/healthz").status == 200
        server.process.terminate()
        assert server.process.wait(PATIENCE_S) == 0
        assert server.stderr().count("record.unwritable") == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_lock_that_another_process_keeps_is_one_warning(tmp_path: Path, number: signal.Signals) -> None:
    with (tmp_path / "calls.jsonl").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        good, status, err = record(tmp_path, number)

    assert (good, status) == (10, 0)
    assert err.count(b"record.unwritable") == 1
    assert b"Locked by another process" in err


def test_a_line_that_a_killed_process_has_left_in_half_spoils_no_later_one(tmp_path: Path) -> None:
    writer = ExchangeWriter(str(tmp_path), new_label(), print)
    writer.keep_calls([b'{"n":1}'])
    with (tmp_path / "calls.jsonl").open("ab") as file:
        file.write(b'{"n":2,"ha')

    writer.keep_calls([b'{"n":3}', b'{"n":4}'])

    assert (tmp_path / "calls.jsonl").read_bytes() == b'{"n":1}\n{"n":3}\n{"n":4}\n'


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_recording_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        good, status, err = record(tmp_path / "new/tape", signal.SIGTERM)
    finally:
        os.umask(before)

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert (good, status, err) == (10, 0, b"")
    assert len([path for path in modes if path.suffix == ".json"]) == 11, "a label, and a file per exchange"
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize("kind", OBSTACLES)
def test_an_exchange_is_never_written_through_what_is_in_its_place(tmp_path: Path, kind: str) -> None:
    warnings: list[str] = []
    writer = ExchangeWriter(str(tmp_path / "tape"), new_label(), warnings.append)
    writer.keep("name", "first", b"one")
    obstruct(tmp_path / "tape/exchanges/name.2.call.json", kind, tmp_path / "aside")
    theirs = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    for _ in range(2):
        writer.keep("name", "call", b"mine")

    read = ExchangeReader(read_recording(str(tmp_path / "tape")))
    assert len(warnings) == (0 if kind in {*LINKS, "hard link"} else 1)
    assert b"mine" in {read.read(file) for _ in range(3) for file in read.next_call("name")}
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == theirs


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording, to be read only."""
    folder = tmp_path_factory.mktemp("recording")
    record(folder, signal.SIGTERM)
    return folder


@pytest.mark.parametrize("name", ["journal.jsonl", "calls.jsonl", "recording.json"])
@pytest.mark.parametrize("kind", ["FIFO", "link to /dev/zero", "folder", "dangling link"])
def test_a_replay_of_something_else_than_a_file_ends_in_a_sentence(
    tmp_path: Path, tape: Path, kind: str, name: str
) -> None:
    folder = tmp_path / "tape"
    obstruct(folder / name, kind, tmp_path / "aside")
    (journal,) = (tape / "mcp_server/envelope_validation").glob("*Z.*.jsonl")
    for path in (journal, tape / "calls.jsonl", tape / "recording.json"):
        copy = folder / ("journal.jsonl" if path == journal else path.name)
        if copy.name != name:
            copy.write_bytes(path.read_bytes())

    done = run_here("replay", str(folder / "journal.jsonl"), "--recording", str(folder))

    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1


def test_a_fifo_in_the_place_of_an_exchange_is_told_as_not_recorded(tmp_path: Path) -> None:
    record(tmp_path, signal.SIGTERM)
    for path in list((tmp_path / "exchanges").glob("?" * 64 + ".*.json")):
        path.unlink()
        os.mkfifo(path)

    done = run_here("call", "get_problem", "--json", json.dumps(PROBLEM), "--replay", str(tmp_path))

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "NOT_RECORDED"


def test_a_recorded_date_that_is_not_utf_8_is_told_as_not_recorded(tmp_path: Path) -> None:
    name = sha256(b"boj\nwhat day it is").hexdigest()
    exchange = {"toolset": "boj", "target": "what day it is", "answer": {"status": 200, "base64": "gA=="}}
    (tmp_path / f"{name}.1.a.json").write_text(json.dumps(exchange), encoding="utf-8")

    with pytest.raises(Fault) as caught:
        replayed_today("boj", ExchangeReader(Recording("", RecordingLabel(1), str(tmp_path))))

    assert caught.value.name == "NOT_RECORDED"
