"""The recorded messages of a server: what is written, what never is, and what is left when disk or process ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S, ROOT
from recorded_links import SPEC, Client, PlayedServer, begin, lines, messages, record, replay, talk_to
from signet.recording.folder import read_recording
from signet.recording.label import RecordingError
from signet.recording.message_writer import RecordingLink
from signet.settings.server_spec import ServerSpec

CANARY = "canary-4f9a/2b7=c1"


async def echo(client: Client) -> Any:
    return [await client.greet(), await client.call("echo", text="a")]


async def listed(client: Client) -> Any:
    return [await client.greet(), await client.ask("tools/list"), await client.ask("tools/list", {"cursor": "more"})]


def test_each_message_is_a_line_in_the_order_in_which_they_passed(tmp_path: Path) -> None:
    record(tmp_path / "t", echo)

    found = lines(tmp_path / "t")
    assert [(line["connection"], line["sequence"], line["direction"]) for line in found] == [
        (1, 1, "to_server"),
        (1, 2, "to_client"),
        (1, 3, "to_server"),
        (1, 4, "to_server"),
        (1, 5, "to_client"),
    ]
    assert [line["message"].get("method") for line in found] == [
        "initialize", None, "notifications/initialized", "tools/call", None,
    ]  # fmt: skip
    assert [line["ms"] for line in found] == sorted(line["ms"] for line in found)


def test_the_label_tells_what_was_recorded(tmp_path: Path) -> None:
    record(tmp_path / "t", listed)

    label = json.loads((tmp_path / "t/recording.json").read_bytes())
    assert label["format"] == 1
    assert list(label["servers"]) == ["played"]
    server = label["servers"]["played"]
    assert server["source"] == "played-server --verbose"
    assert (server["era"], server["protocol"]) == ("handshake", "2025-11-25")
    assert server["snapshot"].startswith("sha256:")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "t").rglob("*")}
    assert modes == {"recording.json": 0o600, "servers": 0o700, "played": 0o700, "messages.jsonl": 0o600}


def test_the_digest_is_of_what_the_server_says(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        record(tmp_path / folder, listed)
    record(tmp_path / "c", echo)

    digests = [read_recording(str(tmp_path / folder)).label.servers["played"].snapshot for folder in ("a", "b", "c")]
    assert digests[0] == digests[1]
    assert digests[2] == ""


def test_several_connections_share_a_recording(tmp_path: Path) -> None:
    async def both() -> None:
        tape = begin(tmp_path, pytest.fail)
        links = [RecordingLink(PlayedServer(), tape) for _ in range(2)]
        async with Client(links[0]) as one, Client(links[1]) as other:
            await one.call("echo", text="a")
            await other.call("echo", text="b")
            await one.call("echo", text="c")
        tape.close()

    asyncio.run(both())

    assert [line["connection"] for line in lines(tmp_path)] == [1, 1, 3, 3, 1, 1]


def test_recording_again_goes_on_with_what_is_recorded(tmp_path: Path) -> None:
    record(tmp_path, echo)
    with messages(tmp_path).open("ab") as file:
        file.write(b'{"connection":9,"dir')

    record(tmp_path, echo)

    found = lines(tmp_path)
    assert [line["sequence"] for line in found] == list(range(1, 11))
    assert {line["connection"] for line in found} == {1, 6}
    assert [line["ms"] for line in found] == sorted(line["ms"] for line in found)


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_server_of_the_same_name_is_refused_and_the_recording_left_alone(tmp_path: Path) -> None:
    record(tmp_path, echo)
    before = content(tmp_path)

    with pytest.raises(RecordingError, match=r"is a recording of played \(played-server --verbose\), not of played"):
        begin(tmp_path, pytest.fail, ServerSpec(name="played", url="https://h.example/mcp"))

    assert content(tmp_path) == before


def test_a_server_of_another_name_is_recorded_beside_it(tmp_path: Path) -> None:
    record(tmp_path, echo)
    began = messages(tmp_path).read_bytes()

    record(tmp_path, echo, spec=ServerSpec(name="other", command=SPEC.command))

    assert messages(tmp_path).read_bytes() == began
    recording = read_recording(str(tmp_path))
    assert {name: server.era for name, server in recording.label.servers.items()} == {
        "played": "handshake",
        "other": "handshake",
    }
    assert {name: Path(folder).relative_to(tmp_path) for name, folder in recording.servers.items()} == {
        "played": Path("servers/played"),
        "other": Path("servers/other"),
    }


@pytest.mark.parametrize("label", ["cassette.json", "tape.json"])
def test_a_recording_of_version_0_2_0_is_not_continued(tmp_path: Path, label: str) -> None:
    (tmp_path / label).write_text("{}", encoding="utf-8")

    with pytest.raises(RecordingError, match=r"is a recording of version 0\.2\.0, which cannot be continued"):
        begin(tmp_path, pytest.fail)

    assert [path.name for path in tmp_path.iterdir()] == [label]


def test_messages_without_a_label_are_refused(tmp_path: Path) -> None:
    record(tmp_path, echo)
    (tmp_path / "recording.json").unlink()

    with pytest.raises(RecordingError, match="holds messages without a label"):
        begin(tmp_path, pytest.fail)


def test_a_server_is_recorded_by_one_process_at_a_time(tmp_path: Path) -> None:
    first = begin(tmp_path, pytest.fail)

    with pytest.raises(RecordingError, match="another process is recording 'played' into"):
        begin(tmp_path, pytest.fail)
    first.close()
    begin(tmp_path, pytest.fail).close()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RecordingError, match="cannot record into"):
        begin(tmp_path / "file", pytest.fail)


SECRETIVE = ServerSpec(
    name="played",
    command=(
        "played-server",
        "--api-key",
        CANARY,
        f"--token={CANARY}",
        f"https://u:{CANARY}@h.example/?access_token={CANARY}",
    ),
    headers=(("Authorization", f"Bearer {CANARY}"),),
    env=(("GITHUB_TOKEN", CANARY), ("LANGUAGE", "francais")),
)


@pytest.mark.parametrize(
    "spec",
    [
        SECRETIVE,
        ServerSpec(name="played", url="https://h.example", headers=SECRETIVE.headers),
        ServerSpec(name="played", command=("c",), env=SECRETIVE.env),
    ],
    ids=["command", "headers", "environment"],
)
def test_no_secret_of_the_server_is_recorded(tmp_path: Path, spec: ServerSpec) -> None:
    async def leak(client: Client) -> Any:
        await client.greet()
        escaped = CANARY.replace("/", "%2F")
        return await client.call("echo", text=f"it says {CANARY} and {escaped}", language="francais")

    live = record(tmp_path, leak, spec=spec)

    written = b"".join(content(tmp_path).values())
    assert b"canary-4f9a" not in written
    assert b"francais" in written
    assert "canary-4f9a" in live["result"]["content"][0]["text"]


def test_a_secret_of_the_process_is_removed_and_its_call_is_found_again(tmp_path: Path) -> None:
    async def leak(client: Client) -> Any:
        return await client.call("echo", key=CANARY)

    record(tmp_path, leak, secrets=(CANARY,))

    assert b"canary" not in messages(tmp_path).read_bytes()
    told = replay(tmp_path, leak, secrets=(CANARY,))
    assert json.loads(told["result"]["content"][0]["text"]) == {"key": "[redacted]"}


def test_values_with_the_name_of_a_secret_are_removed_and_numbers_and_schemas_are_kept(tmp_path: Path) -> None:
    async def labelled(client: Client) -> Any:
        await listed(client)
        return await client.call("echo", token=CANARY, usage={"total_tokens": 5}, secrets=[CANARY, 3])

    record(tmp_path, labelled)

    written = messages(tmp_path).read_bytes()
    assert b"canary" not in written
    assert b'"total_tokens":5' in written.replace(b" ", b"").replace(b"\\", b"")
    assert b'"properties":{"token":{"type":"string"}' in written


def test_what_is_no_json_is_kept_as_text_and_batches_are_taken_apart(tmp_path: Path) -> None:
    tape = begin(tmp_path, pytest.fail, secrets=(CANARY,))
    connection = tape.connect()

    tape.write(connection, "to_client", b"Listening on " + CANARY.encode())
    tape.write(connection, "to_client", b'[{"jsonrpc":"2.0","method":"a"},\n {"jsonrpc":"2.0","method":"b"}]')
    tape.write(connection, "to_client", b'{"jsonrpc":"2.0",\r\n "method":"c"}')
    tape.close()

    found = lines(tmp_path)
    assert found[0]["text"] == "Listening on [redacted]"
    assert [line["message"]["method"] for line in found[1:]] == ["a", "b", "c"]
    assert [line["sequence"] for line in found] == [1, 2, 3, 4]


def test_a_full_disk_is_one_warning_and_no_failed_call(tmp_path: Path) -> None:
    warnings: list[str] = []
    tape = begin(tmp_path, warnings.append)
    os.close(tape._file.descriptor)
    tape._file.descriptor = os.open("/dev/full", os.O_WRONLY)

    async def calls(client: Client) -> int:
        return ["result" in await client.call("echo", text=str(number)) for number in range(20)].count(True)

    assert talk_to(RecordingLink(PlayedServer(), tape), calls) == 20
    tape.close()
    assert warnings == [f"No space left on device: {tmp_path}"]


def test_a_disk_that_is_too_slow_costs_messages_and_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.recording.message_writer.MAX_WAITING_BYTES", 1_000_000)
    warnings: list[str] = []
    tape = begin(tmp_path, warnings.append)
    os.close(tape._file.descriptor)
    # A pipe that nobody reads stands for the disk.
    disk, tape._file.descriptor = os.pipe()
    connection = tape.connect()
    for _ in range(300):
        tape.write(connection, "to_client", b'{"jsonrpc":"2.0","method":"x","params":{"p":"%b"}}' % (b"x" * 10_000))

    assert tape._waiting_bytes <= 1_020_000
    with open(disk, "rb", buffering=0) as reading:
        closing = threading.Thread(target=tape.close)
        closing.start()
        while reading.read(1 << 20):
            pass
        closing.join()
    assert warnings == ["the disk is slower than the server; messages are missing in the recording"]


KILLED = """
import asyncio, os, signal, sys
sys.path[:0] = [sys.argv[2]]
from recorded_links import *
async def run():
    tape = begin(sys.argv[1], print)
    async with Client(RecordingLink(PlayedServer(), tape)) as client:
        for number in range(200):
            await client.call("echo", n=number)
        while os.path.getsize(messages(Path(sys.argv[1]))) < 10_000:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(run())
"""


def test_a_killed_process_leaves_a_recording_that_can_be_played(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "t"), str(ROOT / "tests/support")],
        timeout=PATIENCE_S,
        check=False,
    )

    async def first(client: Client) -> Any:
        return await client.call("echo", n=0)

    assert done.returncode == -signal.SIGKILL
    assert json.loads(replay(tmp_path / "t", first)["result"]["content"][0]["text"]) == {"n": 0}


def test_secrets_in_urls_and_headers_within_texts_are_removed_however_long_the_text(tmp_path: Path) -> None:
    told = f"see https://h.example/?a=1&access_token={CANARY}&b=2\nAuthorization: Bearer {CANARY} or not"

    async def leak(client: Client) -> Any:
        return await client.call("echo", text=f"{'word ' * 9_000}{told}\n{'x' * 40_000}{told}", key="kept")

    record(tmp_path, leak)

    written = messages(tmp_path).read_text()
    assert "canary" not in written
    assert written.count("access_token=[redacted]&b=2") == 4
    assert written.count("Bearer [redacted] or not") == 4
    assert '"key":"kept"' in written.replace("\\", "").replace(" ", "")
