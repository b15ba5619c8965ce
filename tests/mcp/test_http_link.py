"""A link over HTTP, against servers that do what a script says: replies, sessions, streams, and every failure."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from remote_servers import EVENTS, Asked, Scripted, begin, event, linked, result, run, say, scripted
from signet.mcp.http_link import HttpLink
from signet.mcp.link import LinkError, Outgoing

SECRET = "Bearer open-sesame-0123456789"
HEADERS = (("Authorization", SECRET), ("X-Team", "blue"))
MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
REQUEST = {"id": 1, "version": MODERN}


def failure_of(script: Any, headers: tuple[tuple[str, str], ...] = HEADERS) -> Any:
    """Return the error that a request of the modern era gets from a scripted server."""

    async def ask() -> Any:
        async with scripted(script) as server, linked(server.url, headers) as peer:
            peer.send("tools/call", {"name": "t"}, name="t", **REQUEST)
            reply = await peer.reply(1)
            assert (peer.losses, b"open-sesame" in b"".join(peer.texts)) == ([], False)
            return reply["error"], server.url.removesuffix("/mcp")

    return run(ask())


def test_a_request_of_the_modern_era_repeats_its_version_method_name_and_parameters_in_headers() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        say(writer, 200, result(asked.message["id"]))

    async def ask() -> Scripted:
        async with scripted(script) as server, linked(server.url, HEADERS) as peer:
            more = {"name": "größe", "param_headers": (("Mcp-Param-Region", "eu"), ("Mcp-Param-Odd", " x"))}
            peer.send("tools/call", {"name": "größe"}, **more, **REQUEST)
            assert await peer.reply(1) == {"jsonrpc": "2.0", "id": 1, "result": {}}
            return server

    [asked] = run(ask()).asked

    expected = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
        "mcp-param-region": "eu",
        "mcp-param-odd": "=?base64?IHg=?=",
        "authorization": SECRET,
        "x-team": "blue",
    }
    assert {name: asked.headers.get(name) for name in expected} == expected
    assert (asked.method, asked.path, "mcp-session-id" in asked.headers) == ("POST", "/mcp", False)


def test_the_handshake_era_has_a_session_from_initialize_to_delete_and_a_standing_stream() -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            begin(writer)
            writer.write(event(note))
            await writer.drain()
            await asyncio.sleep(60)
        elif asked.method == "DELETE" or "id" not in asked.message:
            say(writer, 202)
        else:
            more = {"Mcp_Session_Id": "s-1"} if asked.message["method"] == "initialize" else {}
            say(writer, 200, result(asked.message["id"]), **more)

    async def talk() -> Scripted:
        async with scripted(script) as server:
            async with linked(server.url) as peer:
                await peer.shake_hands()
                peer.send("tools/list", id=1, version=HANDSHAKE)
                await peer.reply(1)
                await peer.until(lambda: note in peer.texts)
            return server

    asked = run(talk()).asked

    told = [(one.method, one.headers.get("mcp-session-id"), one.headers.get("mcp-protocol-version")) for one in asked]
    assert told[0] == ("POST", None, None)
    assert sorted(told[1:]) == [
        ("DELETE", "s-1", HANDSHAKE),
        ("GET", "s-1", HANDSHAKE),
        *[("POST", "s-1", HANDSHAKE)] * 2,
    ]
    assert all("mcp-method" not in one.headers for one in asked)
    assert next(one for one in asked if one.method == "GET").headers["accept"] == EVENTS


def test_nothing_is_posted_before_the_server_has_taken_the_end_of_the_handshake() -> None:
    taken: list[str] = []

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method != "POST":
            return say(writer, 405)
        method = asked.message["method"]
        taken.append(f"begin {method}")
        if method == "notifications/initialized":
            await asyncio.sleep(0.05)
            say(writer, 202)
        else:
            say(writer, 200, result(asked.message["id"]))
        taken.append(f"end {method}")
        return None

    async def talk() -> None:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            for number in (1, 2):
                peer.send("ping", id=number, version=HANDSHAKE)
            await peer.reply(1)
            await peer.reply(2)

    run(talk())

    assert taken[2:4] == ["begin notifications/initialized", "end notifications/initialized"]


def test_notifications_go_out_in_order_and_after_the_requests_before_them() -> None:
    seen: list[Any] = []

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        seen.append(asked.message["params"].get("n"))
        if "id" in asked.message:
            await asyncio.sleep(60)
        say(writer, 202)

    async def talk() -> None:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("tools/call", {"n": 0}, id=1, version=HANDSHAKE)
            for number in range(1, 6):
                peer.send("notifications/progress", {"n": number}, version=HANDSHAKE)
            await peer.until(lambda: len(seen) == 6)

    run(talk())

    assert seen == [0, 1, 2, 3, 4, 5]


def test_the_answer_to_a_server_does_not_wait_for_requests_that_wait_for_it() -> None:
    """The server asks during a call, and all places for requests are taken."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if "method" in asked.message:
            await asyncio.sleep(60)
        answered.set()
        say(writer, 202)

    async def talk() -> None:
        async with scripted(script) as server, linked(server.url) as peer:
            for number in range(300):
                peer.send("tools/call", id=number, version=HANDSHAKE)
            await peer.until(lambda: len(server.asked) >= 256)
            peer.link.send(Outgoing(result("elicit-1"), version=HANDSHAKE))
            await answered.wait()
            assert len(server.asked) == 257

    answered = asyncio.Event()
    run(talk())


def test_more_messages_than_may_wait_are_refused_at_once() -> None:
    async def script(_: Asked, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async def talk() -> Any:
        async with scripted(script) as server, linked(server.url) as peer:
            for number in range(1281):
                peer.send("tools/call", id=number, version=MODERN)
            return await peer.reply(1280)

    assert run(talk())["error"] == {
        "code": -32603,
        "message": "the server was not asked: too many messages wait for it: try again",
    }


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
def test_a_stream_is_read_message_by_message_until_the_reply(line_end: str) -> None:
    stream = '﻿: hi\nevent: ping\ndata: no\n\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/x"}\n\nid: 3\n\n'
    note = b'{"jsonrpc":"2.0", "method":"notifications/x"}'

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        begin(writer, EVENTS + "; charset=utf-8")
        writer.write((stream + event(result(1)).decode()).replace("\n", line_end).encode())

    async def ask() -> list[bytes]:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("tools/call", **REQUEST)
            await peer.reply(1)
            return peer.texts

    assert run(ask()) == [note, result(1)]


def test_a_stream_that_goes_on_after_the_reply_is_closed() -> None:
    closed = asyncio.Event()

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        writer.write(event(result(asked.message["id"])))
        try:
            while True:
                writer.write(b": and on\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            closed.set()

    async def ask() -> None:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("tools/call", **REQUEST)
            await peer.reply(1)
            await closed.wait()

    run(ask())


def test_a_batch_is_handed_over_one_by_one_and_a_pretty_text_on_one_line() -> None:
    pretty = json.dumps(json.loads(result(1)), indent=1)

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        say(writer, 200, f'[{{"jsonrpc":"2.0","method":"x"}},\r\n{pretty}]\n'.encode())

    async def ask() -> list[bytes]:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("tools/call", **REQUEST)
            await peer.reply(1)
            return peer.texts

    texts = run(ask())

    assert [json.loads(text) for text in texts] == [{"jsonrpc": "2.0", "method": "x"}, json.loads(pretty)]
    assert not any(b"\n" in text or b"\r" in text for text in texts)


def test_cancelling_a_request_closes_its_stream_and_its_reply_does_not_come() -> None:
    closed = asyncio.Event()

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        try:
            while not writer.transport.is_closing():
                writer.write(event(b'{"jsonrpc":"2.0","method":"notifications/x"}'))
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async def ask() -> None:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("tools/call", **REQUEST)
            await peer.until(lambda: len(peer.texts) > 0)
            peer.link.cancel(1)
            peer.link.cancel(99)
            await closed.wait()
            assert all("id" not in message for message in peer.messages)

    run(ask())


# --- what was cut, and what stands


def with_session(asked: Asked, writer: asyncio.StreamWriter) -> bool:
    """Answer the handshake; return whether the request was a part of it."""
    if asked.method == "DELETE" or (asked.body and "id" not in asked.message):
        say(writer, 202)
        return True
    if asked.body and asked.message["method"] == "initialize":
        say(writer, 200, result(0), Mcp_Session_Id="s")
        return True
    return False


def test_a_stream_that_ends_before_its_reply_is_resumed_after_its_last_event() -> None:
    """SEP-1699: the server lets the client poll."""
    note = b'{"jsonrpc":"2.0","method":"notifications/x"}'
    resumed: list[str] = []

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if with_session(asked, writer):
            return
        last_id = asked.headers.get("last-event-id")
        if asked.method == "GET" and last_id is None:
            say(writer, 405)
            return
        begin(writer)
        if asked.method == "POST":
            writer.write(b"id: a1\nretry: 10\ndata:\n\n")
            return
        resumed.append(last_id or "")
        writer.write(event(note, "a2") + b"data: {half an" if len(resumed) == 1 else event(result(1), "a3"))

    async def talk() -> list[bytes]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            peer.send("tools/call", id=1, version=HANDSHAKE)
            await peer.reply(1)
            return peer.texts

    assert run(talk())[1:] == [note, result(1)]
    assert resumed == ["a1", "a2"]


@pytest.mark.parametrize("how", ["refused", "empty"])
def test_a_cut_stream_that_cannot_be_resumed_ends_in_an_error(how: str) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if with_session(asked, writer):
            return
        if asked.method == "POST":
            begin(writer)
            writer.write(b"id: a1\nretry: 1\ndata:\n\n")
        elif how == "refused":
            say(writer, 405)
        else:
            begin(writer)

    async def talk() -> tuple[Any, int]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            peer.send("tools/call", id=1, version=HANDSHAKE)
            reply = await peer.reply(1)
            resumes = [one for one in server.asked if one.headers.get("last-event-id") == "a1"]
            return reply["error"], len(resumes)

    error, resumes = run(talk())

    assert error["code"] == -32603
    assert error["message"].endswith("answers without the reply to the request; the call may have happened")
    assert resumes == (1 if how == "refused" else 5)


GIANT = b"data: " + b"x" * 16_777_216 + b"\n\n"


def test_a_giant_event_on_a_resumed_stream_is_an_error_that_says_the_limit() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if with_session(asked, writer):
            return
        begin(writer)
        writer.write(b"id: a1\nretry: 1\ndata:\n\n" if asked.method == "POST" else GIANT)
        await writer.drain()

    async def talk() -> tuple[Any, int]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            peer.send("tools/call", id=1, version=HANDSHAKE)
            reply = await peer.reply(1)
            return reply["error"], len([one for one in server.asked if one.headers.get("last-event-id") == "a1"])

    error, resumes = run(talk())

    assert error["message"] == "an event is larger than 16777216 bytes; the call may have happened"
    assert resumes == 1


def test_a_giant_event_of_an_older_server_is_told_with_the_limit() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/mcp" and asked.method == "POST":
            return say(writer, 405)
        if asked.method == "POST":
            return say(writer, 202, b"Accepted", "text/plain")
        begin(writer)
        writer.write(b"event: endpoint\ndata: /messages\n\n" + GIANT)
        await writer.drain()
        return None

    async def talk() -> list[str]:
        async with scripted(script) as server, linked(server.url) as peer:
            peer.send("initialize", id=1)
            await peer.until(lambda: bool(peer.losses))
            return peer.losses

    assert run(talk()) == ["an event is larger than 16777216 bytes"]


@pytest.mark.parametrize("refusal", [503, 409, 429])
def test_the_standing_stream_is_opened_again_where_it_ended(refusal: int) -> None:
    asked_for: list[str | None] = []

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if with_session(asked, writer):
            return None
        asked_for.append(asked.headers.get("last-event-id"))
        if len(asked_for) == 2:
            return say(writer, refusal)
        begin(writer)
        number = str(len(asked_for))
        writer.write(b"retry: 1\n" + event(b'{"jsonrpc":"2.0","method":"n' + number.encode() + b'"}', number))
        return None

    async def talk() -> list[str]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            await peer.until(lambda: len(peer.texts) >= 4)
            assert peer.losses == []
            return [message["method"] for message in peer.messages[1:4]]

    assert run(talk()) == ["n1", "n3", "n4"]
    assert asked_for[:4] == [None, "1", "1", "3"]


@pytest.mark.parametrize("where", ["request", "notification", "stream"])
def test_a_session_that_the_server_does_not_know_any_more_is_a_loss(where: str) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        method = asked.message["method"] if asked.body else asked.method
        if method in ("initialize", "notifications/initialized"):
            with_session(asked, writer)
        elif method == "GET" and where != "stream":
            say(writer, 405)
        else:
            say(writer, 404, b'{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"Session not found"}}')

    async def talk() -> tuple[list[str], list[Any]]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands()
            if where == "request":
                peer.send("tools/call", id=1, version=HANDSHAKE)
            elif where == "notification":
                peer.send("notifications/x", version=HANDSHAKE)
            await peer.until(lambda: bool(peer.losses))
            return peer.losses, [message["id"] for message in peer.messages]

    losses, replied = run(talk())

    assert losses == ["its session ended"]
    assert replied == ([0, 1] if where == "request" else [0])


# --- failures


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "status 401 (Unauthorized): check the headers that are sent to it"),
        (403, "status 403 (Forbidden): check the headers that are sent to it"),
        (404, "status 404 (Not Found)"),
        (429, "status 429 (Too Many Requests)"),
        (500, "status 500 (Internal Server Error)"),
        (599, "status 599"),
    ],
)
def test_a_refusal_becomes_an_error_that_tells_the_status(status: int, told: str) -> None:
    async def script(_: Asked, writer: asyncio.StreamWriter) -> None:
        say(writer, status, f"<p>no {SECRET}</p>".encode(), "text/html")

    error, address = failure_of(script)

    assert error == {"code": -32603, "message": f"{address} answers with {told}; the call may have happened"}


@pytest.mark.parametrize("given", ["null", '"server-error"', "1"])
def test_a_json_rpc_error_in_a_refusal_is_relayed_under_the_id_of_the_request(given: str) -> None:
    async def script(_: Asked, writer: asyncio.StreamWriter) -> None:
        error = f'{{"code":-32020,"message":"not {SECRET}","data":{{"b":1.0,"a":[]}}}}'
        say(writer, 400, f'{{"jsonrpc":"2.0","id":{given},"error":{error}}}'.encode())

    error, _ = failure_of(script)

    assert error == {"code": -32020, "message": "not [redacted]", "data": {"b": 1.0, "a": []}}


def endless(kind: str, chunk: bytes) -> Any:
    async def script(_: Asked, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind)
        while True:
            writer.write(chunk)
            await writer.drain()

    return script


def cut(head: bytes) -> Any:
    async def script(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)

    return script


def saying(status: int, body: bytes = b"", kind: str = "application/json", **more: str) -> Any:
    async def script(_: Asked, writer: asyncio.StreamWriter) -> None:
        say(writer, status, body, kind, **more)

    return script


BROKEN = {
    "a body of 10 GB": (endless("application/json", b" " * 65_536), "answers with more than 16777216 bytes"),
    "a giant line": (endless(EVENTS, b"data: " + b"x" * 65_536), "an event is larger than 16777216 bytes"),
    "no reply": (saying(200, result(2)), "answers without the reply to the request"),
    "not JSON": (saying(200, b"{nothing"), "answers without the reply to the request"),
    "nothing": (saying(200), "answers without the reply to the request"),
    "accepted": (saying(202), "answers with status 202 (Accepted) and no type: neither JSON nor events"),
    "a page": (saying(200, b"<p>", "text/html"), "of type text/html: neither JSON nor events"),
    "compressed": (saying(200, b"x", Content_Encoding="gzip"), "answers compressed, although it was asked not to"),
    "a stream without the reply": (saying(200, b": \n\n", EVENTS), "answers without the reply to the request"),
    "a cut body": (
        cut(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"),
        "ended the connection in the middle of its answer",
    ),
    "a cut stream": (
        cut(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:"),
        "ended the connection in the middle of its answer",
    ),
    "no answer": (cut(b""), "ended the connection without an answer"),
    "no HTTP": (cut(b"220 smtp ready\r\n\r\n"), "answers with something that is not HTTP"),
    "a long head": (cut(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"), "something that is not HTTP"),
    "a moved page": (saying(301, b"", "", Location="/other"), "redirects with status 301, which drops the message"),
    "a round trip": (saying(307, b"", "", Location="/mcp"), "redirects more than 3 times"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_whatever_is_wrong_with_an_answer_the_request_gets_an_error(how: str) -> None:
    script, told = BROKEN[how]

    error, _ = failure_of(script)

    assert error["code"] == -32603
    assert told in error["message"]
    assert error["message"].endswith("the call may have happened")


def test_the_headers_are_never_sent_to_another_origin() -> None:
    async def talk() -> tuple[Any, list[Asked]]:
        async with (
            scripted(saying(200, result(1))) as other,
            scripted(saying(307, b"", "", Location=other.url)) as server,
            linked(server.url, HEADERS) as peer,
        ):
            peer.send("tools/call", **REQUEST)
            return (await peer.reply(1))["error"]["message"], other.asked

    told, asked = run(talk())

    assert "redirects and it leads to another origin (http://127.0.0.1:" in told
    assert asked == []


def test_a_redirect_inside_of_the_origin_is_followed_and_remembered() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/mcp":
            say(writer, 307, b"", "", Location="/mcp/")
        else:
            say(writer, 200, result(asked.message["id"]))

    async def talk() -> list[tuple[str, str | None]]:
        async with scripted(script) as server, linked(server.url, HEADERS) as peer:
            for number in (1, 2):
                peer.send("ping", id=number, version=MODERN)
                await peer.reply(number)
            return [(asked.path, asked.headers.get("authorization")) for asked in server.asked]

    assert run(talk()) == [("/mcp", SECRET), ("/mcp/", SECRET), ("/mcp/", SECRET)]


def test_a_server_that_was_never_there_is_lost_with_the_first_request() -> None:
    async def talk() -> tuple[Any, list[str], str]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with linked(f"{origin}/mcp", HEADERS) as peer:
            peer.send("tools/call", **REQUEST)
            return (await peer.reply(1))["error"], peer.losses, origin

    error, losses, origin = run(talk())

    sentence = (
        f"nothing answers at {origin} (connection refused): check that the service is running, and the server's URL"
    )
    assert error == {"code": -32603, "message": sentence}
    assert losses == [sentence]


def test_a_server_that_went_away_is_lost_after_three_connections_that_could_not_be_made() -> None:
    async def talk() -> list[int]:
        lost_after: list[int] = []
        async with scripted(saying(200, result(0))) as server, linked(server.url) as peer:
            peer.send("ping", id=0, version=MODERN)
            await peer.reply(0)
            lost_after.append(len(peer.losses))
            server.stop()
            for number in (1, 2, 3):
                peer.send("ping", id=number, version=MODERN)
                assert "nothing answers at" in (await peer.reply(number))["error"]["message"]
                lost_after.append(len(peer.losses))
            peer.send("ping", id=4, version=MODERN)
            assert (await peer.reply(4))["error"][
                "message"
            ] == "the server was not asked: the connection to it has ended"
        return lost_after

    assert run(talk()) == [0, 0, 0, 1]


def test_closing_ends_every_stream_within_its_time_whatever_the_server_does() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method != "DELETE" and with_session(asked, writer):
            return
        await asyncio.sleep(60)

    async def talk() -> list[str]:
        async with scripted(script) as server:
            async with linked(server.url) as peer:
                await peer.shake_hands()
                for number in range(1, 9):
                    peer.send("tools/call", id=number, version=HANDSHAKE)
                await peer.until(lambda: len(server.asked) >= 11)
                async with asyncio.timeout(30):
                    await peer.link.close()
                    await peer.link.close()
                assert peer.losses == []
            return server.methods()

    assert run(talk())[-1] == "DELETE"


@pytest.mark.parametrize(
    ("url", "headers", "told"),
    [
        ("ftp://host/", (), "must begin with http:// or https://"),
        ("http://", (), "must begin with http:// or https://"),
        ("https://me:hunter22@host/", (), "the URL of host has a user name"),
        ("http://host/", (("a b", "x"),), "a name that no HTTP header can have"),
        ("http://host/", (("Mcp-Session-Id", "x"),), "the header Mcp-Session-Id belongs to the transport"),
        ("http://host/", (("Host", "x"),), "the header Host belongs to the transport"),
        ("http://host/", (("Authorization", "hunter22\n"),), "the header Authorization has characters"),
    ],
)
def test_an_address_or_a_header_that_cannot_be_used_is_told_without_its_secret(
    url: str, headers: tuple[tuple[str, str], ...], told: str
) -> None:
    link = HttpLink(url, headers)

    with pytest.raises(LinkError, match=told) as caught:
        asyncio.run(link.open(print, print))

    assert "hunter22" not in str(caught.value)


# --- servers of 2024-11-05


def test_an_older_server_is_spoken_to_at_its_two_addresses() -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            begin(writer)
            writer.write(b"event: endpoint\ndata: /messages?session=7\n\n")
            await writer.drain()
            while True:
                text = await replies.get()
                if text is None:
                    return None
                writer.write(b"event: message\n" + event(text))
                await writer.drain()
        if asked.path == "/mcp":
            return say(writer, 405)
        say(writer, 202, b"Accepted", "text/plain")
        if "id" in asked.message:
            await replies.put(result(asked.message["id"]))
        return None

    async def talk() -> tuple[list[str], list[tuple[str, str]]]:
        async with scripted(script) as server, linked(server.url) as peer:
            await peer.shake_hands("2024-11-05")
            peer.send("tools/list", id=1, version="2024-11-05")
            await peer.reply(1)
            await replies.put(None)
            await peer.until(lambda: bool(peer.losses))
            return peer.losses, [(asked.method, asked.path) for asked in server.asked]

    replies: asyncio.Queue[bytes | None] = asyncio.Queue()
    losses, asked = run(talk())

    assert losses == ["it ended its event stream"]
    assert asked == [("POST", "/mcp"), ("GET", "/mcp"), *[("POST", "/messages?session=7")] * 3]


@pytest.mark.parametrize("named", [b"http://127.0.0.2:1/messages", b"//evil.example/x"])
def test_an_older_server_cannot_send_the_headers_elsewhere(named: bytes) -> None:
    lines: list[str] = []

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST":
            return say(writer, 404)
        begin(writer)
        writer.write(b"event: endpoint\ndata: " + named + b"\n\n")
        return None

    async def talk() -> Any:
        async with scripted(script) as server, linked(server.url, HEADERS, lines.append) as peer:
            peer.send("initialize", id=0, version=HANDSHAKE)
            return await peer.reply(0)

    assert run(talk())["error"]["message"].endswith("answers with status 404")
    assert any("it leads to another origin" in line for line in lines)
