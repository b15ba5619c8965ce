"""The folder of a tape: what is written, what never is, and what is left when the disk or the process ends."""

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
from signet.mcp.link import LinkError
from signet.relay.recording_link import RecordingLink
from signet.relay.tape import TapeWriter, read_label
from signet.settings.server_spec import ServerSpec
from tape_harness import SPEC, Client, PlayedServer, lines, record, replay, talk_to

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

    label = json.loads((tmp_path / "t/tape.json").read_bytes())
    assert label["format"] == 1
    assert (label["server"], label["source"]) == ("played", "played-server --verbose")
    assert (label["era"], label["protocol"]) == ("handshake", "2025-11-25")
    assert label["snapshot"].startswith("sha256:")
    files = [path.stat().st_mode for path in (tmp_path / "t").iterdir()]
    assert [stat.S_IMODE(mode) for mode in files] == [0o600, 0o600]


def test_the_digest_is_of_what_the_server_says(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        record(tmp_path / folder, listed)
    record(tmp_path / "c", echo)

    digests = [read_label(str(tmp_path / folder)).snapshot for folder in ("a", "b", "c")]
    assert digests[0] == digests[1]
    assert digests[2] == ""


def test_several_connections_share_a_tape(tmp_path: Path) -> None:
    async def both() -> None:
        tape = TapeWriter(str(tmp_path), SPEC, (), pytest.fail)
        links = [RecordingLink(PlayedServer(), tape) for _ in range(2)]
        async with Client(links[0]) as one, Client(links[1]) as other:
            await one.call("echo", text="a")
            await other.call("echo", text="b")
            await one.call("echo", text="c")
        tape.close()

    asyncio.run(both())

    assert [line["connection"] for line in lines(tmp_path)] == [1, 1, 3, 3, 1, 1]


def test_recording_again_goes_on_with_the_tape(tmp_path: Path) -> None:
    record(tmp_path, echo)
    with (tmp_path / "messages.jsonl").open("ab") as file:
        file.write(b'{"connection":9,"dir')

    record(tmp_path, echo)

    found = lines(tmp_path)
    assert [line["sequence"] for line in found] == list(range(1, 11))
    assert {line["connection"] for line in found} == {1, 6}
    assert [line["ms"] for line in found] == sorted(line["ms"] for line in found)


@pytest.mark.parametrize(
    "spec", [ServerSpec(name="other", command=SPEC.command), ServerSpec(name="played", url="https://h.example/mcp")]
)
def test_the_tape_of_another_server_is_refused_and_left_alone(tmp_path: Path, spec: ServerSpec) -> None:
    record(tmp_path, echo)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    with pytest.raises(LinkError, match=r"is a tape of played \(played-server --verbose\), not of"):
        TapeWriter(str(tmp_path), spec, (), pytest.fail)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_tape_is_recorded_by_one_at_a_time(tmp_path: Path) -> None:
    first = TapeWriter(str(tmp_path), SPEC, (), pytest.fail)

    with pytest.raises(LinkError, match="another process is recording"):
        TapeWriter(str(tmp_path), SPEC, (), pytest.fail)
    first.close()
    TapeWriter(str(tmp_path), SPEC, (), pytest.fail).close()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LinkError, match="cannot record into"):
        TapeWriter(str(tmp_path / "file"), SPEC, (), pytest.fail)


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
def test_no_secret_of_the_server_is_on_the_tape(tmp_path: Path, spec: ServerSpec) -> None:
    async def leak(client: Client) -> Any:
        await client.greet()
        escaped = CANARY.replace("/", "%2F")
        return await client.call("echo", text=f"it says {CANARY} and {escaped}", language="francais")

    live = record(tmp_path, leak, spec=spec)

    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"canary-4f9a" not in written
    assert b"francais" in written
    assert "canary-4f9a" in live["result"]["content"][0]["text"]


def test_a_secret_of_the_process_is_removed_and_its_call_is_found_again(tmp_path: Path) -> None:
    async def leak(client: Client) -> Any:
        return await client.call("echo", key=CANARY)

    record(tmp_path, leak, secrets=(CANARY,))

    assert b"canary" not in (tmp_path / "messages.jsonl").read_bytes()
    told = replay(tmp_path, leak, secrets=(CANARY,))
    assert json.loads(told["result"]["content"][0]["text"]) == {"key": "[redacted]"}


def test_values_with_the_name_of_a_secret_are_removed_and_numbers_and_schemas_are_kept(tmp_path: Path) -> None:
    async def labelled(client: Client) -> Any:
        await listed(client)
        return await client.call("echo", token=CANARY, usage={"total_tokens": 5}, secrets=[CANARY, 3])

    record(tmp_path, labelled)

    written = (tmp_path / "messages.jsonl").read_bytes()
    assert b"canary" not in written
    assert b'"total_tokens":5' in written.replace(b" ", b"").replace(b"\\", b"")
    assert b'"properties":{"token":{"type":"string"}' in written


def test_what_is_no_json_is_kept_as_text_and_batches_are_taken_apart(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path), SPEC, (CANARY,), pytest.fail)
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
    tape = TapeWriter(str(tmp_path), SPEC, (), warnings.append)
    os.close(tape._file)
    tape._file = os.open("/dev/full", os.O_WRONLY)

    async def calls(client: Client) -> int:
        return ["result" in await client.call("echo", text=str(number)) for number in range(20)].count(True)

    assert talk_to(RecordingLink(PlayedServer(), tape), calls) == 20
    tape.close()
    assert warnings == [f"No space left on device: {tmp_path}"]


def test_a_disk_that_is_too_slow_costs_messages_and_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.relay.tape.MAX_WAITING_BYTES", 1_000_000)
    warnings: list[str] = []
    tape = TapeWriter(str(tmp_path), SPEC, (), warnings.append)
    os.close(tape._file)
    # A pipe that nobody reads stands for the disk.
    disk, tape._file = os.pipe()
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
    assert warnings == ["the disk is slower than the server; messages are missing on the tape"]


KILLED = """
import asyncio, os, signal, sys
sys.path[:0] = [sys.argv[2]]
from tape_harness import *
async def run():
    tape = TapeWriter(sys.argv[1], SPEC, (), print)
    async with Client(RecordingLink(PlayedServer(), tape)) as client:
        for number in range(200):
            await client.call("echo", n=number)
        while os.path.getsize(sys.argv[1] + "/messages.jsonl") < 10_000:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(run())
"""


def test_a_killed_process_leaves_a_tape_that_can_be_played(tmp_path: Path) -> None:
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

    written = (tmp_path / "messages.jsonl").read_text()
    assert "canary" not in written
    assert written.count("access_token=[redacted]&b=2") == 4
    assert written.count("Bearer [redacted] or not") == 4
    assert '"key":"kept"' in written.replace("\\", "").replace(" ", "")
