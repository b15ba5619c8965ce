"""Recordings that version 0.2.0 has made: this version plays them, and gives the bytes that the recorded runs gave.

Each folder of `fixtures/recordings-0.2.0` has a recording, the messages of a client (`asked.jsonl`), and the answers
when 0.2.0 recorded it (`answered.jsonl`). The ids of questions that a server asks its client are random.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from processes import SIGNET, Pipe, piping, run

RECORDINGS = Path(__file__).parents[1] / "fixtures/recordings-0.2.0"
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ann"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Thought."}},
}
QUESTION_ID = re.compile(rb'"id":"signet-[0-9]+-[0-9a-f]{16}"')
NOWHERE = {"API": "http://127.0.0.1:9"}
"""The service of the recorded tools is gone."""


def copied(name: str, folder: Path) -> str:
    """Return a copy of a recording, in which a replay could write."""
    return str(shutil.copytree(RECORDINGS / name / "recording", folder / "recording"))


def answered(pipe: Pipe, name: str) -> bytes:
    """Say what the client of a recording said; return all that it is answered."""
    lines = []
    for line in (RECORDINGS / name / "asked.jsonl").read_bytes().splitlines():
        said = json.loads(line)
        pipe.send(said)
        while "id" in said:
            lines.append(pipe.line())
            message = json.loads(lines[-1])
            if "method" not in message:
                break
            if "id" in message:
                pipe.send({"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]})
    return b"".join(line.rstrip(b"\n") + b"\n" for line in lines)


def replayed(name: str, *words: str) -> bytes:
    with piping(SIGNET, *words, env=NOWHERE) as pipe:
        answers = answered(pipe, name)
        status, rest, err = pipe.finish()
    assert (status, rest) == (0, b""), err
    return answers


def assert_same_bytes(name: str, again: bytes) -> None:
    recorded = (RECORDINGS / name / "answered.jsonl").read_bytes()

    assert QUESTION_ID.sub(b"", again) == QUESTION_ID.sub(b"", recorded)
    assert recorded.count(b"\n") > 2


@pytest.mark.parametrize(
    ("name", "flags"),
    [("judge-and-bank", ()), ("paged-service", ("--toolsets", str(RECORDINGS / "paged-service/paged_tools.py")))],
)
def test_a_recording_of_upstreams_replays_byte_for_byte(tmp_path: Path, name: str, flags: tuple[str, ...]) -> None:
    folder = copied(name, tmp_path)

    assert_same_bytes(name, replayed(name, "stdio", "--replay", folder, "--deterministic-ids", *flags))


@pytest.mark.parametrize("name", ["server-of-handshake", "server-of-modern", "two-servers"])
def test_a_recording_of_servers_replays_byte_for_byte(tmp_path: Path, name: str) -> None:
    folder = copied(name, tmp_path)

    assert_same_bytes(name, replayed(name, "wrap", "--replay", folder))


@pytest.mark.parametrize(
    ("name", "flags", "counted"),
    [
        ("judge-and-bank", (), "calls: 6, same: 6, different: 0"),
        (
            "paged-service",
            ("--toolsets", str(RECORDINGS / "paged-service/paged_tools.py")),
            "calls: 4, same: 4, different: 0",
        ),
        ("server-of-handshake", (), "calls: 5, same: 5, different: 0"),
        ("server-of-modern", (), "calls: 5, same: 5, different: 0"),
        ("two-servers", (), "calls: 3, same: 3, different: 0"),
    ],
)
def test_its_calls_are_the_same_when_they_are_made_again(
    tmp_path: Path, name: str, flags: tuple[str, ...], counted: str
) -> None:
    folder = copied(name, tmp_path)

    done = run("replay", folder, *flags, env=NOWHERE)

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines()[-1] == counted


def test_a_recording_of_several_servers_is_not_continued(tmp_path: Path) -> None:
    folder = copied("two-servers", tmp_path)

    done = run("wrap", "--record", folder, "--", "true")
    upstreams = run("call", "encodePlantUML", "plantumlCode=A", "--record", folder)

    for refused in (done, upstreams):
        assert refused.returncode == 2
        assert b"is a recording of version 0.2.0, which cannot be continued" in refused.stderr
    assert sorted(path.name for path in Path(folder).iterdir()) == ["sea", "sky"]
