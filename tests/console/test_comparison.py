"""Contract sets that are hard to compare: the server stays as it is, and no child is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from processes import PATIENCE_S, Reply, Server, serving_command
from signet.console import comparison
from signet.console.comparison import Comparison, Questions
from signet.console.contract_diff import schema_changes
from signet.kernel.errors import Fault
from signet.proofs import asking

DIFF = "/-/contracts/diff"
MEMORY = 300 << 20
"""The memory that a comparison may cost, with all that belongs to it."""


def comparing_for(seconds: int, **env: str) -> contextlib.AbstractContextManager[Server]:
    """Run a server that compares for so many seconds at most."""
    script = str(Path(__file__).parent / "comparing_server.py")
    return serving_command(sys.executable, script, str(seconds), "serve", "--port", "0", "--sandbox", env=env)


def asked(old: object, new: object) -> dict[str, object]:
    return {"old": {"t": {"input": old}}, "new": {"t": {"input": new}}}


def many_properties(count: int) -> dict[str, object]:
    """Return two schemas of so many properties with three types each: a comparison that takes all memory."""

    def schema(least: int) -> object:
        kinds = [{"type": "string", "maxLength": 9}, {"type": "integer", "minimum": least}, {"type": "null"}]
        return {"type": "object", "properties": {f"p{number}": {"anyOf": kinds} for number in range(count)}}

    return asked(schema(0), schema(1))


def many_choices() -> dict[str, object]:
    """Return two sets of tools with many choices each: a comparison that takes minutes."""

    def tools(longer: int) -> dict[str, object]:
        texts = {f"p{number}": {"type": "string", "minLength": number + longer} for number in range(150)}
        choices = [{"type": "object", "properties": {name: texts[name]}, "required": [name]} for name in texts]
        return {f"t{number}": {"input": {"oneOf": choices}} for number in range(20)}

    return {"old": tools(1), "new": tools(2)}


def children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread may end meanwhile.
        with contextlib.suppress(OSError):
            found += map(int, path.read_text().split())
    return found


@pytest.fixture
def new_children() -> Callable[[], set[int]]:
    """Return what tells the children that this process has got since the test began; a browser may be one before."""
    before = set(children(os.getpid()))
    return lambda: set(children(os.getpid())) - before


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def worked_s(pid: int) -> float:
    """Return the processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def wait_until(state: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not state():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextlib.contextmanager
def comparing(server: Server) -> Iterator[tuple[list[int], Callable[[], None]]]:
    """Have a server compare what takes minutes; yield its children and what makes the client leave."""
    body = json.dumps(many_choices()).encode()
    with server.connect() as client:
        head = f"POST {DIFF} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: any(worked_s(child) > 0.6 for child in children(server.process.pid)))
        yield children(server.process.pid), client.close


@pytest.mark.parametrize(
    ("seconds", "hard", "limit"),
    [(2, many_choices(), "2 s"), (600, many_properties(600), "200 MB of memory")],
    ids=["time", "memory"],
)
def test_what_is_too_hard_is_refused_while_the_server_serves(seconds: int, hard: dict[str, object], limit: str) -> None:
    with comparing_for(seconds) as server:
        assert _refused(server, hard) == (
            f"The sets are too hard to compare in {limit}: "
            "compare fewer tools at once, or at a terminal: signet contract diff OLD NEW"
        )


def _refused(server: Server, hard: dict[str, object]) -> str:
    """Return how a server refuses a comparison, after a look at what else it does in that time."""
    assert server.post(DIFF, asked({}, {})).status == 200
    pid, before, most, replies = server.process.pid, resident(server.process.pid), 0, list[Reply]()
    asking = threading.Thread(target=lambda: replies.append(server.post(DIFF, hard)))
    asking.start()
    while asking.is_alive():
        assert server.ask("GET", "/healthz").status == 200
        assert server.post("/api/tools/encodePlantUML", {"plantumlCode": "A -> B"}).status == 200
        most = max(most, sum(map(resident, [pid, *children(pid)])) - before)
    assert 0 < most < MEMORY
    wait_until(lambda: not children(pid))
    error = replies[0].json()["error"]
    assert (replies[0].status, error["code"]) == (422, "COMPARISON_TOO_HARD")
    return str(error["message"])


def test_a_child_ends_when_its_client_leaves_and_its_place_is_free() -> None:
    with comparing_for(600) as server:
        with comparing(server) as (found, leave):
            leave()
            wait_until(lambda: not any(map(is_running, found)))

        assert server.post(DIFF, asked({}, {})).status == 200
        wait_until(lambda: not children(server.process.pid))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_knows_no_variable_and_ends_with_its_server(how: signal.Signals) -> None:
    with comparing_for(600, SECRET_OF_TEST="hidden") as server, comparing(server) as (found, _):
        assert [Path(f"/proc/{child}/environ").read_bytes() for child in found] == [b""]

        server.process.send_signal(how)
        server.process.wait(PATIENCE_S)

        wait_until(lambda: not any(map(is_running, found)))


def test_whoever_waits_too_long_for_another_comparison_is_told(
    monkeypatch: pytest.MonkeyPatch, new_children: Callable[[], set[int]]
) -> None:
    monkeypatch.setattr(comparison, "WAIT_S", 0.01)
    question = json.dumps({**many_choices(), "not_served": []}).encode()

    async def test() -> None:
        compared = Comparison(Questions())
        others = [asyncio.ensure_future(compared.answer(question, keep=False)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Fault) as refused:
            await compared.answer(question, keep=False)
        for other in others:
            other.cancel()
        await asyncio.wait(others)

        assert (refused.value.name, refused.value.status) == ("TOO_MANY_COMPARISONS", 503)
        assert refused.value.message.endswith("ask again in a few seconds")

    asyncio.run(test())
    wait_until(lambda: not new_children())


def test_an_answer_about_known_sets_is_kept_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, new_children: Callable[[], set[int]]
) -> None:
    asked_children = []
    started = asking._started
    monkeypatch.setattr(asking, "_started", lambda: asked_children.append(1) or started())
    question, other = (json.dumps({"old": {}, "new": {}, "not_served": [name]}).encode() for name in "ab")

    async def test() -> None:
        compared = Comparison(Questions())
        kept = [await compared.answer(one, keep=True) for one in (question, question, other)]
        assert [json.loads(one)["notServed"] for one in kept] == [["a"], ["a"], ["b"]]
        assert len(asked_children) == 2
        assert await compared.answer(other, keep=False) == kept[-1]
        assert len(asked_children) == 3

    asyncio.run(test())
    assert new_children() == set()


def test_a_fault_of_the_comparison_is_not_told_as_one_of_the_sets(new_children: Callable[[], set[int]]) -> None:
    async def test() -> None:
        with pytest.raises(Fault, match="a fault of the server, not of the schemas"):
            await Comparison(Questions()).answer(b"no question", keep=True)

    asyncio.run(test())
    assert new_children() == set()


def test_paths_cost_no_more_than_what_is_shown_of_them() -> None:
    """Twenty thousand keys below nine hundred others: what is noted of a key does not grow with its depth."""
    import tracemalloc

    wide = [{f"k{number}": side for number in range(20_000)} for side in (0, 1)]
    for _ in range(900):
        wide = [{"properties": one} for one in wide]
    tracemalloc.start()
    try:
        changes = schema_changes(*wide)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(changes[0].path) == 901
    assert sum(len(step) for change in changes for step in change.path) <= 500_000
    assert most < 30 << 20
