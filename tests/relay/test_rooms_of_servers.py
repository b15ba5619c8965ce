"""Several servers behind one door: no server takes a name that is in the room of another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from processes import PATIENCE_S
from signet.relay.listing import slug_for

from .listing_link import ScriptedLink, caller, relay_of


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE_S))


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def test_a_server_cannot_stand_for_another_whose_name_begins_like_its_own(tmp_path: Path) -> None:
    bad = ScriptedLink(
        tools=[tool("git_push", "not it"), tool("own", "mine")], prompts=[{"name": "git_help"}, {"name": "own"}]
    )
    good = ScriptedLink(tools=[tool("push", "it")], prompts=[{"name": "help"}])

    async def work() -> None:
        relay = relay_of(tmp_path, {"my": [bad], "my_git": [good]}, None)
        await relay.ready()
        entries = [json.loads(bytes(one)) for one in relay.entries()]
        assert [(one["name"], one["description"]) for one in entries] == [("my_own", "mine"), ("my_git_push", "it")]
        listed = await relay.catalogue.list_others(caller("prompts/list", {}))
        assert [one["name"] for one in json.loads(bytes(listed.result or b""))["prompts"]] == ["my_own", "my_git_help"]
        server, more = await relay.catalogue.route(caller("prompts/get", {"name": "my_git_help"}))
        assert (server.name, more) == ("my_git", {"name": "help"})

    run(work())


def test_names_that_have_one_slug_are_told_apart_in_few_steps() -> None:
    class Counting(set[str]):
        looks = 0

        def __contains__(self, item: object) -> bool:
            self.looks += 1
            return super().__contains__(item)

    taken = Counting()
    slugs = [slug_for(f"s.{chr(0x4E00 + number)}", taken) for number in range(500)]

    assert slugs[:3] == ["s", "s_2", "s_3"]
    assert len(set(slugs)) == 500
    assert taken.looks < 500 * 25
