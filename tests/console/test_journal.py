"""The live journal's JSON: the list, its filters, the stream, and what it costs nobody."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Awaitable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from console.journal_calls import DIAGRAM, Stream, encode, encode_at_every_door, following, listed, wait_until
from door_calls import invocation, rpc
from processes import FREQUENT_TOKEN_CHECKS, PATIENCE_S, Reply, Server, run, serving, serving_limited
from signet.app import build_server
from signet.commands.call import walk
from signet.console import feed as feeds
from signet.console import journal as view
from signet.console.feed import Feed, Follower
from signet.console.spool import SharedSpool, Spool
from signet.journal.record import JournalRecord
from signet.kernel.caller import Caller, Principal
from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers
from signet.settings.model import Settings
from signet.system.figures.registry import Registry
from signet.transports.messages import Request

ASKED = Request("POST", "/-/journal/stream", Headers(("authorization",), ("Bearer the-token",)))


def assert_shape(server: Server, path: str, method: str, reply: Reply) -> None:
    """Assert that an answer is what the OpenAPI page says of its path."""
    page = server.ask("GET", "/openapi.json").json()
    content = page["paths"][path][method]["responses"][str(reply.status)]["content"]["application/json"]
    schema = {"components": page["components"], **content["schema"]}
    Draft202012Validator(schema).validate(reply.json())


def test_a_call_through_each_door_is_listed_newest_first(server: Server) -> None:
    encode_at_every_door(server)

    page = listed(server, 3)

    newest = [record["seq"] for record in page["records"]]
    assert newest == sorted(newest, reverse=True)
    assert {record["door"] for record in page["records"]} >= {"rest", "http mcp", "http envelope"}
    record = page["records"][0]
    assert (record["tool"], record["metadata"]["toolId"]) == ("encodePlantUML", "plantuml.encode")
    assert (record["code"], record["stage"], record["shadow"]) == ("OK", "", False)
    journal = {field.encode_name for field in msgspec.structs.fields(JournalRecord)}
    assert journal <= record.keys(), "all fields of the journal"
    assert (page["keeps"], page["leftOut"]) == (10_000, 0)


def test_filters_take_what_they_name_and_the_page_is_as_documented(server: Server) -> None:
    encode_at_every_door(server)
    encode(server, 3)
    server.post("/api/tools/" + "nothing", {})
    page = listed(server, 1, code="NOT_FOUND")

    assert {record["tool"] for record in page["records"]} == {"nothing"}
    assert {"encodePlantUML", "nothing"} <= set(page["tools"])
    assert {"rest", "http mcp", "http envelope"} <= set(page["doors"])
    assert {"OK", "INVALID_INPUT", "NOT_FOUND"} <= set(page["codes"])
    assert page["callers"] == [""]
    for name, value in (("tool", "nothing"), ("door", "http mcp"), ("code", "INVALID_INPUT"), ("caller", "")):
        found = server.post("/-/journal", {name: value}).json()
        assert found["records"], name
        assert {record[name] for record in found["records"]} == {value}
    texts = server.post("/-/journal", {"text": " NOT found"}).json()["records"]
    assert {record["code"] for record in texts} == {"NOT_FOUND"}
    assert server.post("/-/journal", {"caller": "somebody"}).json()["records"] == []
    wrong = server.post("/-/journal", {"limit": 0})
    assert wrong.status == 400
    assert_shape(server, "/-/journal", "post", server.post("/-/journal", {"limit": 2}))
    assert_shape(server, "/-/journal", "post", wrong)


def test_the_list_is_read_in_parts(server: Server) -> None:
    for _ in range(5):
        server.post("/api/tools/parted", {})
    whole = listed(server, 5, tool="parted")["records"]

    parts: list[dict[str, Any]] = []
    for size in (2, 2, 1, 0):
        wanted = {"tool": "parted", "limit": 2, "before": parts[-1]["seq"] if parts else ""}
        part = server.post("/-/journal", wanted).json()["records"]
        assert len(part) == size
        parts += part

    assert len(whole) == 5
    assert [record["seq"] for record in parts] == [record["seq"] for record in whole]


def test_a_stream_passes_on_what_its_filter_takes(server: Server) -> None:
    with following(server, door="rest", text="streamed") as stream:
        assert stream.batch()["records"] == [], "the first event says that the stream has begun"
        server.post("/mcp", rpc("tools/call", {"name": "streamed", "arguments": {}}))
        server.post("/api/tools/other", {})
        server.post("/api/tools/Streamed", {})
        records = stream.batch()["records"]

    assert [(record["tool"], record["door"]) for record in records] == [("Streamed", "rest")]


def test_only_so_many_follow_and_who_leaves_makes_room(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        followed: list[Stream] = []

        def has_begun() -> bool:
            """Who has left is noticed a little later."""
            stream = stack.enter_context(following(server))
            followed.extend([stream] if stream.status == 200 else [])
            return stream.status == 200

        for _ in range(8):
            wait_until(has_begun)
        refused = server.post("/-/journal/stream", {})
        assert (refused.status, refused.json()["error"]["code"]) == (503, "TOO_MANY_STREAMS")
        assert "8 pages of yours" in refused.json()["error"]["message"]
        followed[0].close()
        wait_until(has_begun)


def test_one_who_follows_often_leaves_room_for_others() -> None:
    async def crowd() -> list[str]:
        feed = Feed(Spool())
        assert all(feed.follow(view.Follower("ada")) for _ in range(8))
        assert not feed.follow(view.Follower("ada"))
        assert all(feed.follow(view.Follower(name)) for name in "bcd" for _ in range(8))
        return [feed.crowd("ada"), feed.crowd("e")]

    assert asyncio.run(crowd()) == ["32 pages follow this journal already: close one of them"] * 2


def test_streams_are_counted_by_principal_and_without_one_by_address() -> None:
    ada, bob = (Caller(Principal(name), "127.0.0.1") for name in ("ada", "bob"))
    callers = [ada, bob, Caller(address="127.0.0.1"), Caller(address="::1")]
    owners = [view._owner(msgspec.structs.replace(ASKED, caller=one, address=one.address)) for one in callers]

    assert len(set(owners)) == 4


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_stops_does_not_wait_for_its_streams(workers: str) -> None:
    """Were they waited for, the process would live for ten minutes."""
    flags = ("--toolsets", "plantuml", "--no-journal", "--workers", workers)
    with serving_limited(*flags, grace_s=600) as server, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(following(server)) for _ in range(4)]
        for stream in streams:
            stream.batch()
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(PATIENCE_S) == 0
        assert [list(stream.lines())[1:] for stream in streams] == [[]] * 4


def test_a_stream_is_in_the_audit_log_before_its_first_event(tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(audit))
    with serving(*flags) as server, following(server) as stream:
        stream.batch()
        lines = [json.loads(line) for line in audit.read_text().splitlines()]

    requests = [line for line in lines if line["kind"] == "request"]
    assert [(line["door"], line["code"], line["left"]) for line in requests] == [("console", "OK", False)]


def test_a_silent_stream_sends_a_comment_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(view, "PAUSE_S", 0.0)

    async def listen() -> list[object]:
        events = view._batches(Feed(Spool()), view.JournalFilter(), view.Follower(), view.Admission(None, ASKED))
        told = [await anext(events) for _ in range(3)]
        await events.aclose()
        return told

    assert asyncio.run(listen()) == [view.JournalBatch([], 0), None, None]


class Bouncer:
    """Knows one token, until it does not."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_good = True

    def identify(self, token: str) -> Principal | Fault | Awaitable[Principal | Fault]:
        self.asked.append(token)
        found = Principal("ada") if self.is_good else Fault(Code.UNAUTHORIZED, "This token was revoked")
        return found if len(self.asked) % 2 else self._later(found)

    async def _later(self, found: Principal | Fault) -> Principal | Fault:
        return found

    def challenge(self, fault: Fault) -> str:
        return fault.message

    def reload(self) -> None:
        """Know the same."""


@pytest.mark.parametrize("looks", [1, 2])
def test_a_stream_ends_with_its_token_however_the_token_is_known(looks: int) -> None:
    now_s, bouncer = [0.0], Bouncer()

    async def look() -> list[bool]:
        admission = view.Admission(bouncer, ASKED, lambda: now_s[0])
        lasted = [await admission.lasts()]
        for _ in range(looks):
            now_s[0] += 15.0
            lasted.append(await admission.lasts())
        bouncer.is_good = False
        now_s[0] += 14.0
        lasted.append(await admission.lasts())
        now_s[0] += 1.0
        return [*lasted, await admission.lasts()]

    assert asyncio.run(look()) == [True] * (looks + 2) + [False]
    assert bouncer.asked == ["the-token"] * (looks + 1)


def test_a_stream_ends_after_an_hour_and_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "HEARTBEAT_S", 0.01)
    monkeypatch.setattr(view, "PAUSE_S", 0.0)
    now_s, feed = [0.0], Feed(Spool())

    async def listen() -> list[object]:
        admission = view.Admission(None, ASKED, lambda: now_s[0])
        told: list[object] = []
        async for event in view._batches(feed, view.JournalFilter(), view.Follower(), admission):
            told.append(event)
            now_s[0] += 1800.0
        return told

    assert asyncio.run(listen()) == [view.JournalBatch([], 0), None]
    assert feed._followers == set()


def test_a_revoked_token_ends_the_stream_of_a_server(tmp_path: Path) -> None:
    tokens = str(tmp_path / "tokens")
    made = run("token", "new", "reader", "--scopes", "tools:read", "--tokens-file", tokens).stdout.decode().split()[-1]
    flags = ("--toolsets", "plantuml", "--no-journal", "--tokens-file", tokens)
    with (
        serving(*flags, env=FREQUENT_TOKEN_CHECKS) as server,
        following(server, {"authorization": f"Bearer {made}"}) as stream,
    ):
        stream.batch()
        assert run("token", "revoke", "reader", "--tokens-file", tokens).returncode == 0
        seen = list(islice(stream.lines(), 200))

    assert len(seen) < 200, "the stream has ended"
    assert set(seen) <= {b": \n", b"\n"}


def test_each_worker_shows_what_all_have_seen(tmp_path: Path) -> None:
    flags = ("--toolsets", "plantuml", "--workers", "2", "--log-dir", str(tmp_path))
    with serving(*flags, env={"TMPDIR": str(tmp_path)}) as server:
        calls: list[None] = []

        def both_have_answered() -> bool:
            calls.append(encode(server))
            records = server.post("/-/journal", {"limit": 1000}).json()["records"]
            return len([record for record in records if record["stepId"] == 1]) == 2

        with following(server) as stream:
            stream.batch()
            wait_until(both_have_answered)
            pages = [listed(server, len(calls), limit=1000) for _ in range(8)]
            followed: list[str] = []
            while len(followed) < len(pages[0]["records"]):
                followed += [record["seq"] for record in stream.batch()["records"]]
        [folder] = tmp_path.glob("signet-console-*")
        assert len(list(folder.glob("*.record.1.jsonl"))) == 2

    assert all(page["records"] == pages[0]["records"] for page in pages)
    assert sorted(followed, reverse=True) == [record["seq"] for record in pages[0]["records"]]
    assert not folder.exists()


def test_without_a_journal_the_calls_are_shown_all_the_same(tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--no-journal", "--log-dir", str(tmp_path)) as server:
        encode(server)
        record = listed(server, 1)["records"][0]
        road = server.ask("GET", "/-/journal/" + record["requestId"]).json()["road"]

    assert list(tmp_path.iterdir()) == []
    last = road[-1]
    assert (last["name"], last["status"], last["detail"]) == ("journal", "skipped", "no journal is kept")


def test_without_a_console_there_is_no_journal_page_and_no_folder(tmp_path: Path) -> None:
    flags = ("--toolsets", "plantuml", "--no-console", "--no-journal", "--workers", "2")
    with serving(*flags, env={"TMPDIR": str(tmp_path)}) as server:
        assert server.post("/-/journal", {}).status == 404
        assert list(tmp_path.glob("signet-console-*")) == []


def batch_of(calls: int) -> list[Any]:
    """Return what the journal's thread hands on for real calls."""
    batches: list[Any] = []

    async def make() -> None:
        server = build_server(Settings.read({}, {"toolsets": "plantuml", "journal": False}), figures=Registry())
        server.events.records = batches.extend
        for _ in range(calls):
            await walk(server, "encodePlantUML", {"plantumlCode": DIAGRAM})
        await server.close()

    asyncio.run(make())
    return batches


def failed(batch: list[Any]) -> list[Any]:
    """Return a batch of calls that failed."""
    fault = Fault(Code.INTERNAL_ERROR, "the tool failed")
    error = {"code": "INTERNAL_ERROR", "message": fault.message}
    return [(replace(entry, fault=fault), replace(record, error=error)) for entry, record in batch]


def test_the_last_10_000_calls_are_kept_however_fast_they_come() -> None:
    """Nothing of the calls themselves is kept: arguments may be large."""
    feed = Feed(Spool(), lambda: 0.0)
    batch = batch_of(2) * 2500
    parts = [part for entry, record in batch[:2] for part in (entry, entry.call, entry.call.arguments, record)]
    before = [sys.getrefcount(one) for one in parts]

    for _ in range(3):
        feed.take_own(batch)

    assert (len(feed._unread), len(feed._records)) == (10_000, 0)
    assert [sys.getrefcount(one) for one in parts] == before
    latest = feed.latest()
    assert (len(latest), feed.left_out) == (10_000, 0)
    assert len({record.seq for record in latest}) == 10_000
    assert [record.seq for record in latest] == sorted((record.seq for record in latest), reverse=True)


def test_workers_tell_each_other_of_every_failure_and_of_some_hundreds_of_others(tmp_path: Path) -> None:
    now_s = 0.0
    feed, other = (Feed(SharedSpool(str(tmp_path)), lambda: now_s) for _ in range(2))
    good = batch_of(2) * 2500
    mixed = [*failed(good[:50]), *good, *failed(good[:50])]

    feed.take_own(mixed)
    assert (len(feed.latest()), feed.left_out) == (feeds.BURST + 100, 5000 - feeds.BURST)
    now_s += 1.0
    feed.take_own(mixed)
    assert (len(feed.latest()), feed.left_out) == (feeds.BURST + 700, 10_000 - feeds.BURST - 500)
    other.take_others()
    assert sum(record.code != feeds.OK for record in other.latest()) == 200


def test_whoever_follows_gets_every_failure_and_some_hundreds_of_others() -> None:
    good = batch_of(2) * 2500

    async def follow() -> tuple[list[str], int]:
        feed = Feed(Spool(), lambda: 0.0)
        feed.take_own(good[:100])
        follower = Follower()
        assert feed.follow(follower)
        feed.take_own([*failed(good[:50]), *good, *failed(good[:50])])
        assert len(feed.latest()) == 5200
        return [record.code for record in follower.take()], follower.missed

    codes, missed = asyncio.run(follow())

    assert (codes.count(feeds.OK), len(codes) - codes.count(feeds.OK)) == (feeds.BURST, 100)
    assert missed == 5000 - feeds.BURST


def test_memory_has_a_bound_and_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "BURST", 30_000)
    feed = Feed(Spool())
    feed.take_own(batch_of(1) * 12_345)
    newest = feed.latest()[0]

    assert len(feed.latest()) == 10_000
    assert len(feed._records) <= 10_000 + feeds.SLACK
    assert feed.find(newest.seq) == newest


def test_records_of_others_stand_where_they_belong_and_their_left_out_counts(tmp_path: Path) -> None:
    one, other = (Feed(SharedSpool(str(tmp_path)), lambda: 0.0) for _ in range(2))
    first, second, third = batch_of(3)
    one.take_own([first])
    other.take_own([second])
    one.take_own([third] * 1001)

    for feed in (one, other):
        feed.take_others()

    assert one.latest() == other.latest()
    assert len(one.latest()) == feeds.BURST + 1
    assert one.latest()[-1].request_id == first[1].request_id
    assert one.latest()[-2].request_id == second[1].request_id
    assert one.left_out == other.left_out == 2


def test_one_who_does_not_read_misses_records_and_is_told_so() -> None:
    feed = Feed(Spool(), lambda: 0.0)
    batch = batch_of(1) * 1000

    async def listen() -> tuple[int, int]:
        follower = view.Follower()
        feed.follow(follower)
        for _ in range(3):
            feed._budget = 1000.0
            feed.take_own(batch)
        return len(follower.take()), follower.missed

    assert asyncio.run(listen()) == (2000, 1000)


def test_a_broken_contract_tells_its_stage_and_its_road(server: Server, tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--validation", "shadow", "--log-dir", str(tmp_path)) as lenient:
        enforced, noted = stages_of_a_bad_envelope(server), stages_of_a_bad_envelope(lenient)

    assert enforced == ("error", False, "failed skipped skipped skipped passed")
    assert noted == ("ok", True, "failed passed passed passed passed")


def stages_of_a_bad_envelope(server: Server) -> tuple[str, bool, str]:
    """Send an envelope without its version, and return how the call ended and what its road was."""
    lacking = invocation("plantuml.encode", {"plantumlCode": DIAGRAM})
    del lacking["jsonrpc"]
    server.post("/mcp/tool/plantuml.encode", lacking)
    record = listed(server, 1, code="INVALID_INPUT", door="http envelope")["records"][0]
    assert record["stage"] == "envelope"
    road = server.ask("GET", "/-/journal/" + record["requestId"]).json()["road"]
    names = [stage["name"] for stage in road]
    assert names == ["envelope", "input contract", "tool", "output contract", "journal"]
    return record["status"], record["shadow"], " ".join(stage["status"] for stage in road)


def test_a_limit_is_a_whole_number_as_the_schema_reads_it(server: Server) -> None:
    """To JSON Schema 1000.0 is an integer, and 1.5 is none."""
    assert [server.post("/-/journal", {"limit": limit}).status for limit in (1000, 1000.0, 1.5)] == [200, 200, 400]
