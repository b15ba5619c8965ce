"""Statements on disk: asked for once, kept privately, read without the backend; everything else is asked for anew."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import CacheState, UpstreamRequest, UpstreamResponse, UpstreamState
from signet.kernel.waiting import Waiting
from signet.toolsets.oj import statement_cache
from signet.toolsets.oj.statement_cache import StatementCache

PROBLEM = {"id": "1", "source": "leetcode", "content": "<p>Text.</p>"}
BY_ID = UpstreamRequest("/api/v1/problems/leetcode/1")
BY_NAME = UpstreamRequest("/api/v1/resolve/two-sum")


class Backend:
    """An upstream that counts what it is asked, and answers with one value."""

    has_token = True

    def __init__(self, value: Any, origin: str = "http://judge.example", **more: Any) -> None:
        self.origin = origin
        self.asked: list[str] = []
        self.closed = 0
        self._response = UpstreamResponse(
            **{"status": 200, "content_type": "application/json", **more}, body=body(value)
        )

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:  # noqa: ARG002 - the port's
        self.asked.append(request.target)
        return self._response

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None:
        self.closed += 1


def body(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()


def ask(backend: Backend, folder: Path, *requests: UpstreamRequest, offline: bool = False) -> list[UpstreamResponse]:
    cache = StatementCache(backend, str(folder), offline=offline)

    async def send_all() -> list[UpstreamResponse]:
        return [await cache.send(request) for request in requests]

    return asyncio.run(send_all())


@pytest.mark.parametrize(
    ("request_", "value"),
    [(BY_ID, PROBLEM), (BY_NAME, {"source": "leetcode", "id": "1", "problem": {**PROBLEM, "content": "港 text"}})],
)
def test_a_statement_is_asked_for_once(request_: UpstreamRequest, value: Any, tmp_path: Path) -> None:
    backend = Backend(value)

    first, second = ask(backend, tmp_path / "kept", request_, request_)
    (third,) = ask(Backend({}), tmp_path / "kept", request_)

    assert backend.asked == [request_.target]
    assert first == second == third == UpstreamResponse(200, "application/json", body(value))


@pytest.mark.parametrize(
    ("request_", "value", "more"),
    [
        (BY_ID, {**PROBLEM, "content": None}, {}),
        (BY_ID, {**PROBLEM, "content": " "}, {}),
        (BY_ID, PROBLEM, {"status": 404}),
        (BY_ID, PROBLEM, {"cut": True}),
        (BY_ID, PROBLEM, {"broken": "it ended early"}),
        (BY_ID, b"not JSON", {}),
        (BY_ID, b"\xff", {}),
        (BY_NAME, {"source": "unknown", "id": "x", "problem": None}, {}),
        (UpstreamRequest("/api/v1/daily?domain=com"), PROBLEM, {}),
        (UpstreamRequest("/status"), PROBLEM, {}),
        (UpstreamRequest(BY_ID.target, "POST"), PROBLEM, {}),
    ],
)
def test_what_may_change_is_asked_for_each_time(
    request_: UpstreamRequest, value: Any, more: dict[str, Any], tmp_path: Path
) -> None:
    backend = Backend(value, **more)

    ask(backend, tmp_path / "kept", request_, request_)

    assert backend.asked == [request_.target] * 2
    assert not (tmp_path / "kept").exists()


def test_another_backend_has_other_problems(tmp_path: Path) -> None:
    ask(Backend(PROBLEM), tmp_path, BY_ID)
    other = Backend({**PROBLEM, "content": "Another."}, origin="http://another.example")

    (response,) = ask(other, tmp_path, BY_ID)

    assert b"Another." in response.body


def test_offline_reads_what_is_there_and_says_what_is_not(tmp_path: Path) -> None:
    ask(Backend(PROBLEM), tmp_path, BY_ID)
    backend = Backend(PROBLEM)

    (response,) = ask(backend, tmp_path, BY_ID, offline=True)
    faults = []
    for request in (BY_NAME, UpstreamRequest("/status")):
        with pytest.raises(Fault) as caught:
            ask(backend, tmp_path, request, offline=True)
        faults.append((caught.value.code, caught.value.message, caught.value.as_tool_result))

    sentence = f"it is not among the statements in {tmp_path}: ask for it once without --offline (OJ_OFFLINE)"
    assert json.loads(response.body) == PROBLEM
    assert backend.asked == []
    assert faults == [(Code.NOT_FOUND, sentence, True)] * 2


def test_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "kept"
    ask(Backend(PROBLEM), folder, BY_ID)

    (file,) = folder.iterdir()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b'{"target": "/other", "content_type": "", "body": ""}', b"\xff"])
def test_a_file_that_cannot_be_used_is_written_anew(content: bytes, tmp_path: Path) -> None:
    ask(Backend(PROBLEM), tmp_path, BY_ID)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    backend = Backend(PROBLEM)

    first, second = ask(backend, tmp_path, BY_ID, BY_ID)

    assert (backend.asked, first) == ([BY_ID.target], second)


def test_where_nothing_can_be_written_the_answer_is_given_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file in the way")

    (response,) = ask(Backend(PROBLEM), tmp_path / "kept", BY_ID)

    assert json.loads(response.body) == PROBLEM


def test_the_oldest_files_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_cache, "MAX_FILES", 20)
    for number in range(20):
        file = tmp_path / f"{number}.json"
        file.write_text("{}")
        os.utime(file, (number, number))

    ask(Backend(PROBLEM), tmp_path, BY_ID)

    names = {file.name for file in tmp_path.iterdir()}
    assert len(names) == 19
    assert {"0.json", "1.json"} & names == set()


def test_it_is_closed_and_described_as_the_backend_behind_it(tmp_path: Path) -> None:
    backend = Backend(PROBLEM)
    cache = StatementCache(backend, str(tmp_path))

    asyncio.run(cache.close())

    assert (backend.closed, cache.origin, cache.has_token) == (1, "http://judge.example", True)


def test_what_an_earlier_version_has_kept_is_found(tmp_path: Path) -> None:
    """The name of a file is made of the backend and the request."""
    ask(Backend(PROBLEM), tmp_path, BY_ID)

    digest = hashlib.sha256(b"http://judge.example\n/api/v1/problems/leetcode/1").hexdigest()
    assert [file.name for file in tmp_path.iterdir()] == [f"{digest[:40]}.json"]


def test_it_counts_what_it_had_and_what_it_had_not(tmp_path: Path) -> None:
    cache = StatementCache(Backend(PROBLEM), str(tmp_path))

    async def ask_all() -> None:
        for request in (BY_ID, BY_ID, BY_ID, UpstreamRequest("/status")):
            await cache.send(request)

    asyncio.run(ask_all())

    assert cache.states() == [UpstreamState("http://judge.example", caches=(CacheState("statements", 2, 1),))]


@pytest.mark.parametrize(("files", "left"), [(4_999, 5_000), (5_000, 4_501)])
def test_from_5000_files_on_a_tenth_is_removed(files: int, left: int, tmp_path: Path) -> None:
    for number in range(files):
        os.close(os.open(tmp_path / f"{number}.json", os.O_CREAT))
    (tmp_path / "notes.txt").touch()

    ask(Backend(PROBLEM), tmp_path, BY_ID)

    assert len(os.listdir(tmp_path)) == left + 1
