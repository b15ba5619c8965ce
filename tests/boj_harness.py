"""The Bank of Japan behind the tools: its API played, told what to answer, and `boj-mcp-server` on two pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any

from jsonschema import Draft202012Validator

from boj_messages import order_of
from channels import rpc
from large_metadata import with_large_metadata
from processes import BIN, PATIENCE_S, Pipe, clean_env, piping
from signet.sandbox.exchange import LoggedRequest
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.message import SandboxRequest
from signet.sandbox.server import Running, Sandbox
from signet.toolsets.boj.sandbox import build

BOJ = str(BIN / "boj-mcp-server")
CODE, LAYER, METADATA = TOOLS = ["boj_get_data_code", "boj_get_data_layer", "boj_get_metadata"]
DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
"""Nothing between a test and its upstream, whatever the machine's settings."""

NOW = datetime(2026, 2, 19, 11, 45, 38, 677_000, tzinfo=UTC)
DATE = "2026-02-19T20:45:38.677+09:00"
"""The date of every data answer: the played Bank's clock stands still."""
BUILT = "2026-02-19T9:00:06.669+09:00"
"""The date of every list of series."""

DI = "TK99F1000601GCQ01000"
"""A series of the database CO."""

SPOT: dict[str, Any] = {"db": "FM08", "codes": ["FXERD01"], "start_date": "202610", "end_date": "202610"}
DEPOSITS: dict[str, Any] = {"db": "MD10", "frequency": "Q", "layers": ["1", "1", "1"], "start_date": "202501"}
CALL_RATE: dict[str, Any] = {"db": "FM01", "lang": "en"}
CALLS: dict[str, dict[str, Any]] = {CODE: SPOT, LAYER: DEPOSITS, METADATA: CALL_RATE}
"""For each tool, arguments that are right."""

SPOT_TARGET = "/api/v1/getDataCode?db=FM08&startDate=202610&endDate=202610&code=FXERD01"
DEPOSITS_TARGET = "/api/v1/getDataLayer?db=MD10&frequency=Q&layer=1%2C1%2C1&startDate=202501"
CALL_RATE_TARGET = "/api/v1/getMetadata?lang=en&db=FM01"
TARGETS = {CODE: SPOT_TARGET, LAYER: DEPOSITS_TARGET, METADATA: CALL_RATE_TARGET}
"""What each of them is asked for with."""


@dataclass
class BojHarness:
    """The API of the Bank of Japan, played."""

    sandbox: Sandbox
    running: Running

    @property
    def url(self) -> str:
        return self.running.url

    def clear(self) -> None:
        """Let no order stand, and forget the requests."""
        self.running.clear()

    def order(self, fault: str, **parameters: Any) -> None:
        """Let a fault befall what is asked from now on."""
        self.running.order(fault, **parameters)

    def answers(self, value: object, **parameters: Any) -> None:
        """Let it answer with a value as JSON from now on."""
        self.order("answer", body=json.dumps(value, ensure_ascii=False), **parameters)

    def refuses(self, message_id: str, *, lang: str = "jp", **parameters: Any) -> None:
        """Let it answer with nothing but a message from now on."""
        self.order(**{**order_of(message_id, lang=lang), **parameters})

    def requests(self) -> tuple[LoggedRequest, ...]:
        """Every request so far, in order."""
        return self.running.requests

    def targets(self) -> list[str]:
        """What was asked for so far, byte for byte."""
        return [seen.target for seen in self.requests()]

    def gaps_s(self) -> list[float]:
        """The time between each request so far and the next, on the Bank's own clock."""
        return [later.time_s - earlier.time_s for earlier, later in pairwise(self.requests())]

    def once(self, ready: Callable[[tuple[LoggedRequest, ...]], bool]) -> tuple[LoggedRequest, ...]:
        """Every request so far, once they are what was waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while not ready(seen := self.requests()):
            assert time.monotonic() < deadline, f"it never came to that: {seen}"
            time.sleep(0.002)
        return seen

    def settled(self) -> tuple[LoggedRequest, ...]:
        """Every request so far, once none is on its way any more."""
        return self.once(lambda seen: all(one.end is not None for one in seen))

    def body(self, target: str) -> bytes:
        """What it answers to a target, unpacked; not asked over the network, and in no log."""
        return bytes(self.sandbox.handler(SandboxRequest("GET", target)).body)


@contextlib.contextmanager
def boj_sandbox() -> Iterator[BojHarness]:
    """Play the Bank until the block ends."""
    sandbox = with_large_metadata(build(clock=lambda: NOW))
    running, stop = host_in_thread(sandbox)
    try:
        yield BojHarness(sandbox, running)
    finally:
        stop()


def serving_boj(url: str, *flags: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Pipe]:
    """Run `boj-mcp-server` for an upstream until the block ends."""
    return piping(BOJ, "--base-url", url, *flags, env={**DIRECT, **(env or {})})


@cache
def published() -> dict[str, dict[str, Any]]:
    """Each tool as it is listed, by its name."""
    asked = json.dumps(rpc("tools/list", {})).encode() + b"\n"
    done = subprocess.run([BOJ], input=asked, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=True)
    return {tool["name"]: tool for tool in json.loads(done.stdout)["result"]["tools"]}


@cache
def output_contract(name: str) -> Draft202012Validator:
    """The published output schema of a tool, under the reference implementation."""
    schema = published()[name]["outputSchema"]
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def request(name: str, arguments: Mapping[str, Any], request_id: Any = 1) -> dict[str, Any]:
    """One call as it goes over the wire."""
    return rpc("tools/call", {"name": name, "arguments": dict(arguments)}, request_id=request_id)


def cancellation(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}


def result_of(answer: dict[str, Any], name: str) -> Any:
    """The result of a call that went well, held to the shape that all have and to the published contract."""
    assert "error" not in answer, answer["error"]
    result = answer["result"]
    assert set(result) - {"_meta", "resultType"} == {"content", "isError", "structuredContent"}
    assert result["isError"] is False
    [block] = result["content"]
    assert set(block) == {"type", "text"}
    assert block["type"] == "text"
    assert json.loads(block["text"]) == result["structuredContent"]
    output_contract(name).validate(result["structuredContent"])
    return result["structuredContent"]


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The error of a call that went wrong, held to the shape that all have."""
    assert "result" not in answer, str(answer)[:500]
    error: dict[str, Any] = answer["error"]
    assert set(error) == {"code", "message", "data"}
    expected = {-32602: "INVALID_INPUT", -32603: "INTERNAL_ERROR"}
    assert error["data"]["canonical_code"] == expected[error["code"]]
    assert {"error_type", "message"} <= set(error["data"])
    return error


def call(pipe: Pipe, name: str, **arguments: Any) -> Any:
    """Call one tool, which goes well, and give its result."""
    return result_of(pipe.ask(request(name, arguments)), name)


def failure(pipe: Pipe, name: str, **arguments: Any) -> dict[str, Any]:
    """Call one tool, which goes wrong, and give the JSON-RPC error."""
    return error_of(pipe.ask(request(name, arguments)))


def kind_of(error: dict[str, Any]) -> tuple[int, str]:
    """The code of an error and its type, which is what spec 3 tells errors apart by."""
    return error["code"], error["data"]["error_type"]


def peak_mib(pipe: Pipe) -> float:
    """The most memory that the server has held so far."""
    with open(f"/proc/{pipe.process.pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
