"""Labels of version 0.2.0 that are damaged or hostile: each is a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from signet.recording.folder import read_recording
from signet.recording.label import RecordingError
from signet.recording.old_formats import old_body, old_message, old_target

TAPE = {"format": 1, "server": "sky", "source": "c", "started": "2026-11-16T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cassette.json", "{", r"cassette\.json in .* cannot be read"),
        ("cassette.json", '{"version":"0","toolsets":5,"settings":{}}', r"cassette\.json in .* cannot be read"),
        ("cassette.json", '{"settings":' + "[" * 3000, r"cassette\.json in .* cannot be read"),
        ("tape.json", "{}", r"tape\.json in .* cannot be read"),
        ("tape.json", json.dumps({**TAPE, "format": 9}), "is a recording of a newer format"),
        ("one/tape.json", "[]", r"tape\.json in .*one cannot be read"),
    ],
)
def test_a_damaged_label_is_a_sentence(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(RecordingError, match=words):
        read_recording(str(tmp_path))


@pytest.mark.parametrize("name", ["cassette.json", "tape.json", "recording.json"])
def test_a_label_is_not_read_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "aside").write_text(json.dumps(TAPE), encoding="utf-8")
    os.symlink(tmp_path / "aside", tmp_path / name)

    with pytest.raises(RecordingError, match="Is a symbolic link"):
        read_recording(str(tmp_path))


def test_the_name_of_a_server_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "tape.json").write_text(json.dumps({**TAPE, "server": "../../Else where"}), encoding="utf-8")

    found = read_recording(str(tmp_path))

    assert found.servers == {"______else_where": str(tmp_path)}


def test_servers_of_several_folders_are_played_under_their_names(tmp_path: Path) -> None:
    for name in ("sky", "sea"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tape.json").write_text(json.dumps({**TAPE, "server": name}), encoding="utf-8")

    found = read_recording(str(tmp_path))

    assert found.servers == {"sea": str(tmp_path / "sea"), "sky": str(tmp_path / "sky")}
    assert [server.served for server in found.label.servers.values()] == [{"prefixed": True}] * 2
    with pytest.raises(RecordingError, match="is a recording of several servers: choose one of"):
        found.server()


def test_requests_are_looked_up_as_version_0_2_0_wrote_them() -> None:
    assert old_target("/items?page_token=t1&size=5") == "/items?page_token=%5Bredacted%5D&size=5"
    assert old_body(b'{"pageToken": null, "max_tokens": 5, "a": {"b": 1}}') == (
        b'{"pageToken":"[redacted]","max_tokens":"[redacted]","a":{"b":1}}'
    )
    assert old_body(b"not JSON") == b"not JSON"
    assert old_message(b'{"page_token": "t1", "max_tokens": 5, "tokens": ["a", 1], "progressToken": "p"}') == (
        b'{"page_token":"[redacted]","max_tokens":5,"tokens":["[redacted]",1],"progressToken":"p"}'
    )
