"""Attacks on sessions: guessed ids, floods of handshakes, clients that do not read, clients that hang up."""

from __future__ import annotations

import asyncio
import json

from processes import PATIENCE_S
from remote_servers import run
from session_servers import Site, call, message, serving_sessions, until
from signet.transports.sessions import SessionLimits

MIB = 1_048_576


def raw(site: Site, body: object, **headers: str) -> bytes:
    """Return a POST as bytes."""
    text = json.dumps(body).encode()
    named = {"host": "127.0.0.1", "content-type": "application/json", "accept": "application/json, text/event-stream"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()} | {"content-length": str(len(text))}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode() + text


def port_of(site: Site) -> int:
    return int(site.url.rpartition(":")[2].removesuffix("/mcp"))


def test_guessing_ids_finds_nothing() -> None:
    async def attack() -> None:
        async with serving_sessions() as site:
            session = (await site.session())["mcp_session_id"]
            near = [session[:-1], session + "A", session.swapcase(), session[::-1], "", "*", "0", session[:-1] + "~"]

            found = [(await site.send("POST", call("now"), mcp_session_id=guess)).status for guess in near]

            assert set(found) == {404}
            assert (await site.send("POST", call("now"), mcp_session_id=session)).status == 200

    run(attack())


def test_a_flood_of_handshakes_costs_the_attacker_its_own_sessions() -> None:
    async def attack() -> None:
        async with serving_sessions(SessionLimits(per_owner=50)) as site:
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            first = await site.session()
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(site))
            flood = raw(site, message("initialize", opening))
            for _ in range(20):
                writer.write(flood * 25)
                async with asyncio.timeout(PATIENCE_S):
                    for _ in range(25):
                        head = await reader.readuntil(b"\r\n\r\n")
                        assert head.startswith(b"HTTP/1.1 200 ")
                        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                        await reader.readexactly(length)
            writer.close()

            assert len(site.table) == 50
            assert (await site.call(first, "now")).status == 404
            assert (await site.call(await site.session(), "now")).status == 200

    run(attack())


def test_a_client_that_does_not_read_holds_no_more_than_its_bound_and_nobody_else_waits() -> None:
    async def attack() -> None:
        async with serving_sessions() as site:
            session, bystander = await site.session(), await site.session()
            _, writer = await asyncio.open_connection("127.0.0.1", port_of(site), limit=1024)
            writer.write(raw(site, call("talk", count=3000, size=10_000, wait=True), **session))
            await until(lambda: site.wrapped.started == 1)
            for _ in range(20):
                assert (await site.call(bystander, "talk")).status == 200

            assert 0 < site.table._budget.held_bytes < 2 * MIB
            writer.close()

    run(attack())


def test_clients_that_hang_up_leave_nothing_behind() -> None:
    async def attack() -> None:
        async with serving_sessions(SessionLimits(kept_s=0.05, sweep_s=0.02)) as site:
            session = await site.session()
            for number in range(60):
                _, writer = await asyncio.open_connection("127.0.0.1", port_of(site))
                writer.write(raw(site, call("wait", number), **session))
                if number % 2:
                    await until(lambda number=number: site.wrapped.started == number + 1)
                writer.transport.abort()
                await until(lambda number=number: site.wrapped.started == number + 1)

            await until(lambda: site.wrapped.cancelled == 60)
            await until(lambda: not site.table._sessions[session["mcp_session_id"]].streams)
            assert site.table._budget.held_bytes == 0
            assert (await site.call(session, "now")).status == 200

    run(attack())


def test_a_thousand_calls_keep_a_bounded_number_of_replies() -> None:
    async def attack() -> None:
        async with serving_sessions(SessionLimits(streams=32)) as site:
            session = await site.session()
            for _ in range(40):
                await asyncio.gather(*(site.call(session, "large", size=10_000) for _ in range(25)))

            assert len(site.table._sessions[session["mcp_session_id"]].streams) <= 32
            assert site.table._budget.held_bytes < MIB

    run(attack())
