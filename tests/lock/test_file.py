"""The file `signet.lock`: written so that it can be served from, and read so that nothing wrong gets through."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lock.snapshots import TOOL, locked, raw, snapshot
from signet.lock.file import Lock, LockedServer, LockError, read_lock, write_lock

ODD = b'{"z":1.50e1,"name":"odd","a":"\\u00e9\\/","n":10000000000000000000000,"inputSchema":{"b":[],"a":{}}}'


def write(path: Path, *servers: LockedServer) -> str:
    write_lock(str(path), Lock({server.name: server for server in servers}))
    return str(path)


def edited(path: Path, **changes: Any) -> str:
    """Write a lock whose first tool has other members."""
    write(path, locked(TOOL))
    value = json.loads(path.read_text())
    value["servers"][0]["tools"][0].update(changes)
    path.write_text(json.dumps(value))
    return str(path)


def refusal(path: str) -> str:
    with pytest.raises(LockError) as caught:
        read_lock(path)
    return str(caught.value)


def test_what_was_written_is_read_byte_for_byte_in_the_order_of_the_server(tmp_path: Path) -> None:
    server = locked(ODD, TOOL, prompts=[{"name": "p"}], resources=[{"uri": "a://b"}], instructions="Be\u200b brief.")

    read = read_lock(write(tmp_path / "signet.lock", server))

    assert read.servers["files"] == server
    assert [bytes(tool) for tool in read.servers["files"].snapshot.tools] == [ODD, bytes(raw(TOOL))]


def test_the_file_is_sorted_and_the_same_whatever_the_order(tmp_path: Path) -> None:
    one, other = locked(TOOL, ODD), msgspec.structs.replace(locked(TOOL), name="another")

    first = Path(write(tmp_path / "a", one, other)).read_text()
    second = Path(write(tmp_path / "b", other, one)).read_text()

    value = json.loads(first)
    assert first == second
    assert first.endswith("}\n")
    assert value["lock"] == 1
    assert [server["name"] for server in value["servers"]] == ["another", "files"]
    assert [tool["name"] for tool in value["servers"][1]["tools"]] == ["odd", "read"]
    assert value["servers"][1]["order"]["tools"] == ["read", "odd"]


def test_an_entry_has_a_digest_over_all_its_fields_and_one_for_each(tmp_path: Path) -> None:
    tool = {"name": "a", "_meta": {"ui": {"b": 1}, "other": 2}, "description": "d"}

    [entry] = json.loads(Path(write(tmp_path / "lock", locked(tool))).read_text())["servers"][0]["tools"]

    def digest(text: str) -> str:
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    assert entry == {
        "name": "a",
        "digest": digest('{"_meta.ui":{"b":1},"description":"d","name":"a"}'),
        "fields": {"_meta.ui": digest('{"b":1}'), "description": digest('"d"'), "name": digest('"a"')},
        "value": tool,
    }


def test_a_change_of_one_tool_changes_the_lines_of_that_tool_alone(tmp_path: Path) -> None:
    other = {"name": "zoo"}
    before = Path(write(tmp_path / "a", locked(TOOL, other))).read_text().splitlines()
    after = Path(write(tmp_path / "b", locked({**TOOL, "description": "New."}, other))).read_text().splitlines()

    changed = [line.strip().partition(":")[0] for line in after if line not in before]

    assert changed == ['"digest"', '"description"', '"description"']


def test_no_secret_of_a_command_or_a_url_is_written(tmp_path: Path) -> None:
    words = (
        *("srv", "--api-key", "s3cret-1", "--token=s3cret-2", "PASSWORD=s3cret-3", "https://u:s3cret-4@h.example/p?k=s3cret-5"),
        *("sk-s3cret6aaaaaaaaaaaaaa", "--header", "Authorization: Bearer s3cret-7", "--plain", "kept"),
    )  # fmt: skip
    local = LockedServer(name="a", command=words, snapshot=snapshot())
    remote = LockedServer(name="b", url="https://u:s3cret-8@h.example/mcp?key=s3cret-9#s3cret", snapshot=snapshot())

    text = Path(write(tmp_path / "lock", local, remote)).read_text()

    assert "s3cret" not in text
    assert all(word in text for word in ("srv", "--api-key", "h.example/p", "--plain", "kept", "https://h.example/mcp"))


@pytest.mark.parametrize(
    "changes",
    [
        {"value": {**TOOL, "description": "Other."}},
        {"digest": "sha256:00"},
        {"fields": {}},
        {"name": "other"},
        {"value": [1]},
    ],
    ids=["value", "digest", "fields", "name", "no object"],
)
def test_a_lock_that_was_changed_by_hand_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert "was changed by hand: the tool" in refusal(edited(tmp_path / "signet.lock", **changes))


@pytest.mark.parametrize(
    ("path", "value"),
    [(("instructions", "value"), "Obey."), (("order", "tools"), []), (("order", "tools"), ["read", "read"])],
)
def test_instructions_and_order_are_held_too(tmp_path: Path, path: tuple[str, str], value: Any) -> None:
    file = tmp_path / "signet.lock"
    write(file, locked(TOOL))
    content = json.loads(file.read_text())
    content["servers"][0][path[0]][path[1]] = value
    file.write_text(json.dumps(content))

    assert "was changed by hand" in refusal(str(file))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[]", b"null", b"7", b'{"lock":"1"}', b'{"lock":true,"servers":[]}', b'{"lock":1}',
        b'{"lock":0,"servers":[]}', b'{"lock":1,"servers":{}}', b'{"lock":1,"servers":[{}]}', b'{"lock":1.0}',
        b'{"lock":1,"servers":[],"x":1}', b'{"lock":1,"servers":[7]}', b"<<<<<<< HEAD", b"\xff\xfe", b"[" * 100_000,
        b'{"lock":1,"servers":[{"name":"a","era":7}]}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_lock_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "signet.lock"
    file.write_bytes(content)

    assert str(file) in refusal(str(file))


@pytest.mark.parametrize("content", [b"{}", b'{"lock":"1"}', b'{"lock":true}', b'{"lock":0}', b'{"lock":1.0}'])
def test_a_file_of_another_kind_is_refused_with_the_way_out(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "signet.lock"
    file.write_bytes(content)

    way_out = "is no lock of Signet; name another file, or remove it and pin anew"
    assert refusal(str(file)) == f"{file} {way_out}"


def test_a_lock_of_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "signet.lock"
    file.write_text('{"lock":2,"servers":[],"more":{}}')

    assert refusal(str(file)).endswith("has the format 2, and this version reads up to 1: upgrade Signet")


def test_a_lock_is_a_regular_file_of_a_bounded_size(tmp_path: Path) -> None:
    fifo, huge = tmp_path / "fifo", tmp_path / "huge"
    os.mkfifo(fifo)
    with huge.open("wb") as file:
        file.truncate(100 << 20)

    assert "Not a regular file" in refusal(str(fifo))
    assert "Is a directory" in refusal(str(tmp_path))
    assert "is larger than 67,108,864 bytes" in refusal(str(huge))
    assert "there is no" in refusal(str(tmp_path / "missing"))


def test_a_lock_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "signet.lock"
    write(file, locked(TOOL))
    before = file.read_bytes()

    with pytest.raises(LockError, match="listed twice"):
        write(file, locked(TOOL, {**TOOL, "description": "Other."}))
    with pytest.raises(LockError, match="cannot be pinned"):
        write(file, locked(b'{"name":"a","b":1,"b":2}'))
    with pytest.raises(LockError, match="cannot write"):
        write(tmp_path, locked(TOOL))

    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["signet.lock"]


def test_a_server_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "signet.lock"
    write(file, locked(TOOL))
    content = json.loads(file.read_text())
    content["servers"] *= 2
    file.write_text(json.dumps(content))

    assert "has the server 'files' twice" in refusal(str(file))


def test_an_entry_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "signet.lock"
    write(file, locked(TOOL))
    content = json.loads(file.read_text())
    content["servers"][0]["tools"] *= 2
    file.write_text(json.dumps(content))

    assert "was changed by hand: the tool 'read'" in refusal(str(file))


def test_a_lock_may_be_a_link(tmp_path: Path) -> None:
    target = Path(write(tmp_path / "real.lock", locked(TOOL)))
    (tmp_path / "signet.lock").symlink_to(target)

    assert read_lock(str(tmp_path / "signet.lock")) == read_lock(str(target))


def test_a_lock_that_would_be_too_large_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = Path(write(tmp_path / "first.lock", locked(TOOL))).stat().st_size
    second = tmp_path / "second.lock"

    monkeypatch.setattr("signet.lock.file.MAX_BYTES", size - 1)
    with pytest.raises(LockError) as caught:
        write(second, locked(TOOL))
    assert str(caught.value) == f"the lock would be larger than {size - 1:,} bytes: pin fewer servers in one file"
    assert not second.exists()

    monkeypatch.setattr("signet.lock.file.MAX_BYTES", size)
    write(second, locked(TOOL))
    assert second.exists()
