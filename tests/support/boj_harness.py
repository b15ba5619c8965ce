"""The Bank of Japan for tests: its played API, calls that are right, and `boj-mcp-server` at the end of two pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from boj_messages import order_of
from door_calls import rpc
from large_boj_lists import with_large_metadata
from processes import BIN, PATIENCE_S, Pipe, clean_env, piping
from signet.toolsets.boj.sandbox.api import build
from upstream_harness import DIRECT, UpstreamHarness, playing

BOJ = str(BIN / "boj-mcp-server")
CODE, LAYER, METADATA = TOOLS = ["boj_get_data_code", "boj_get_data_layer", "boj_get_metadata"]

NOW = datetime(2026, 2, 19, 11, 45, 38, 677_000, tzinfo=UTC)
DATE = "2026-02-19T20:45:38.677+09:00"
"""The date of every data response: the clock of the played Bank stands still."""
BUILT = "2026-02-19T9:00:06.669+09:00"
"""The date of every list of series."""

DI = "TK99F1000601GCQ01000"
"""A series of the database CO."""

SPOT: dict[str, Any] = {"db": "FM08", "codes": ["FXERD01"], "start_date": "202610", "end_date": "202610"}
DEPOSITS: dict[str, Any] = {"db": "MD10", "frequency": "Q", "layers": ["1", "1", "1"], "start_date": "202501"}
CALL_RATE: dict[str, Any] = {"db": "FM01", "lang": "en"}
CALLS: dict[str, dict[str, Any]] = {CODE: SPOT, LAYER: DEPOSITS, METADATA: CALL_RATE}
"""Valid arguments for each tool."""

SPOT_TARGET = "/api/v1/getDataCode?db=FM08&startDate=202610&endDate=202610&code=FXERD01"
DEPOSITS_TARGET = "/api/v1/getDataLayer?db=MD10&frequency=Q&layer=1%2C1%2C1&startDate=202501"
CALL_RATE_TARGET = "/api/v1/getMetadata?lang=en&db=FM01"
TARGETS = {CODE: SPOT_TARGET, LAYER: DEPOSITS_TARGET, METADATA: CALL_RATE_TARGET}
"""The raw target of the request that each of these calls sends."""


class BojHarness(UpstreamHarness):
    """The API of the Bank of Japan."""

    def refuses(self, message_id: str, *, lang: str = "jp", **parameters: Any) -> None:
        """Answer the requests to come with one of the Bank's messages and nothing else."""
        self.order(**{**order_of(message_id, lang=lang), **parameters})


def boj_sandbox() -> contextlib.AbstractContextManager[BojHarness]:
    """Play the Bank of Japan until the block ends, with a clock that stands still."""
    return playing(with_large_metadata(build(clock=lambda: NOW)), BojHarness)


def serving_boj(url: str, *flags: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Pipe]:
    """Run `boj-mcp-server` against an upstream until the block ends."""
    return piping(BOJ, "--base-url", url, *flags, env={**DIRECT, **(env or {})})


@cache
def published() -> dict[str, dict[str, Any]]:
    """Return each tool as `tools/list` shows it, by name."""
    message = json.dumps(rpc("tools/list", {})).encode() + b"\n"
    done = subprocess.run([BOJ], input=message, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=True)
    return {tool["name"]: tool for tool in json.loads(done.stdout)["result"]["tools"]}


@cache
def output_contract(name: str) -> Draft202012Validator:
    """Return a validator of the published output schema of a tool, by the reference implementation."""
    schema = published()[name]["outputSchema"]
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def request(name: str, arguments: Mapping[str, Any], request_id: Any = 1) -> dict[str, Any]:
    """Return the JSON-RPC request of one call."""
    return rpc("tools/call", {"name": name, "arguments": dict(arguments)}, request_id=request_id)


def cancellation(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}


def result_of(answer: dict[str, Any], name: str) -> Any:
    """Return the result of a successful call, checked against the common shape and the published contract."""
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
    """Return the error of a failed call, checked against the common shape."""
    assert "result" not in answer, str(answer)[:500]
    error: dict[str, Any] = answer["error"]
    assert set(error) == {"code", "message", "data"}
    expected = {-32602: "INVALID_INPUT", -32603: "INTERNAL_ERROR"}
    assert error["data"]["canonical_code"] == expected[error["code"]]
    assert {"error_type", "message"} <= set(error["data"])
    return error


def call(pipe: Pipe, name: str, **arguments: Any) -> Any:
    """Call a tool, expect success, and return its result."""
    return result_of(pipe.ask(request(name, arguments)), name)


def failure(pipe: Pipe, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, expect a failure, and return the JSON-RPC error."""
    return error_of(pipe.ask(request(name, arguments)))


def kind_of(error: dict[str, Any]) -> tuple[int, str]:
    """Return the code and the type of an error: spec 3 distinguishes errors by both."""
    return error["code"], error["data"]["error_type"]


def peak_mib(pipe: Pipe) -> float:
    """Return the peak resident memory of the server so far."""
    with open(f"/proc/{pipe.process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
