"""MCP over HTTP with sessions: who may use one, its streams, what is resumed, its end; over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client

from processes import PATIENCE_S
from remote_servers import linked, run
from session_servers import (
    EVENTS,
    NOTE,
    VERSION,
    Site,
    Wrapped,
    call,
    message,
    new_server,
    read_events,
    serving_sessions,
    until,
)
from signet.transports.guard import Guard
from signet.transports.sessions import SessionLimits
from signet.transports.web_app import App

SWEPT = SessionLimits(sweep_s=0.02)
"""The usual limits, looked at often: tests put what has to end into the past."""


async def read_until(response: Any, text: bytes) -> bytes:
    """Read a stream until a text has come."""
    body = b""
    async with asyncio.timeout(PATIENCE_S):
        while text not in body:
            chunk = await response.content.readany()
            assert chunk, body
            body += chunk
    return body


async def events_of(response: Any, count: int) -> list[tuple[str, Any]]:
    """Read so many events of a stream."""
    body = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(read_events(body)) < count:
            body += await response.content.readany()
    return read_events(body)


def text_of(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


def test_initialize_opens_a_session_that_lasts_until_it_is_deleted() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            opened = await site.initialize()
            named = {"mcp_session_id": opened.headers["mcp-session-id"]}

            assert (opened.status, opened.json()["result"]["protocolVersion"]) == (200, VERSION)
            assert len(named["mcp_session_id"]) == 32
            assert opened.headers["access-control-expose-headers"] == "Mcp-Session-Id"
            assert (
                await site.send("POST", message("notifications/initialized", request_id=None), **named)
            ).status == 202
            assert text_of((await site.call(named, "now")).json()) == named["mcp_session_id"]
            assert (await site.send("DELETE", **named)).status == 204
            for method, body in (("POST", call("now")), ("GET", None), ("DELETE", None)):
                gone = await site.send(method, body, **named)
                assert (gone.status, gone.json()["error"]["code"]) == (404, -32600)

    run(talk())


def test_only_a_server_that_relays_has_sessions() -> None:
    server = new_server(Wrapped())

    relaying = App(server, Guard(), {})._sessions
    server.relay = None

    assert relaying is not None
    assert App(server, Guard(), {})._sessions is None


def test_requests_without_a_session_go_on_without_one() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            assert text_of((await site.call({}, "now")).json()) == ""
            assert (await site.send("GET")).status == 405
            assert (await site.send("DELETE")).status == 405
            assert len(site.table) == 0

    run(talk())


def test_requests_of_the_modern_era_have_no_session() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }

    async def talk() -> None:
        async with serving_sessions() as site:
            body = message("tools/call", {"name": "now", "arguments": {}, "_meta": meta})
            modern = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "now"}
            said = await site.send("POST", body, mcp_session_id="whatever", **modern)
            assert (said.status, text_of(said.json())) == (200, "")

    run(talk())


@pytest.mark.parametrize("body", [b"{initialize", message("initialize", {}), message("initialize", {"x": 1}, None)])
def test_an_initialize_that_fails_leaves_no_session(body: Any) -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            said = await site.send("POST", body)
            assert "mcp-session-id" not in said.headers
            assert len(site.table) == 0

    run(talk())


def test_a_client_cannot_choose_its_session() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()

            assert (await site.initialize(mcp_session_id="chosen-by-an-attacker")).status == 404
            assert (await site.initialize(mcp_session_id=session["mcp_session_id"])).status == 400
            assert (await site.initialize()).headers["mcp-session-id"] != session["mcp_session_id"]

    run(talk())


def test_a_session_is_its_principals_alone() -> None:
    async def talk() -> None:
        async with serving_sessions(secured=True) as site:
            session = await site.session(authorization="Bearer ann")
            stolen = session | {"authorization": "Bearer bob"}

            for method, body in (("POST", call("now")), ("GET", None), ("DELETE", None)):
                assert (await site.send(method, body, **stolen)).status == 404
            assert (await site.send("POST", call("now"), mcp_session_id=session["mcp_session_id"])).status == 401
            assert (await site.call(session, "now")).status == 200

    run(talk())


# --- the standing stream


def test_what_belongs_to_no_call_comes_on_the_standing_stream_also_what_was_said_before() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            await site.call(session, "note")
            async with site.open("GET", **session) as stream:
                assert (stream.status, stream.headers["content-type"]) == (200, EVENTS)
                early = await events_of(stream, 1)
                await site.call(session, "note")
                late = await events_of(stream, 1)

            assert (early, late) == ([("0-1", NOTE)], [("0-2", NOTE)])

    run(talk())


def test_a_client_that_comes_back_gets_what_it_missed() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            await site.call(session, "note", count=3)
            async with site.open("GET", **session) as stream:
                await read_until(stream, b"id: 0-3")
            async with site.open("GET", **session, last_event_id="0-1") as stream:
                again = await events_of(stream, 2)

            assert again == [("0-2", NOTE), ("0-3", NOTE)]

    run(talk())


def test_a_new_standing_stream_takes_the_place_of_the_old_one() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("GET", **session) as old:
                await read_until(old, b": ")
                async with site.open("GET", **session) as new:
                    await read_until(new, b": ")
                    assert await old.content.read() == b""
                    await site.call(session, "note")
                    await read_until(new, b"list_changed")

    run(talk())


def test_the_backlog_without_a_standing_stream_has_a_bound() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            await site.call(session, "note", count=300)
            async with site.open("GET", **session) as stream:
                numbers = [number for number, _ in await events_of(stream, 256)]

            assert numbers == [f"0-{number}" for number in range(45, 301)]

    run(talk())


def test_a_standing_stream_is_for_those_who_accept_one_and_no_more_than_there_is_room_for() -> None:
    async def talk() -> None:
        async with serving_sessions(SessionLimits(standing_per_owner=1)) as site:
            one, other = await site.session(), await site.session()
            assert (await site.send("GET", **one, accept="application/json")).status == 406
            async with site.open("GET", **one) as stream:
                await read_until(stream, b": ")
                assert (await site.send("GET", **other)).status == 503
            await until(lambda: site.table.may_stand(_find(site, other)))

    run(talk())


def _find(site: Site, session: dict[str, str]) -> Any:
    return site.table._sessions[session["mcp_session_id"]]


# --- calls


def test_a_call_is_a_stream_whose_first_event_has_an_id_and_no_message() -> None:
    """SEP-1699: a client that is cut off before the reply knows where to go on."""

    async def talk() -> None:
        async with serving_sessions() as site:
            said = await site.call(await site.session(), "talk", count=2)

            assert said.headers["content-type"] == EVENTS
            assert said.body.startswith(b"id: 1-1\r\nretry: 1000\r\ndata: \r\n\r\n")
            numbers, messages = zip(*said.events(), strict=True)
            assert numbers == ("1-1", "1-2", "1-3", "1-4")
            assert [one and one.get("method", "reply") for one in messages] == [
                None,
                *["notifications/message"] * 2,
                "reply",
            ]

    run(talk())


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05"])
def test_older_clients_get_no_event_without_a_message(version: str) -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session(version)
            plain, stream = await site.call(session, "wait2"), await site.call(session, "talk")

            assert (plain.headers["content-type"], text_of(plain.json())) == ("application/json", "done")
            assert [bool(one) for _, one in stream.events()] == [True, True]

    run(talk())


def test_a_client_that_takes_no_stream_gets_its_reply_alone() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session() | {"accept": "application/json"}
            said = await site.call(session, "talk")

            assert (said.headers["content-type"], text_of(said.json())) == ("application/json", "done")

    run(talk())


def test_a_call_goes_on_when_its_connection_is_cut_and_its_reply_is_fetched_later() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("POST", call("talk", count=2, wait=True), **session) as stream:
                await read_until(stream, b"id: 1-2")
            await until(lambda: not _find(site, session).streams["1"].log.has_reader)
            site.wrapped.gate.set()
            rest = await site.send("GET", **session, last_event_id="1-2")
            again = await site.send("GET", **session, last_event_id="1-3")

            assert [number for number, _ in rest.events()] == ["1-3", "1-4"]
            assert text_of(rest.events()[-1][1]) == text_of(again.events()[-1][1]) == "done"
            assert (site.wrapped.started, site.wrapped.cancelled) == (1, 0)

    run(talk())


def test_a_call_that_nobody_comes_back_for_is_cancelled() -> None:
    async def talk() -> None:
        async with serving_sessions(SWEPT) as site:
            session = await site.session()
            async with site.open("POST", call("wait"), **session) as stream:
                await read_until(stream, b"id: 1-1")
            kept = _find(site, session).streams["1"]
            await until(lambda: not kept.log.has_reader)
            kept.unread_since_s -= 60
            await until(lambda: site.wrapped.cancelled == 1)
            gone = await site.send("GET", **session, last_event_id="1-1")

            assert (gone.status, gone.json()["error"]["code"]) == (400, -32600)

    run(talk())


@pytest.mark.parametrize("last_id", ["9-9", "x-1", "1-99999999999999999999999999999999999999999", "", "-", "0-99"])
def test_an_event_id_that_is_none_of_ours_does_no_harm(last_id: str) -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("GET", **session, last_event_id=last_id) as response:
                assert response.status in (200, 400)
                if response.status == 200:
                    await site.call(session, "note")
                    await read_until(response, b"list_changed")

    run(talk())


def test_a_client_cancels_its_call() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("POST", call("wait", 7), **session) as stream:
                await read_until(stream, b"id: 1-1")
                note = message("notifications/cancelled", {"requestId": 7}, None)
                assert (await site.send("POST", note, **session)).status == 202
                assert read_events(await stream.content.read()) == []
            await until(lambda: site.wrapped.cancelled == 1)

    run(talk())


def test_a_server_asks_during_a_call_and_the_client_posts_its_answer() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("POST", call("ask"), **session) as stream:
                asked = (await events_of(stream, 2))[-1][1]
                answer = {"action": "accept", "content": {"colour": "blue" + "!" * 70_000}}
                reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
                assert (await site.send("POST", reply, **session)).status == 202
                body = await stream.content.read()

            assert text_of(read_events(body)[-1][1]) == "blue" + "!" * 70_000

    run(talk())


def test_a_call_that_breaks_is_answered() -> None:
    async def talk() -> Any:
        async with serving_sessions() as site:
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            said = await site.call(await site.session(), "broken")
            return said.events()[-1][1]["error"]

    assert run(talk())["code"] == -32603


def test_more_calls_in_flight_than_a_session_may_have_are_refused_and_ended_ones_make_room() -> None:
    async def talk() -> None:
        async with serving_sessions(SessionLimits(streams=2)) as site:
            session = await site.session()
            for _ in range(3):
                assert (await site.call(session, "talk")).status == 200
            async with site.open("POST", call("wait"), **session), site.open("POST", call("wait"), **session):
                await until(lambda: site.wrapped.started == 5)
                assert (await site.call(session, "talk")).status == 503
                assert (await site.call(await site.session(), "talk")).status == 200

    run(talk())


# --- the end


def test_an_idle_session_ends_and_what_is_kept_for_it_is_told() -> None:
    async def talk() -> None:
        async with serving_sessions(SWEPT) as site:
            idle, busy = await site.session(), await site.session()
            async with site.open("GET", **busy) as stream:
                await read_until(stream, b": ")
                await site.call(idle, "watch")
                for session in (idle, busy):
                    _find(site, session).used_s -= 1801
                await until(lambda: site.wrapped.ended == [idle["mcp_session_id"]])

                assert (await site.call(idle, "now")).status == 404
                assert (await site.call(busy, "now")).status == 200

    run(talk())


def test_deleting_a_session_ends_its_streams_and_cancels_its_calls() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            await site.call(session, "watch")
            async with site.open("GET", **session) as standing, site.open("POST", call("wait"), **session) as called:
                await read_until(standing, b": ")
                await read_until(called, b"id: ")
                assert (await site.send("DELETE", **session)).status == 204
                assert (await standing.content.read(), await called.content.read()) == (b"", b"")

            await until(lambda: (site.wrapped.cancelled, site.wrapped.ended) == (1, [session["mcp_session_id"]]))

    run(talk())


def test_a_server_that_stops_ends_the_standing_streams_and_lets_the_calls_be_answered() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            session = await site.session()
            await site.call(session, "watch")
            async with site.open("GET", **session) as standing, site.open("POST", call("wait"), **session) as called:
                await read_until(standing, b": ")
                await read_until(called, b"id: ")
                site.server.stop()
                await until(lambda: standing.content.at_eof() or standing.content.exception() is not None)
                site.wrapped.gate.set()
                assert text_of(read_events(await called.content.read())[-1][1]) == "done"
            await until(lambda: site.wrapped.ended == [session["mcp_session_id"]])

    run(talk())


def test_every_exchange_is_noted_once() -> None:
    async def talk() -> list[tuple[str, int, str, bool]]:
        async with serving_sessions() as site:
            session = await site.session()
            async with site.open("GET", **session) as stream:
                await read_until(stream, b": ")
            await site.call(session, "talk")
            async with site.open("POST", call("wait"), **session) as stream:
                await read_until(stream, b"id: ")
            await until(lambda: len(site.exchanges) == 4)
            site.wrapped.gate.set()
            await site.send("GET", **session, last_event_id="2-1")
            await site.send("DELETE", **session)
            await site.send("DELETE", **session)
            return [(one.request, one.status, one.refusal, one.is_left) for one in site.exchanges]

    assert run(talk()) == [
        ("POST /mcp", 200, "", False),
        ("GET /mcp", 200, "", False),
        ("POST /mcp", 200, "", False),
        ("POST /mcp", 200, "", True),
        ("GET /mcp", 200, "", False),
        ("DELETE /mcp", 204, "", False),
        ("DELETE /mcp", 404, "UNKNOWN_SESSION", False),
    ]


def test_a_page_of_an_allowed_origin_may_end_its_session() -> None:
    async def talk() -> None:
        async with serving_sessions() as site:
            asked = {"origin": "http://localhost:3000", "access_control_request_headers": "mcp-session-id"}
            said = await site.send("OPTIONS", **asked)
            assert (said.status, said.headers["access-control-allow-methods"]) == (204, "GET, POST, DELETE, OPTIONS")
            assert said.headers["access-control-allow-origin"] == "http://localhost:3000"

    run(talk())


# --- other people's clients


def test_the_official_client_shakes_hands_hears_and_is_asked() -> None:
    heard: list[str] = []

    async def hear(said: Any) -> None:
        heard.append(str(getattr(said, "method", "")) or type(said).__name__)

    async def answer(_: Any, params: Any) -> Any:
        import mcp_types

        return mcp_types.ElicitResult(action="accept", content={"colour": params.message})

    async def talk() -> tuple[str, str]:
        async with serving_sessions() as site:
            async with Client(site.url, mode="legacy", message_handler=hear, elicitation_callback=answer) as client:
                await client.call_tool("note", {})
                await until(lambda: len(heard) >= 1)
                result = await client.call_tool("ask", {})
                assert len(site.table) == 1
                version = client.protocol_version
            await until(lambda: len(site.table) == 0)
            return version, result.content[0].text

    assert run(talk()) == (VERSION, "Which colour?")


def test_our_own_link_holds_a_session_and_resumes_a_call_that_was_cut() -> None:
    async def talk() -> None:
        async with serving_sessions() as site, linked(site.url) as peer:
            await peer.shake_hands()
            peer.send("tools/call", {"name": "note"}, id=1, version=VERSION)
            await peer.reply(1)
            await peer.until(lambda: NOTE in peer.messages)
            peer.send("tools/call", {"name": "wait"}, id=2, version=VERSION)
            [session] = site.table._sessions.values()
            await until(lambda: "2" in session.streams and session.streams["2"].log.has_reader)
            for connection in list(site.server._slots._members):
                connection.abort()
            await until(lambda: not session.streams["2"].log.has_reader)
            site.wrapped.gate.set()
            assert text_of(await peer.reply(2)) == "done"
            assert (site.wrapped.started, site.wrapped.cancelled, peer.losses) == (2, 0, [])

    run(talk())
