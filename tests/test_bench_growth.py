"""The curves and the domains of the benchmarks: small runs against the real server, and the checks of its answers."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from pathlib import Path

import pytest
from bench import domains, growth, growth_http
from bench.contenders import contenders
from bench.frames import FIRST, LEGACY, WrongAnswerError
from bench.growth_calls import HANDSHAKE, first_list, length_call, listing
from bench.growth_load import CurveJob, CurveLoad
from bench.peers import bare, lengths
from bench.plan import Plan
from bench.rows import SIGNET, Row

from processes import BIN
from signet.authoring.target import load_target

TINY = Plan(
    cold_rounds=1,
    stdio_rounds=1,
    http_rounds=1,
    memory_rounds=1,
    cell_s=0.02,
    warm_s=0.01,
    growth_rounds=1,
    steady_s=0.04,
    steady_window_s=0.02,
)
ALONE = contenders(str(BIN / "signet"))[:1]


def told(rows: list[Row]) -> list[tuple[str, float | None]]:
    """Return the names and places of rows, each of which has one positive value of Signet's."""
    for row in rows:
        (value,) = row.values[SIGNET]
        assert value > 0, row
    return [(row.metric.name, row.metric.at) for row in rows]


def test_lists_and_starts_are_measured_with_so_many_tools() -> None:
    rows = growth.measure_tools(TINY, ALONE, (3,))

    assert told(rows) == [(name, 3) for name in (growth.START, growth.FIRST, growth.AGAIN, growth.RESIDENT)]


def test_calls_are_measured_with_texts_of_a_size() -> None:
    assert told(growth.measure_arguments(TINY, ALONE, (1_000, 1_000_000))) == [
        (growth.CALL, 1_000),
        (growth.CALL, 1_000_000),
    ]


def test_connections_are_measured_with_the_memory_of_each() -> None:
    assert told(growth_http.measure_connections(TINY, ALONE, (1, 100))) == [
        (growth_http.CALLS, 1),
        (growth_http.SLOWEST, 1),
        (growth_http.CALLS, 100),
        (growth_http.SLOWEST, 100),
        (growth_http.PER_CONNECTION, 100),
    ]


def test_a_long_run_is_told_window_by_window() -> None:
    rows = growth_http.measure_steady(TINY, ALONE)

    assert [name for name, _ in told(rows)] == [growth_http.STEADY_CALLS] * 2 + [growth_http.STEADY_MEMORY] * 2


def test_a_call_end_to_end_is_compared_with_the_requests_that_it_led_to() -> None:
    rows = domains.measure(TINY, ALONE, ["boj"])

    assert [row.metric.name for row in rows] == [
        name for tool in domains.CALLS["boj"] for name in (tool, tool + domains.ADDED)
    ]
    for whole, added in zip(rows[::2], rows[1::2], strict=True):
        difference = whole.median(SIGNET) - whole.median(domains.UPSTREAM)
        assert added.median(SIGNET) == difference
        assert whole.median(domains.UPSTREAM) > 0


def hang_up_after(listener: socket.socket, answers: int, connections: int) -> None:
    """Serve so many connections one after the other, and close each after so many answers."""
    for _ in range(connections):
        link, _ = listener.accept()
        with link:
            for _ in range(answers):
                head, _, body = link.recv(65_536).partition(b"\r\n\r\n")
                assert head.startswith(b"POST /mcp ")
                reply = bare.answer(bare.to_request(body))
                link.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(reply), reply))


@pytest.mark.parametrize(("answers", "is_reached"), [(1, True), (0, False)])
def test_a_connection_that_was_closed_while_idle_is_opened_anew_once(answers: int, is_reached: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=hang_up_after, args=(listener, answers, 2), daemon=True)
        serving.start()
        job = CurveJob(listener.getsockname()[1], 1, LEGACY, 0, 0)

        with contextlib.closing(CurveLoad(job)) as load:
            if is_reached:
                assert [load.run(0).calls, load.run(0).calls] == [1, 1]
            else:
                with pytest.raises(WrongAnswerError, match="closes its connections"):
                    load.run(0)
        serving.join()


@pytest.mark.parametrize("count", [1, 12])
def test_a_file_of_tools_has_as_many_as_were_asked_for(tmp_path: Path, count: int) -> None:
    file = tmp_path / "many.py"
    file.write_text(lengths.source(count, lengths.SIGNET))

    (toolset,) = load_target(str(file))

    assert [tool.name for tool in toolset.tools()] == [f"length_{number}" for number in range(count)]
    contract = json.loads(toolset.bundles()[toolset.tools()[0].slug])["input"]
    assert list(contract["properties"]) == list(lengths.PARAMETERS)
    assert contract["required"] == ["text"]


def test_the_tool_tells_the_length_of_a_text() -> None:
    assert lengths.length(" añb ") == 5
    assert lengths.length(" añb ", "bytes", trim=True) == 4


def answer(number: int, result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def test_a_text_has_its_size_and_its_number() -> None:
    frame = json.loads(length_call(1_000).frame(FIRST))

    text = frame["params"]["arguments"]["text"]
    assert frame["id"] == FIRST
    assert len(text) == 1_000
    assert text.startswith(f"{FIRST} ")


def test_a_wrong_length_a_missing_reply_and_a_failed_call_are_noticed() -> None:
    call = length_call(1_000)
    right = answer(FIRST, {"structuredContent": {"result": 1_000}})

    call.check([right], [FIRST])
    for wrong in (
        [answer(FIRST, {"structuredContent": {"result": 999}})],
        [answer(FIRST, {"structuredContent": {"result": 1_000}, "isError": True})],
        [answer(FIRST + 1, {"structuredContent": {"result": 1_000}})],
        [right, right],
        [],
    ):
        with pytest.raises(WrongAnswerError):
            call.check(wrong, [FIRST])


def test_a_list_must_be_whole() -> None:
    whole = {"tools": [{"name": "length_0"}, {"name": "length_1"}]}

    listing(2).check([answer(FIRST, whole)], [FIRST])
    first_list(2).check([answer(FIRST, whole)], [FIRST])
    with pytest.raises(WrongAnswerError):
        listing(3).check([answer(FIRST, whole)], [FIRST])


def test_the_handshake_has_its_own_id() -> None:
    HANDSHAKE.check([answer(0, {"serverInfo": {}})], [FIRST])
    with pytest.raises(WrongAnswerError):
        HANDSHAKE.check([answer(FIRST, {"serverInfo": {}})], [FIRST])
