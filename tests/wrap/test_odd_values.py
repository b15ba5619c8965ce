"""Values that no client should send, in each place of each request: each request has an answer, and nothing fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator

import pytest

from processes import ROOT, SIGNET, Server, piping, serving_command

SHARED = (sys.executable, str(ROOT / "tests/wrap/shared_server.py"))
VALUES = (
    *('"\\ud800"', '"\\udc00\\ud800"', '"a\\u0000b"', '""', '"\\u0130d"', '"count"', f'"{"x" * 5000}"'),
    *("1e400", "-0", "1.5", "123456789012345678901234567890", "true", "null", '["x"]', '{"a":1}'),
)
PARAMS = {
    "tools/call": (
        '{"name":X,"arguments":{}}',
        '{"name":"count","arguments":X}',
        '{"name":"count","arguments":{"a":X}}',
        '{"name":"count","_meta":{"progressToken":X}}',
        '{"name":"count","_meta":{"idempotencyKey":X}}',
        '{"name":"count","_meta":X}',
        '{"name":"count","task":X}',
        '{"name":"work","arguments":{"secret":"x"},"task":{"ttl":X}}',
        '{"name":"count","requestState":X,"inputResponses":X}',
    ),
    "tasks/get": ('{"taskId":X}',),
    "tasks/result": ('{"taskId":X,"TaskId":"task-1"}',),
    "tasks/list": ('{"cursor":X}',),
    "resources/read": ('{"uri":X}',),
    "resources/subscribe": ('{"uri":X}',),
    "resources/unsubscribe": ('{"uri":X}',),
    "prompts/get": ('{"name":X,"arguments":X}',),
    "completion/complete": (
        '{"ref":X,"argument":X,"context":X}',
        '{"ref":{"type":"ref/prompt","name":X},"argument":{"name":X,"value":X}}',
    ),
    "logging/setLevel": ('{"level":X}',),
    "tools/list": ('{"cursor":X}',),
    "vendor/do": ('{"what":X}', "X"),
}
REQUESTS = [
    *(
        f'{{"jsonrpc":"2.0","id":"7","method":"{method}","params":{form}}}'
        for method, forms in PARAMS.items()
        for form in forms
    ),
    '{"jsonrpc":"2.0","id":"7","method":X,"params":{}}',
]
NOTIFICATIONS = (
    '{"jsonrpc":"2.0","id":X,"result":{}}',
    '{"jsonrpc":"2.0","id":"signet-1","result":X}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":X}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":X}}',
    '{"jsonrpc":"2.0","method":X}',
)
HELLO = '{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"a","version":"1"}}'
INITIALIZE = f'{{"jsonrpc":"2.0","id":"0","method":"initialize","params":{HELLO}}}'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    flags = ("--serve", "--port", "0", "--no-journal", "--no-console", "--name", "shared")
    with serving_command(SIGNET, "wrap", *flags, "--", *SHARED) as running:
        yield running


@pytest.fixture(params=["sessions", "no session"])
def ask(request: pytest.FixtureRequest, server: Server) -> Callable[[str], str]:
    headers = {"content-type": "application/json"}
    if request.param == "sessions":
        opened = server.ask("POST", "/mcp", INITIALIZE.encode(), headers)
        headers["mcp-session-id"] = opened.headers["mcp-session-id"]
    return lambda body: server.ask("POST", "/mcp", body.encode(), headers).body.decode()


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_each_request_over_http_has_an_answer(server: Server, ask: Callable[[str], str], value: str) -> None:
    answers = [json.loads(ask(form.replace("X", value))) for form in REQUESTS]
    for form in NOTIFICATIONS:
        ask(form.replace("X", value))

    unanswered = [one for one in answers if not one.keys() & {"result", "error"}]
    failed = [one for one in answers if "failed" in json.dumps(one.get("error", {}))]
    assert (unanswered, failed) == ([], [])
    assert not [line for line in server.stderr().splitlines() if "Warning" in line or "server.warning" in line]
    assert "Traceback" not in server.stderr()


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_each_request_on_stdio_has_an_answer(value: str) -> None:
    with piping(SIGNET, "wrap", "--no-journal", "--", *SHARED) as pipe:
        pipe.ask(INITIALIZE.encode())
        # A report of progress would come before the answer.
        asked = [form for form in REQUESTS if "progressToken" not in form]
        answers = [pipe.ask(form.replace("X", value).encode()) for form in asked]

    assert not [one for one in answers if not one.keys() & {"result", "error"}]
    assert not [one for one in answers if "failed" in json.dumps(one.get("error", {}))]
