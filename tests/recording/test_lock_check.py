"""A recording against the lock: a sentence for each definition that differs and each result that breaks a contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recorded_links import TOOLS, Client, PlayedServer, record
from signet.mcp.link import LinkError
from signet.mcp.snapshot import Snapshot
from signet.recording.lock_check import check_recording
from signet.recording.message_reader import MessageReader


async def used(client: Client) -> None:
    await client.greet()
    await client.ask("tools/list")
    await client.ask("tools/list", {"cursor": "more"})
    for _ in range(5):
        await client.call("count")
    await client.call("echo", text="a")


def locked(*tools: Any, **members: Any) -> Snapshot:
    raw = tuple(tool if isinstance(tool, msgspec.Raw) else msgspec.Raw(json.dumps(tool).encode()) for tool in tools)
    return Snapshot(
        era="handshake",
        version="2025-11-25",
        server_info=msgspec.Raw(b"{}"),
        capabilities=msgspec.Raw(b"{}"),
        tools=raw,
        **members,
    )


def checked(folder: Path, snapshot: Snapshot) -> list[str]:
    recorded = MessageReader(str(folder))
    try:
        return check_recording(recorded, snapshot)
    finally:
        recorded.close()


AS_LISTED = [json.loads(tool) for tool in TOOLS]


def test_a_recording_that_keeps_the_lock_is_fine(tmp_path: Path) -> None:
    record(tmp_path, used)

    prompts = (msgspec.Raw(b'{"name":"never listed"}'),)
    assert checked(tmp_path, locked(*AS_LISTED, prompts=prompts)) == []


def test_each_definition_that_differs_is_named_with_its_fields(tmp_path: Path) -> None:
    record(tmp_path, used)
    echo, count, _ = AS_LISTED
    gone = {"name": "gone", "inputSchema": {"type": "object"}}
    other = {**echo, "description": "Another one.", "annotations": {"readOnlyHint": True}}

    assert checked(tmp_path, locked(other, count, gone, instructions="Be kind.")) == [
        "the recorded instructions are not those of the lock",
        "the tool echo differs from the lock in annotations, description",
        "the tool gone of the lock is not in the recording",
        "the tool ask of the recording is not in the lock",
    ]


def test_results_that_break_the_locked_contract_are_told(tmp_path: Path) -> None:
    record(tmp_path, used)
    echo, count, ask = AS_LISTED
    narrow = {**count, "outputSchema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 1}}}}
    structured = {**echo, "outputSchema": {"type": "object"}}

    told = [text for text in checked(tmp_path, locked(structured, narrow, ask)) if "differs" not in text]

    assert told[3:] == [
        "a recorded result of echo breaks its output contract: it has no structured content",
        "1 further results of count break its output contract",
    ]
    assert all(text.startswith("a recorded result of count breaks its output contract: ") for text in told[:3])


def test_a_schema_that_is_not_valid_is_told_and_not_used(tmp_path: Path) -> None:
    record(tmp_path, used)
    echo, count, ask = AS_LISTED

    told = checked(tmp_path, locked(echo, {**count, "outputSchema": {"type": "nonsense"}}, ask))

    assert told[1].startswith("the output schema of count in the lock is not valid (")
    assert len(told) == 2


class NamingTwice(PlayedServer):
    """Lists its first tool again on the last page, as long as it is wrong."""

    is_wrong = True

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        result = await super()._result(method, params)
        if method == "tools/list" and self.is_wrong and params.get("cursor"):
            return b'{"tools":[%b]}' % TOOLS[0]
        return result


def test_a_recorded_server_that_names_a_tool_twice_is_refused_as_a_running_one(tmp_path: Path) -> None:
    record(tmp_path, used, server=NamingTwice())

    with pytest.raises(LinkError, match=r"cannot be listed: it lists the tool 'echo' twice$"):
        checked(tmp_path, locked(*AS_LISTED))


def test_a_list_that_came_right_later_counts(tmp_path: Path) -> None:
    server = NamingTwice()

    async def mended(client: Client) -> None:
        await used(client)
        server.is_wrong = False
        await used(client)

    record(tmp_path, mended, server=server)

    assert checked(tmp_path, locked(*AS_LISTED)) == []
