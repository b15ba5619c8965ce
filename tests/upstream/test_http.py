"""The way out over real sockets: deadlines, redirects, limits, headers, and what becomes of broken answers."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from oj_harness import (
    PAGE,
    PROBLEM,
    SAMPLE,
    SIMILAR,
    TOOLS,
    OjHarness,
    call,
    oj_sandbox,
    said,
    serving_oj,
)
from processes import ROOT, SIGNET, Pipe, piping
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.settings.catalogue import find_toolset
from signet.settings.model import Settings
from signet.upstream.http import HttpUpstream
from upstream_harness import DIRECT, hashed_bearer, http_answer, listening

TOKEN = "a-token-for-the-way-out"
MIB = 1_048_576
ASK: dict[str, Any] = {"source": SAMPLE[0], "id": SAMPLE[1]}
TARGET = f"/api/v1/problems/{SAMPLE[0]}/{SAMPLE[1]}"
FAILED = ("failed", -32603)


@pytest.fixture(scope="module")
def other() -> Iterator[OjHarness]:
    """Another origin."""
    with oj_sandbox() as harness:
        yield harness


@pytest.fixture(scope="module")
def pipe(judge: OjHarness) -> Iterator[Pipe]:
    """A server with a token."""
    with serving_oj(judge.url, "--token", TOKEN) as process:
        yield process


@pytest.fixture(scope="module")
def impatient(judge: OjHarness) -> Iterator[Pipe]:
    """A server whose requests may take one second."""
    with serving_oj(judge.url, env={"OJ_TIMEOUT_S": "1"}) as process:
        yield process


def fetched(judge: OjHarness, body_bytes: int = MIB) -> UpstreamResponse:
    """Ask the upstream once through the client itself, which shows what it keeps of a body."""

    async def ask() -> UpstreamResponse:
        client = HttpUpstream(UpstreamSpec(base_url=judge.url, max_body_bytes=body_bytes))
        try:
            return await client.send(UpstreamRequest(TARGET))
        finally:
            await client.close()

    return asyncio.run(ask())


def rss_kib(pipe: Pipe) -> int:
    """How much memory the server holds."""
    status = Path(f"/proc/{pipe.process.pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


# --- S2.1: time


@pytest.mark.spec("1.S2.1.timeout")
def test_a_request_may_take_30_seconds_unless_told_otherwise() -> None:
    assert find_toolset("oj").settings().timeout_s == 30.0
    assert Settings().call_timeout_s > 30.0


@pytest.mark.spec("1.S2.1.timeout", "1.S4.1.timeout")
def test_a_body_that_drips_steadily_does_not_outlast_the_deadline(judge: OjHarness, impatient: Pipe) -> None:
    """Twenty bytes a second: no single wait is long, and all of the sample would take a minute and more."""
    judge.order("drip", rate=20)

    answer = impatient.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert said(answer) == FAILED
    assert "within 1 s" in answer["error"]["message"]
    [seen] = judge.settled()
    assert seen.end == "gone"
    assert 0 < seen.body_bytes < 100


@pytest.mark.spec("1.S2.1.never-responds", "1.S4.1.timeout")
def test_a_server_that_never_responds_is_a_protocol_error(judge: OjHarness, impatient: Pipe) -> None:
    judge.order("hang")

    answer = impatient.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert said(answer) == FAILED
    assert "within 1 s" in answer["error"]["message"]
    [seen] = judge.settled()
    assert seen.end == "gone"


@pytest.mark.spec("1.S2.1.never-responds")
def test_a_peer_that_takes_a_request_and_says_nothing_is_waited_for_no_longer_than_the_time() -> None:
    with listening(b"") as peer, serving_oj(peer.url, env={"OJ_TIMEOUT_S": "0.4"}) as pipe:
        answer = pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

        assert said(answer) == FAILED
        assert "within 0.4 s" in answer["error"]["message"]
        assert [sent.startswith(b"GET /api/v1/problems/") for sent in peer.connections] == [True]


@pytest.mark.spec("1.S2.1.timeout", "1.S2.1.redirects")
def test_the_deadline_does_not_begin_anew_with_a_redirect(judge: OjHarness, impatient: Pipe) -> None:
    judge.order("redirect_to", location="/api/v1/resolve/two", match=TARGET)
    judge.order("redirect_to", location="/api/v1/resolve/three", match="resolve/two")
    judge.order("drip", rate=20, match="resolve/three")

    assert call(impatient, "get_problem", **ASK) == FAILED
    assert [seen.end for seen in judge.settled()] == ["answered", "answered", "gone"]


# --- S2.1: one client, plain requests


@pytest.mark.spec("1.S2.1.one-client")
def test_all_requests_come_over_one_client() -> None:
    with listening(http_answer(PROBLEM)) as listener, serving_oj(listener.url) as pipe:
        answers = [call(pipe, "get_problem", source="a", id=str(number)) for number in range(5)]

        assert answers == [("answer", PAGE)] * 5
        assert len(listener.connections) == 1
        assert listener.received.count(b"GET /api/v1/problems/a/") == 5


@pytest.mark.spec("1.S2.1.plain", "1.S1.1.appended", "1.S1.1.starts", "1.base-url.no-slash")
def test_a_request_is_a_plain_get_for_the_literal_path() -> None:
    with listening(http_answer(PROBLEM)) as listener, serving_oj(f"{listener.url}/", "--token", TOKEN) as pipe:
        call(pipe, "get_problem", source="leetcode", id="1")

        first, *fields = listener.received.decode().strip().split("\r\n")
        sent = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
        assert sent.pop("user-agent").startswith("signet/")
        assert first == "GET /api/v1/problems/leetcode/1 HTTP/1.1"
        assert sent == {
            "host": f"127.0.0.1:{listener.port}",
            "accept": "*/*",
            "accept-encoding": "identity",
            "authorization": f"Bearer {TOKEN}",
        }


@pytest.mark.spec("1.S1.2.present", "1.S2.1.one-client")
def test_a_token_goes_with_every_request(judge: OjHarness, pipe: Pipe) -> None:
    for name, arguments in (
        ("get_daily_challenge", {}),
        ("get_problem", ASK),
        ("find_similar_problems", ASK),
        ("find_similar_problems", {"query": "numbers"}),
        ("resolve_problem", {"query": "1"}),
        ("get_platform_status", {}),
    ):
        call(pipe, name, **arguments)

    assert judge.bearers() == [hashed_bearer(TOKEN)] * 6


@pytest.mark.spec("1.S1.2.absent")
def test_without_a_token_no_request_has_the_header(judge: OjHarness) -> None:
    with serving_oj(judge.url) as pipe:
        for name, arguments in (("get_problem", ASK), ("resolve_problem", {"query": "1"}), ("get_daily_challenge", {})):
            call(pipe, name, **arguments)

    assert judge.bearers() == [None] * 3


@pytest.mark.spec("1.S1.2.present", "1.S4.2.canonical")
def test_an_upstream_that_wants_a_token_is_content_with_the_right_one() -> None:
    with oj_sandbox(token=TOKEN) as strict:
        with serving_oj(strict.url, "--token", TOKEN) as pipe:
            assert call(pipe, "get_platform_status")[0] == "answer"
        with serving_oj(strict.url, "--token", "another") as pipe:
            assert call(pipe, "get_platform_status") == ("told", "[401] Unauthorized: missing or invalid token")


@pytest.mark.spec("1.S2.1.tls")
def test_nothing_can_be_read_on_the_way_to_an_https_origin() -> None:
    """Its peer does not speak TLS, so that all it ever sees is how the client begins."""
    with listening(b"") as listener, serving_oj(f"https://127.0.0.1:{listener.port}", "--token", TOKEN,
                                                env={"OJ_TIMEOUT_S": "1"}) as pipe:  # fmt: skip
        assert call(pipe, "get_problem", source="leetcode", id="1") == FAILED

        assert listener.received.startswith(b"\x16\x03")
        assert TOKEN.encode() not in listener.received
        assert b"leetcode" not in listener.received


# --- S2.1: redirects


@pytest.mark.spec("1.S2.1.redirects", "1.S2.1.redirects-token")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_ten_redirects_are_followed_and_the_token_goes_along(judge: OjHarness, pipe: Pipe, status: int) -> None:
    judge.order("redirect", hops=10, status=status)

    assert call(pipe, "get_problem", **ASK)[0] == "answer"
    assert len(judge.targets()) == 11
    assert judge.targets()[-1] == f"/_hop/{status}/0{TARGET}"
    assert judge.bearers() == [hashed_bearer(TOKEN)] * 11


@pytest.mark.spec("1.S2.1.redirects")
@pytest.mark.parametrize("order", [{"fault": "redirect", "hops": 11}, {"fault": "redirect_loop"}])
def test_the_eleventh_redirect_is_a_protocol_error(judge: OjHarness, pipe: Pipe, order: dict[str, Any]) -> None:
    judge.order(**order)

    assert call(pipe, "get_problem", **ASK) == FAILED
    assert len(judge.targets()) == 11


@pytest.mark.spec("1.S2.1.redirects-token")
def test_the_token_does_not_go_to_another_port(judge: OjHarness, other: OjHarness, pipe: Pipe) -> None:
    judge.order("redirect_to", location=f"{other.url}{TARGET}")

    assert call(pipe, "get_problem", **ASK)[0] == "answer"
    assert judge.bearers() == [hashed_bearer(TOKEN)]
    assert (other.targets(), other.bearers()) == ([TARGET], [None])


@pytest.mark.spec("1.S2.1.redirects-token")
def test_the_token_does_not_go_to_another_host(judge: OjHarness, pipe: Pipe) -> None:
    judge.order("redirect_to", location=judge.url.replace("127.0.0.1", "localhost") + TARGET, times=1)

    assert call(pipe, "get_problem", **ASK)[0] == "answer"
    assert judge.bearers() == [hashed_bearer(TOKEN), None]


@pytest.mark.spec("1.S2.1.redirects-token")
def test_the_token_does_not_come_back_with_a_redirect_home(judge: OjHarness, other: OjHarness, pipe: Pipe) -> None:
    judge.order("redirect_to", location=f"{other.url}/away", times=1)
    other.order("redirect_to", location=f"{judge.url}{TARGET}")

    assert call(pipe, "get_problem", **ASK)[0] == "answer"
    assert judge.bearers() == [hashed_bearer(TOKEN), None]
    assert other.bearers() == [None]


@pytest.mark.spec("1.S2.1.redirects-token")
def test_the_next_request_has_the_token_again(judge: OjHarness, other: OjHarness, pipe: Pipe) -> None:
    judge.order("redirect_to", location=f"{other.url}{TARGET}", times=1)

    call(pipe, "get_problem", **ASK)
    call(pipe, "get_problem", **ASK)

    assert judge.bearers() == [hashed_bearer(TOKEN)] * 2


@pytest.mark.spec("1.S2.1.redirects")
@pytest.mark.parametrize(
    "location",
    [
        "//",
        "ftp://example.com/x",
        "http://",
        "http://[",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://u:p@127.0.0.1:1/",
        "http://h:99999/",
    ],
)
def test_a_redirect_to_nowhere_is_a_protocol_error(judge: OjHarness, pipe: Pipe, location: str) -> None:
    judge.order("redirect_to", location=location)

    assert call(pipe, "get_problem", **ASK) == FAILED


@pytest.mark.spec("1.S2.1.no-location", "1.S4.2.other-status")
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_that_does_not_say_where_is_told(judge: OjHarness, pipe: Pipe, status: int) -> None:
    judge.order("no_location", status=status)

    assert call(pipe, "get_problem", **ASK) == ("told", f"[{status}] ")
    assert len(judge.targets()) == 1


@pytest.mark.spec("1.S2.1.no-location", "1.S4.3.template")
def test_the_problem_document_of_a_redirect_that_does_not_say_where_is_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"title": "Moved", "status": 301, "detail": "somewhere"}, status=301)

    assert call(pipe, "resolve_problem", query="two-sum") == ("told", "[301] Moved: somewhere")
    assert judge.targets() == ["/api/v1/resolve/two-sum"]


# --- S2.1: no second try, no detour


@pytest.mark.spec("1.S2.1.no-retry", "1.S4.1.broken")
@pytest.mark.parametrize("fault", ["close", "reset", "cut", "cut_chunked", "garbage"])
def test_a_request_that_fails_on_a_kept_connection_is_not_made_again(judge: OjHarness, pipe: Pipe, fault: str) -> None:
    """A second try would be answered, since the fault is ordered once."""
    assert call(pipe, "get_problem", **ASK)[0] == "answer"
    judge.clear()
    judge.order(fault, times=1)

    assert call(pipe, "get_problem", **ASK) == FAILED
    assert judge.targets() == [TARGET]


@pytest.mark.spec("1.S2.1.no-retry", "1.S4.1.broken")
@pytest.mark.parametrize("fault", ["close", "reset", "cut"])
def test_a_request_that_fails_on_a_new_connection_is_not_made_again(judge: OjHarness, fault: str) -> None:
    judge.order(fault, times=1)

    with serving_oj(judge.url) as pipe:
        assert call(pipe, "get_problem", **ASK) == FAILED

    assert judge.targets() == [TARGET]


@pytest.mark.spec("1.S2.1.no-retry", "1.S4.1.broken")
def test_the_next_call_after_each_fault_is_served(judge: OjHarness, pipe: Pipe) -> None:
    for fault in ("close", "reset", "cut", "cut_chunked", "garbage", "short_length", "redirect_loop", "not_json"):
        judge.order(fault, times=1)

        assert call(pipe, "get_problem", **ASK)[0] == "failed", fault
        assert call(pipe, "get_problem", **ASK)[0] == "answer", fault


@pytest.mark.spec("1.S4.1.refused")
def test_a_refused_connection_is_a_protocol_error() -> None:
    with oj_sandbox() as gone:
        pass

    with serving_oj(gone.url) as pipe:
        assert call(pipe, "get_problem", **ASK) == FAILED


@pytest.mark.spec("1.S4.1.dns")
def test_a_host_that_cannot_be_resolved_is_a_protocol_error() -> None:
    with serving_oj("http://no-such-judge.invalid", env={"OJ_TIMEOUT_S": "5"}) as pipe:
        assert call(pipe, "get_problem", **ASK) == FAILED


@pytest.mark.spec("1.S4.1.dns")
def test_a_redirect_to_a_host_that_cannot_be_resolved_is_a_protocol_error(judge: OjHarness, pipe: Pipe) -> None:
    judge.order("redirect_to", location="http://no-such-judge.invalid/elsewhere")

    assert call(pipe, "get_problem", **ASK) == FAILED
    assert judge.targets() == [TARGET]


@pytest.mark.spec("1.S4.1.bug")
@pytest.mark.parametrize("tool", ["raises", "raises_later"])
def test_an_internal_bug_is_a_protocol_error_that_does_not_quote_it(tool: str) -> None:
    with piping(sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "stdio") as odd:
        answer = odd.ask(rpc("tools/call", {"name": tool, "arguments": {}}))

    assert said(answer) == FAILED
    assert "RuntimeError" not in json.dumps(answer)
    assert "hunter2-in-the-exception" not in json.dumps(answer)


@pytest.mark.spec("1.S2.1.proxy")
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening(http_answer(PROBLEM)) as proxy:
        with serving_oj("http://judge.example", env={variable: proxy.url}) as pipe:
            assert call(pipe, "get_problem", source="leetcode", id="1") == ("answer", PAGE)

        assert proxy.received.startswith(b"GET http://judge.example/api/v1/problems/leetcode/1 HTTP/1.1\r\n")


@pytest.mark.spec("1.S2.1.proxy")
def test_a_proxy_may_be_named_without_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening(http_answer(PROBLEM)) as proxy:
        with serving_oj("http://judge.example", env={"HTTP_PROXY": f"127.0.0.1:{proxy.port}"}) as pipe:
            assert call(pipe, "get_problem", source="leetcode", id="1") == ("answer", PAGE)

        assert proxy.received.startswith(b"GET http://judge.example/")


def test_the_embedded_upstream_is_asked_without_a_proxy() -> None:
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9", "NO_PROXY": "", "no_proxy": ""}
    with piping(SIGNET, "stdio", "--sandbox", "--toolsets", "oj", env=nowhere) as pipe:
        assert call(pipe, "get_problem", **ASK)[0] == "answer"


@pytest.mark.spec("1.S2.1.proxy")
def test_a_proxy_is_not_used_for_the_hosts_that_need_none(judge: OjHarness) -> None:
    with listening(b"") as proxy:
        with serving_oj(judge.url, env={**DIRECT, "HTTP_PROXY": proxy.url, "ALL_PROXY": proxy.url}) as pipe:
            assert call(pipe, "get_problem", **ASK)[0] == "answer"

        assert proxy.connections == []
    assert judge.targets() == [TARGET]


# --- S2.2: the limit on a body


@pytest.mark.spec("1.S2.2.exactly", "1.S2.2.body-cap", "1.S2.2.streamed")
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_of_a_2_mib_body_exactly_1_mib_is_read(judge: OjHarness, framing: str) -> None:
    judge.order("huge", chunked=framing == "chunks")

    answer = fetched(judge)

    [seen] = judge.settled()
    assert (len(answer.body), answer.cut, answer.status) == (MIB, True, 200)
    assert MIB <= seen.body_bytes <= 2 * MIB


@pytest.mark.spec("1.S2.2.streamed", "1.S2.2.body-cap", "1.S5.1.stops")
def test_the_rest_of_a_large_body_is_never_taken(judge: OjHarness, pipe: Pipe) -> None:
    """The upstream counts what it could get rid of: the limit, and what fits into the buffers between."""
    judge.order("huge", size=256 * MIB)
    call(pipe, "get_problem", **ASK)
    before = rss_kib(pipe)

    assert call(pipe, "get_problem", **ASK) == FAILED
    first, second = judge.settled()
    assert first.end == second.end == "gone"
    assert MIB <= second.body_bytes < 16 * MIB
    assert rss_kib(pipe) - before < 16 * 1024


@pytest.mark.spec("1.S2.2.whole", "1.S2.2.body-cap")
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_of_exactly_the_limit_is_read_whole(judge: OjHarness, pipe: Pipe, framing: str) -> None:
    whole = call(pipe, "get_problem", **ASK)
    judge.order("huge", size=MIB, chunked=framing == "chunks")

    assert call(pipe, "get_problem", **ASK) == whole
    assert judge.settled()[-1].body_bytes == MIB


@pytest.mark.spec("1.S2.2.whole")
@pytest.mark.parametrize(("size", "cut"), [(MIB, False), (MIB + 1, True)])
def test_a_body_is_whole_up_to_the_limit_and_cut_beyond_it(judge: OjHarness, size: int, cut: bool) -> None:
    judge.order("huge", size=size)

    answer = fetched(judge)

    assert (len(answer.body), answer.cut) == (MIB, cut)


@pytest.mark.spec("1.S5.1.stops", "1.S2.2.body-cap", "1.S2.2.exactly")
@pytest.mark.parametrize("size", [MIB + 1, 2 * MIB])
def test_json_that_is_cut_by_the_limit_cannot_be_read(judge: OjHarness, pipe: Pipe, size: int) -> None:
    judge.order("huge", size=size)

    answer = pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert said(answer) == FAILED
    assert answer["error"]["message"].endswith("(only the first 1048576 bytes were read)")


@pytest.mark.spec("1.S5.1.stops", "1.S4.4.cut", "1.S4.2.any-status")
def test_an_error_that_is_cut_by_the_limit_is_shown_by_the_fallback(judge: OjHarness, pipe: Pipe) -> None:
    judge.order("huge", status=500)

    kind, text = call(pipe, "get_problem", **ASK)

    assert kind == "told"
    assert text.startswith('[500] {"')
    assert len(text) == len("[500] ") + 500


@pytest.mark.spec("1.S2.2.body-cap", "1.S2.1.plain")
def test_what_is_sent_compressed_unasked_is_not_unpacked_beyond_the_limit() -> None:
    """A quarter of a megabyte that would unpack to 256."""
    packed = gzip.compress(bytes(256 * MIB), compresslevel=9)
    head = b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    with listening(head % len(packed) + packed) as listener, serving_oj(listener.url) as pipe:
        call(pipe, "get_problem", **ASK)
        before = rss_kib(pipe)

        kind, text = call(pipe, "get_problem", **ASK)

        assert kind == "told"
        assert len(text) == len("[500] ") + 500
        assert rss_kib(pipe) - before < 16 * 1024


def packed_answer(body: bytes, coding: str) -> bytes:
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-encoding: "
    return f"{head}{coding}\r\n\r\n".encode() + body


@pytest.mark.spec("1.S2.1.plain")
@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip", "identity, gzip"])
def test_gzip_is_unpacked_by_whatever_name_and_in_whatever_pieces(coding: str) -> None:
    data = json.dumps(PROBLEM).encode()
    members = b"".join(gzip.compress(data[at : at + 100]) for at in range(0, len(data), 100)) + gzip.compress(b"")
    with listening(packed_answer(members, coding), hangs_up=True) as listener, serving_oj(listener.url) as pipe:
        assert call(pipe, "get_problem", **ASK) == ("answer", PAGE)


@pytest.mark.spec("1.S2.2.body-cap")
@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (b"x", ("answer", PAGE)),
        (b"x" * 2 * MIB, ("answer", PAGE)),
        (bytes(512), ("answer", PAGE)),
        (gzip.compress(b"") * 500_000, ("answer", PAGE)),
    ],
    ids=["one byte", "no gzip", "padding", "members of nothing"],
)
def test_what_follows_gzip_is_ignored_and_not_heaped_up(tail: bytes, said: object) -> None:
    answer = packed_answer(gzip.compress(json.dumps(PROBLEM).encode()) + tail, "gzip")
    with listening(answer, hangs_up=True) as listener, serving_oj(listener.url) as pipe:
        call(pipe, "get_problem", **ASK)
        before = rss_kib(pipe)

        assert call(pipe, "get_problem", **ASK) == said
        assert rss_kib(pipe) - before < 4 * 1024


@pytest.mark.spec("1.S4.2.any-status")
def test_a_long_header_is_no_fault() -> None:
    head = b"HTTP/1.1 404 X\r\ncontent-security-policy: %b\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n"
    with listening(head % (b"x" * 30_000) + b"no") as listener, serving_oj(listener.url) as pipe:
        assert call(pipe, "get_problem", **ASK) == ("told", "[404] no")


@pytest.mark.spec("1.S6.3.never")
@pytest.mark.parametrize("spelling", [r"sla\/sh\u002Bplus-12345", "sla%2Fsh%2Bplus-12345", "sla&#47;sh&#43;plus-12345"])
def test_a_token_that_is_sent_back_in_another_spelling_is_not_quoted(judge: OjHarness, spelling: str) -> None:
    token = "sla/sh+plus-12345"
    judge.order(
        "answer", status=401, body=f'{{"title":"U","detail":"bad {spelling}"}}', type="application/problem+json"
    )
    with serving_oj(judge.url, "--token", token, env={"RUST_LOG": "trace"}) as pipe:
        assert call(pipe, "get_problem", source="a", id=token) == ("told", "[401] U: bad [redacted]")
        _, _, err = pipe.finish()

    assert b"plus-12345" not in err
    assert b"[redacted]" in err


# --- S2.3: content types


@pytest.mark.spec("1.S2.3.fallback", "1.S2.3.never-parsed", "1.S2.3.gate")
@pytest.mark.parametrize("name", TOOLS)
def test_a_page_under_200_is_shown_by_the_fallback(judge: OjHarness, pipe: Pipe, name: str) -> None:
    page = "<html>" + "é" * 600
    judge.order("answer", type="text/html", body=page)
    arguments = {"get_problem": ASK, "find_similar_problems": {"query": "abc"}, "resolve_problem": {"query": "abc"}}

    assert call(pipe, name, **arguments.get(name, {})) == ("told", f"[200] {page[:500]}")


@pytest.mark.spec("1.S2.3.gate")
@pytest.mark.parametrize(
    "type_", ["application/json", "Application/JSON", "application/json;charset=UTF-8", "application/problem+json"]
)
def test_json_is_read_by_its_content_type_in_whatever_case(judge: OjHarness, pipe: Pipe, type_: str) -> None:
    judge.answers(PROBLEM, type=type_)

    assert call(pipe, "get_problem", **ASK) == ("answer", PAGE)


@pytest.mark.spec("1.S2.3.gate", "1.S2.3.fallback")
@pytest.mark.parametrize("type_", ["text/plain", "text/json", "application/xml", "", None])
def test_json_of_another_content_type_is_not_read(judge: OjHarness, pipe: Pipe, type_: str | None) -> None:
    judge.answers(PROBLEM, type=type_)

    kind, text = call(pipe, "get_problem", **ASK)

    assert (kind, text[:10]) == ("told", '[200] {"id')


@pytest.mark.spec("1.S2.3.error-gate")
def test_an_error_of_another_content_type_is_not_read_as_a_problem_document(judge: OjHarness, pipe: Pipe) -> None:
    document = {"title": "t", "status": 1, "detail": "d"}
    judge.answers(document, status=404, type="text/plain")

    assert call(pipe, "get_problem", **ASK) == ("told", f"[404] {json.dumps(document)}")


# --- S4: statuses and broken bodies


@pytest.mark.spec("1.S4.2.any-status", "1.S4.2.4xx", "1.S4.2.5xx", "1.S4.3.template")
def test_every_status_from_400_to_599_is_told(judge: OjHarness, pipe: Pipe) -> None:
    for status in range(400, 600):
        judge.answers({"title": "T", "status": status, "detail": "d"}, status=status, times=1)

        assert call(pipe, "get_problem", **ASK) == ("told", f"[{status}] T: d")


@pytest.mark.spec("1.S4.3.status")
def test_the_status_that_is_shown_is_the_bodys_unless_it_has_none(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"title": "Teapot", "status": 418, "detail": "short and stout"}, status=404, times=1)
    judge.answers({"title": "Not Found", "detail": "gone"}, status=404, times=1)

    assert call(pipe, "get_problem", **ASK) == ("told", "[418] Teapot: short and stout")
    assert call(pipe, "get_problem", **ASK) == ("told", "[404] Not Found: gone")


@pytest.mark.spec("1.S4.2.5xx", "1.S4.4.template")
def test_500_with_a_plain_text_is_told_as_it_came(judge: OjHarness, pipe: Pipe) -> None:
    judge.order("answer", status=500, type="text/plain", body="it broke")

    assert call(pipe, "get_problem", **ASK) == ("told", "[500] it broke")


@pytest.mark.spec("1.S4.3.shape", "1.S4.4.template")
@pytest.mark.parametrize(
    ("document", "shown"),
    [
        ({"title": "Not Found"}, "[404] Not Found: "),
        ({"status": 404, "detail": "d"}, '[404] {"status": 404, "detail": "d"}'),
        (["title"], '[404] ["title"]'),
    ],
)
def test_a_problem_document_is_an_object_with_a_title(
    judge: OjHarness, pipe: Pipe, document: object, shown: str
) -> None:
    judge.answers(document, status=404)

    assert call(pipe, "get_problem", **ASK) == ("told", shown)


@pytest.mark.spec("1.S4.4.cut", "1.S4.4.no-suffix", "1.S4.4.unicode", "1.S4.4.template")
@pytest.mark.parametrize(
    ("body", "shown"),
    [("x" * 1000, "x" * 500), ("x" * 499 + "😀", "x" * 499 + "😀"), ("x" * 499 + "😀😀", "x" * 499 + "😀")],
    ids=["1000 letters", "499 and an emoji", "499 and two"],
)
def test_of_another_body_500_characters_are_shown_and_nothing_behind_them(
    judge: OjHarness, pipe: Pipe, body: str, shown: str
) -> None:
    judge.order("answer", status=500, type="text/plain", body=body)

    assert call(pipe, "get_problem", **ASK) == ("told", f"[500] {shown}")


@pytest.mark.spec("1.S4.2.other-status")
@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 226])
def test_another_success_than_200_is_told(judge: OjHarness, pipe: Pipe, status: int) -> None:
    body = "" if status == 204 else "{}"
    judge.order("answer", status=status, body=body)

    assert call(pipe, "get_problem", **ASK) == ("told", f"[{status}] {body}")


@pytest.mark.spec("1.S4.2.any-status", "1.S4.1.broken", "1.S4.1.not-utf8")
@pytest.mark.parametrize("fault", ["cut", "cut_chunked", "not_json", "empty", "invalid_utf8", "no_type"])
@pytest.mark.parametrize("status", [404, 500])
def test_an_error_status_is_told_whatever_became_of_its_body(
    judge: OjHarness, pipe: Pipe, fault: str, status: int
) -> None:
    judge.order(fault, status=status)

    kind, text = call(pipe, "get_problem", **ASK)

    assert kind == "told"
    assert text.startswith(f"[{status}] ")


@pytest.mark.spec("1.S4.2.any-status", "1.S4.1.broken")
def test_an_error_that_does_not_come_to_its_end_in_time_is_told(judge: OjHarness, impatient: Pipe) -> None:
    judge.order("drip", rate=20)

    kind, text = call(impatient, "get_problem", source=SAMPLE[0], id="no-such-id")

    assert kind == "told"
    assert text.startswith('[404] {"type"')


@pytest.mark.spec("1.S4.1.not-json", "1.S4.1.not-utf8", "1.S4.1.broken")
@pytest.mark.parametrize("fault", ["not_json", "empty", "invalid_utf8", "short_length", "cut", "cut_chunked"])
def test_200_with_a_broken_body_is_a_protocol_error(judge: OjHarness, pipe: Pipe, fault: str) -> None:
    judge.order(fault)

    assert call(pipe, "get_problem", **ASK) == FAILED


@pytest.mark.spec("1.S2.2.streamed")
@pytest.mark.parametrize("size", [1, 7, 1024, 1_000_000])
def test_a_body_in_chunks_of_any_size_is_read(judge: OjHarness, pipe: Pipe, size: int) -> None:
    whole = call(pipe, "get_problem", **ASK)
    judge.order("chunked", size=size)

    assert call(pipe, "get_problem", **ASK) == whole


# --- many at once


@pytest.mark.spec("1.S2.1.in-flight", "1.S2.1.one-client")
def test_200_calls_wait_side_by_side_and_leave_memory_where_it_was(judge: OjHarness, pipe: Pipe) -> None:
    call(pipe, "get_problem", **ASK)  # the first request loads the client
    judge.clear()
    judge.order("slow", delay_s=8.0, match="/similar")
    arguments = {"query": "numbers in an array"}
    params = {"name": "find_similar_problems", "arguments": arguments}
    asked = [rpc("tools/call", params, request_id=number) for number in range(200)]
    before = rss_kib(pipe)

    pipe.send(*asked)
    judge.once(lambda seen: len(seen) == 200 and all(one.end is None for one in seen))
    during = rss_kib(pipe)
    answers = [pipe.receive() for _ in asked]
    after = rss_kib(pipe)

    assert {answer["id"] for answer in answers} == set(range(200))
    assert {said(answer)[0] for answer in answers} == {"answer"}
    assert during - before < 8 * 1024
    assert after - before < 8 * 1024


@pytest.mark.spec("1.S2.1.in-flight")
def test_a_slow_answer_does_not_hold_up_another_call(judge: OjHarness, pipe: Pipe) -> None:
    judge.order("slow", delay_s=1.0, match="/similar", times=1)
    judge.answers(SIMILAR, match="q=quick")

    pipe.send(
        rpc("tools/call", {"name": "find_similar_problems", "arguments": {"query": "slow one"}}, request_id="slow"),
        rpc("tools/call", {"name": "get_problem", "arguments": ASK}, request_id="quick"),
    )

    assert [pipe.receive()["id"], pipe.receive()["id"]] == ["quick", "slow"]
