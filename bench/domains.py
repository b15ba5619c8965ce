"""OJ and BOJ end to end: a call through Signet beside the time that the upstream itself takes for the same requests.

    caller ── stdio ──▶ Signet ── HTTP ──▶ sandbox          one call, as an agent makes it
    caller ── HTTP, one connection ──────▶ sandbox          the requests that this call led to: `upstream`

The sandbox has a log of its requests, from which those of a call are taken. Signet keeps no lists here (BOJ_CACHE_S=0):
what it has kept costs no request, and would tell nothing of the way.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.contenders import Contender, find_signet
from bench.frames import WrongAnswerError
from bench.growth_calls import Request, tool_call
from bench.load import ANSWER_S, CHUNK, complete_body
from bench.pipe import Pipe
from bench.plan import Plan
from bench.process import server_core, serving, spawned
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = ["ADDED", "CALLS", "SECTION", "UPSTREAM", "measure"]

SECTION = "domains"
UPSTREAM = "upstream"
"""The sandbox, asked directly."""
ADDED = ", added by Signet"
CALLS: dict[str, dict[str, Mapping[str, Any]]] = {
    "oj": {
        "get_daily_challenge": {"date": "2024-02-27"},
        "get_problem": {"source": "leetcode", "id": "9001"},
        "find_similar_problems": {"source": "leetcode", "id": "9001"},
        "resolve_problem": {"query": "https://leetcode.com/problems/lantern-pairs/"},
        "get_platform_status": {},
    },
    "boj": {
        "boj_get_data_code": {"db": "FM08", "codes": ["FXERD01"], "start_date": "202601", "end_date": "202602"},
        "boj_get_data_layer": {"db": "MD10", "frequency": "Q", "layers": ["1", "1", "1"], "start_date": "202501"},
        "boj_get_metadata": {"db": "FM01", "lang": "en"},
    },
}
"""The main tools of each toolset, with arguments that its sandbox knows."""
TURNS = 4
VARIABLES = ("BOJ_CACHE_S=0", "OJ_TOKEN=of-the-sandbox")
"""The settings of Signet; one tool asks for nothing without a token, and the sandbox takes any."""


def measure(plan: Plan, contenders: Sequence[Contender], toolsets: Sequence[str] = tuple(CALLS)) -> list[Row]:
    """Start Signet and both sandboxes anew for each round; each tool's call and its requests follow each other."""
    sheet = Sheet()
    command = find_signet(contenders).stdio[0]
    for number in range(plan.growth_rounds):
        for toolset in toolsets:
            calls = CALLS[toolset]
            with serving(_sandbox(command, toolset)) as port, _signet(command, toolset, port) as pipe:
                for tool in rotated(list(calls), number):
                    whole_us, upstream_us = _measure_call(plan, tool_call(tool, calls[tool], _has_text), pipe, port)
                    sheet.add(Metric(SECTION, tool, "µs", "less"), SIGNET, whole_us)
                    sheet.add(Metric(SECTION, tool, "µs", "less"), UPSTREAM, upstream_us)
                    sheet.add(Metric(SECTION, tool + ADDED, "µs", "less"), SIGNET, whole_us - upstream_us)
    by_name = {row.metric.name: row for row in sheet.rows((SIGNET, UPSTREAM))}
    tools = [tool for toolset in toolsets for tool in CALLS[toolset]]
    return [by_name[name] for tool in tools for name in (tool, tool + ADDED)]


def _measure_call(plan: Plan, call: Request, pipe: Pipe, port: int) -> tuple[float, float]:
    """Return the median time of a call, and that of the requests that it leads to."""
    requests = _requests_of(call, pipe, port)
    pipe.sequence(call, plan.warm_s, plan.max_calls)
    whole: list[int] = []
    upstream: list[int] = []
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _replay(requests, link, plan.warm_s)
        # By turns, so that a slow moment affects both.
        for _ in range(TURNS):
            upstream += _replay(requests, link, plan.cell_s / TURNS)
            whole += pipe.sequence(call, plan.cell_s / TURNS, plan.max_calls) or pipe.sequence(call, ANSWER_S, 1)
    return statistics.median(whole) / 1e3, statistics.median(upstream) / 1e3


def _sandbox(signet: str, toolset: str) -> Contender:
    return Contender(UPSTREAM, (), (signet, "sandbox", toolset, "--port", "0"))


@contextlib.contextmanager
def _signet(signet: str, toolset: str, port: int) -> Iterator[Pipe]:
    url = f"http://127.0.0.1:{port}"
    command = ("env", *VARIABLES, signet, "stdio", "--toolsets", toolset, f"--{toolset}-base-url", url)
    with spawned(command, server_core()) as child:
        pipe = Pipe(child)
        pipe.open_session(next(iter(CALLS[toolset])))
        yield pipe


def _has_text(result: Mapping[str, Any]) -> bool:
    return bool(result.get("content"))


def _requests_of(call: Request, pipe: Pipe, port: int) -> list[bytes]:
    """Make one call and return the requests that reached the upstream, byte for byte but for their order of headers."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
    with contextlib.closing(link):
        link.request("DELETE", "/_sandbox/requests")
        link.getresponse().read()
        pipe.sequence(call, ANSWER_S, 1)
        link.request("GET", "/_sandbox/requests")
        logged = json.loads(link.getresponse().read())["requests"]
    if not logged:
        raise WrongAnswerError("a call did not reach the upstream")
    return [
        "\r\n".join(
            [
                f"{one['method']} {one['target']} HTTP/1.1",
                *(f"{name}: {value}" for name, value in one["headers"].items()),
                "",
                "",
            ]
        ).encode("latin-1")
        for one in logged
    ]


def _replay(requests: Sequence[bytes], link: socket.socket, seconds: float) -> list[int]:
    """Send the requests of a call one after the other, again and again, and return the nanoseconds of each time."""
    taken: list[int] = []
    end = time.perf_counter() + seconds
    while not taken or time.perf_counter() < end:
        begun = time.perf_counter_ns()
        for request in requests:
            link.sendall(request)
            data = link.recv(CHUNK)
            while complete_body(data) is None:
                data += link.recv(CHUNK)
        taken.append(time.perf_counter_ns() - begun)
    return taken
