"""Odd frames to our server and to the official SDK's low-level server: they say the same, or the table says why not.

What is compared is what a client acts on: whether there is an answer, its HTTP status, whether it is a result, a
tool's error or a protocol error, its code, and the id it carries. Texts are each server's own.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest

from processes import PATIENCE_S, ROOT, SIGNET, Pipe, Server, piping, serving, serving_command
from real.witness import META, SOURCE, TOOL, VERSION_KEY

OURS: Final = (SIGNET, "stdio", "--toolsets", "plantuml")
THEIRS: Final = (sys.executable, str(ROOT / "tests/real/sdk_server.py"))
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"


# --- what is compared -------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a client can tell of one answer."""

    status: int | None
    """The HTTP status; None on stdio."""
    kind: str
    """`result`, `isError`, `error`, `nothing` (an HTTP answer without a body) or `text` (one that is no JSON)."""
    code: int = 0
    id: object = None


Answers = tuple[Seen, ...]
SILENCE: Final[Answers] = ()


def seen(status: int | None, body: bytes) -> Seen:
    if not body:
        return Seen(status, "nothing")
    try:
        answer = json.loads(body)
    except ValueError:
        return Seen(status, "text")
    if "error" in answer:
        return Seen(status, "error", answer["error"]["code"], answer["id"])
    return Seen(status, "isError" if answer["result"].get("isError") else "result", 0, answer["id"])


USUAL_STATUS: Final = -1
"""Stands for the status that a way has for such an answer."""

HANDSHAKE_STATUS: Final = {-32700: 400, -32600: 400}
MODERN_STATUS: Final = {**HANDSHAKE_STATUS, -32602: 400, -32601: 404, -32020: 400, -32022: 400}


def result(request_id: object = 1, status: int = USUAL_STATUS) -> Answers:
    return (Seen(status, "result", 0, request_id),)


def told() -> Answers:
    return (Seen(USUAL_STATUS, "isError", 0, 1),)


def error(code: int, request_id: object = 1, status: int = USUAL_STATUS) -> Answers:
    return (Seen(status, "error", code, request_id),)


def bare(status: int, kind: str = "nothing") -> Answers:
    return (Seen(status, kind),)


def on(way: str, answers: Answers) -> Answers:
    """Fill in the usual status."""
    statuses = MODERN_STATUS if way != HTTP_OLD else HANDSHAKE_STATUS
    usual = [None if way.startswith("stdio") else statuses.get(one.code, 200) for one in answers]
    return tuple(
        one._replace(status=status) if one.status == USUAL_STATUS else one
        for one, status in zip(answers, usual, strict=True)
    )


# --- the frames -------------------------------------------------------------------------------

STAMP: Final = b"<meta>"
"""Where a frame that is written as bytes has its `_meta` on the modern ways; elsewhere it stands for nothing."""

CALL: Final = {"name": TOOL, "arguments": {"plantumlCode": SOURCE}}
HELLO: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}
DEEP: Final = b"[" * 10_000 + b"]" * 10_000
DEEPER_THAN_PYDANTIC: Final = b"[" * 300 + b"]" * 300


def frame(method: object, params: object = None, **parts: object) -> dict[str, Any]:
    """A request, its id 1, some parts as a case wants them."""
    given = {"params": params} if params is not None else {}
    return {"jsonrpc": "2.0", "id": 1, "method": method, **given, **parts}


def without_id(method: str, params: object = None) -> dict[str, Any]:
    given = {"params": params} if params is not None else {}
    return {"jsonrpc": "2.0", "method": method, **given}


def call(**params: object) -> dict[str, Any]:
    return frame("tools/call", {**CALL, **params})


def listing(**meta: object) -> dict[str, Any]:
    """A modern `tools/list`, its `_meta` as a case wants it."""
    return frame("tools/list", {"_meta": meta})


def meta_without(key: str) -> dict[str, Any]:
    return {name: value for name, value in META.items() if name != key}


ANY_ERA: Final[dict[str, Any]] = {
    # Not JSON.
    "cut off": b'{"jsonrpc":"2.0","id":1,',
    "a word": b"hello",
    "a NUL": b"\x00",
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":1<meta>}}',
    "not UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe","params":{"x":1<meta>}}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":NaN<meta>}}',
    "Infinity as id": b'{"jsonrpc":"2.0","id":Infinity,"method":"tools/list"}',
    "two messages in one": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
    "ten thousand levels": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":' + DEEP + b"}}",
    "half a surrogate pair": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"<meta>}}',
    "a control character": b'{"jsonrpc":"2.0","id":1,"method":"tools/\x01list"}',
    "an id of 5000 digits": b'{"jsonrpc":"2.0","id":1' + b"0" * 5000 + b',"method":"tools/list"}',
    "nothing but space": b"  ",
    # JSON, but no request.
    "a string": "ping",
    "null": None,
    "an empty object": {},
    "a batch": [frame("ping")],
    "an empty batch": [],
    "jsonrpc 1.0": frame("ping", jsonrpc="1.0"),
    "no jsonrpc": {"id": 1, "method": "ping"},
    "a method that is a number": frame(5),
    "no method": {"jsonrpc": "2.0", "id": 1, "params": {}},
    "a float as id": frame("tools/list", id=1.5),
    "a whole float as id": frame("tools/list", id=1.0),
    "null as id": frame("tools/list", id=None),
    "true as id": frame("tools/list", id=True),
    "a list as id": frame("tools/list", id=[1]),
    # Requests that are odd and right.
    "an empty id": frame("tools/list", id=""),
    "an id beyond 64 bits": frame("tools/list", id=10**30),
    "an id that is not ASCII": frame("tools/list", id="é\u0000🌍"),
    "a member that nobody knows": frame("tools/list", extra=1),
    "a result beside the method": frame("tools/list", result={}),
    "an error beside the method": frame("tools/list", error={"code": 1, "message": "no"}),
    "a key given twice": b'{"jsonrpc":"2.0","id":7,"id":1,"method":"tools/list","params":{"x":1<meta>}}',
    "three hundred levels": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":'
    + DEEPER_THAN_PYDANTIC
    + b"<meta>}}",
    # Params.
    "params that are a list": frame("tools/call", [TOOL]),
    "params that are a string": frame("tools/call", "x"),
    "params that are a number, of ping": frame("ping", 5),
    "no params for a call": frame("tools/call"),
    "a progress token that is a float": call(_meta={"progressToken": 1.5}),
    "a progress token that is true": call(_meta={"progressToken": True}),
    "a _meta that is a list": call(_meta=[]),
    "input responses that are a number": call(inputResponses=5),
    # Methods.
    "ping": frame("ping"),
    "a method that nobody knows": frame("no/such"),
    "a method in the wrong case": frame("Tools/List"),
    "an empty method": frame(""),
    "a method of another capability": frame("prompts/list"),
    "a method of another capability, without its params": frame("completion/complete", {}),
    "a server's method": frame("sampling/createMessage", {}),
    "a notification with an id": frame("notifications/initialized"),
    # Tools.
    "a list": frame("tools/list"),
    "a cursor": frame("tools/list", {"cursor": "2"}),
    "a cursor that is a number": frame("tools/list", {"cursor": 2}),
    "a call": call(),
    "an unknown tool": call(name="nope"),
    "a tool's name in the wrong case": call(name=TOOL.lower()),
    "a tool's slug": call(name="plantuml.encode"),
    "no tool's name": frame("tools/call", {"arguments": {}}),
    "null as a tool's name": call(name=None),
    "a number as a tool's name": call(name=5),
    "arguments that are a list": call(arguments=[]),
    "arguments that are null": call(arguments=None),
    "no arguments": frame("tools/call", {"name": TOOL}),
    "an argument of the wrong type": call(arguments={"plantumlCode": 5}),
    "an argument of three hundred levels": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'
    + TOOL.encode()
    + b'","arguments":{"plantumlCode":'
    + DEEPER_THAN_PYDANTIC
    + b"}<meta>}}",
    "an argument that nobody knows": call(arguments={"plantumlCode": SOURCE, "x": 1}),
    "a blank diagram": call(arguments={"plantumlCode": " \n"}),
    "a diagram that is too large": call(arguments={"plantumlCode": "A" * 51_201}),
    # What owes no answer.
    "an unknown notification": without_id("no/such"),
    "a call without an id": without_id("tools/call", CALL),
    "a cancellation of nothing": without_id("notifications/cancelled", {"requestId": "nobody"}),
    "a cancellation with bad params": without_id("notifications/cancelled", 5),
    "a result that nobody asked for": {"jsonrpc": "2.0", "id": 9, "result": {}},
    "an error that nobody asked for": {"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "no"}},
    "an error about nothing": {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}},
    "a result that is a number": {"jsonrpc": "2.0", "id": 9, "result": 5},
}
"""Frames that mean the same in both eras."""

HANDSHAKE: Final[dict[str, Any]] = {
    "null as params": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}',
    "null as params of a call": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}',
    "null as params of a handshake": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}',
    "null as _meta": call(_meta=None),
    "a second handshake": frame("initialize", HELLO),
    "a handshake of an unknown version": frame("initialize", {**HELLO, "protocolVersion": "1999-01-01"}),
    "a handshake of the modern version": frame("initialize", {**HELLO, "protocolVersion": "2026-07-28"}),
    "a handshake of a version that is a number": frame("initialize", {**HELLO, "protocolVersion": 5}),
    "a handshake with nothing in it": frame("initialize", {}),
    "a handshake of a client without a name": frame("initialize", {**HELLO, "clientInfo": {}}),
    "a discovery without _meta": frame("server/discover"),
    "a log level": frame("logging/setLevel", {"level": "info"}),
}
"""Frames of the handshake eras alone."""

MODERN: Final[dict[str, Any]] = {
    "a discovery": frame("server/discover"),
    "no client info": listing(**meta_without(INFO_KEY)),
    "no version": listing(**meta_without(VERSION_KEY)),
    "no capabilities": listing(**meta_without(CAPABILITIES_KEY)),
    "a version that is a number": listing(**{**META, VERSION_KEY: 5}),
    "an unknown version": listing(**{**META, VERSION_KEY: "2030-01-01"}),
    "a version of the handshake eras": listing(**{**META, VERSION_KEY: "2025-11-25"}),
    "capabilities that are a list": listing(**{**META, CAPABILITIES_KEY: []}),
    "a capability that is a number": listing(**{**META, CAPABILITIES_KEY: {"roots": 5}}),
    "client info that is a string": listing(**{**META, INFO_KEY: "x"}),
    "an unknown log level": listing(**{**META, LOG_LEVEL_KEY: "loud"}),
    "a handshake": frame("initialize", HELLO),
    "a subscription": frame("subscriptions/listen", {"notifications": {}}),
}
"""Frames of the modern era alone."""

FIRST_LINES: Final[dict[str, tuple[Any, ...]]] = {
    "a list before any handshake": (frame("tools/list"),),
    "a ping before any handshake": (frame("ping"),),
    "a list before the handshake is confirmed": (frame("initialize", HELLO, id=0), frame("tools/list")),
    "a handshake after a discovery": (frame("server/discover", {"_meta": META}, id=0), frame("initialize", HELLO)),
    "a handshake after a discovery of an unknown version": (
        frame("server/discover", {"_meta": {**META, VERSION_KEY: "2030-01-01"}}, id=0),
        frame("initialize", HELLO),
    ),
    "a modern list after a handshake": (frame("initialize", HELLO, id=0), listing(**META)),
    "a handshake that carries the modern _meta": (frame("initialize", {**HELLO, "_meta": META}),),
    "an id that is used twice": (frame("initialize", HELLO, id=0), frame("tools/list"), frame("tools/list")),
    "a line that ends in a carriage return": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r',),
}
"""What a stdio server hears first: the official one decides the era of the whole connection by it."""

JSON_IN: Final = ("content-type", "application/json")
EITHER_OUT: Final = ("accept", "application/json, text/event-stream")
USUAL: Final = (JSON_IN, EITHER_OUT)
VERSION: Final = ("mcp-protocol-version", "2026-07-28")
OLD_VERSION: Final = ("mcp-protocol-version", "2025-11-25")
NO_VERSION: Final = ("mcp-protocol-version", "banana")
LISTS: Final = ("mcp-method", "tools/list")
CALLS: Final = ("mcp-method", "tools/call")
NAMED: Final = ("mcp-name", TOOL)


def wrapped(value: str) -> str:
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


PLAIN_LIST: Final = frame("tools/list")
MODERN_LIST: Final = listing(**META)
MODERN_CALL: Final = call(_meta=META)

HEADERS: Final[dict[str, tuple[tuple[tuple[str, str], ...], Any]]] = {
    "no Mcp-Method": ((*USUAL, VERSION), MODERN_LIST),
    "another Mcp-Method": ((*USUAL, VERSION, CALLS), MODERN_LIST),
    "an Mcp-Method in the wrong case": ((*USUAL, VERSION, ("mcp-method", "Tools/List")), MODERN_LIST),
    "an Mcp-Method in base64": ((*USUAL, VERSION, ("mcp-method", wrapped("tools/list"))), MODERN_LIST),
    "an MCP-Protocol-Version in base64": (
        (*USUAL, ("mcp-protocol-version", wrapped("2026-07-28")), LISTS),
        MODERN_LIST,
    ),
    "no Mcp-Name": ((*USUAL, VERSION, CALLS), MODERN_CALL),
    "another Mcp-Name": ((*USUAL, VERSION, CALLS, ("mcp-name", "other")), MODERN_CALL),
    "an Mcp-Name in base64": ((*USUAL, VERSION, CALLS, ("mcp-name", wrapped(TOOL))), MODERN_CALL),
    "an Mcp-Name in broken base64": ((*USUAL, VERSION, CALLS, ("mcp-name", "=?base64?!!?=")), MODERN_CALL),
    "an Mcp-Name with spaces after it": ((*USUAL, VERSION, CALLS, ("mcp-name", f"{TOOL}  ")), MODERN_CALL),
    "an Mcp-Name with a no-break space after it": ((*USUAL, VERSION, CALLS, ("mcp-name", f"{TOOL}\xa0")), MODERN_CALL),
    "an Mcp-Name that nobody needs": ((*USUAL, VERSION, LISTS, NAMED), MODERN_LIST),
    "an Mcp-Param that nobody knows": ((*USUAL, VERSION, CALLS, NAMED, ("mcp-param-x", "1")), MODERN_CALL),
    "Mcp-Method twice": ((*USUAL, VERSION, LISTS, LISTS), MODERN_LIST),
    "Mcp-Name twice": ((*USUAL, VERSION, CALLS, NAMED, NAMED), MODERN_CALL),
    "Mcp-Name twice where nobody needs it": ((*USUAL, VERSION, LISTS, NAMED, NAMED), MODERN_LIST),
    "two versions, the modern one first": ((*USUAL, VERSION, OLD_VERSION, LISTS), MODERN_LIST),
    "two versions, the modern one last": ((*USUAL, OLD_VERSION, VERSION, LISTS), MODERN_LIST),
    "no version in the header": ((*USUAL, LISTS), MODERN_LIST),
    "a handshake version in the header": ((*USUAL, OLD_VERSION, LISTS), MODERN_LIST),
    "another version in the header": ((*USUAL, ("mcp-protocol-version", "2030-01-01"), LISTS), MODERN_LIST),
    "the modern version in the header alone": ((*USUAL, VERSION, LISTS), PLAIN_LIST),
    "no known version in the header of a list": ((*USUAL, NO_VERSION), PLAIN_LIST),
    "no known version in the header of a notification": ((*USUAL, NO_VERSION), without_id("notifications/initialized")),
    "no known version in the header of a handshake": ((*USUAL, NO_VERSION), frame("initialize", HELLO)),
    "no version in the header of half a _meta": (USUAL, listing(**{VERSION_KEY: "2026-07-28"})),
    "no version in the header of a discovery without _meta": (USUAL, frame("server/discover")),
    "no version in the header of a handshake with _meta": (USUAL, frame("initialize", {**HELLO, "_meta": META})),
    "a prompt without Mcp-Name": (
        (*USUAL, VERSION, ("mcp-method", "prompts/get")),
        frame("prompts/get", {"name": "x", "_meta": META}),
    ),
    "no Accept": ((JSON_IN, VERSION, LISTS), MODERN_LIST),
    "an Accept of JSON alone": ((JSON_IN, ("accept", "application/json"), VERSION, LISTS), MODERN_LIST),
    "an Accept of neither": ((JSON_IN, ("accept", "text/html")), PLAIN_LIST),
    "no Content-Type": ((EITHER_OUT,), PLAIN_LIST),
    "a Content-Type of text": ((EITHER_OUT, ("content-type", "text/plain")), PLAIN_LIST),
    "a Content-Type in another case": ((EITHER_OUT, ("content-type", "Application/JSON; charset=utf-8")), PLAIN_LIST),
    "a foreign Origin": ((*USUAL, ("origin", "http://evil.example")), PLAIN_LIST),
    "a local Origin": ((*USUAL, ("origin", "http://localhost:1234")), PLAIN_LIST),
    "a session of long ago": ((*USUAL, OLD_VERSION, ("mcp-session-id", "abc")), PLAIN_LIST),
}
"""HTTP requests whose headers are the odd thing."""

STDIO_OLD: Final = "stdio, handshake"
STDIO_NEW: Final = "stdio, modern"
HTTP_OLD: Final = "http, handshake"
HTTP_NEW: Final = "http, modern"
OPENING: Final = "stdio, first lines"
HEADED: Final = "http, headers"

STDIO: Final = (STDIO_OLD, STDIO_NEW)
HTTP: Final = (HTTP_OLD, HTTP_NEW)
OLD: Final = (STDIO_OLD, HTTP_OLD)
NEW: Final = (STDIO_NEW, HTTP_NEW)
WAYS: Final = (*STDIO, *HTTP)

CASES: Final = [
    *((way, name) for way in WAYS for name in ANY_ERA),
    *((way, name) for way in OLD for name in HANDSHAKE),
    *((way, name) for way in NEW for name in MODERN),
    *((OPENING, name) for name in FIRST_LINES),
    *((HEADED, name) for name in HEADERS),
]


# --- the differences --------------------------------------------------------------------------


class Difference(NamedTuple):
    """One way in which the two servers differ, and why that is so."""

    why: str
    ways: tuple[str, ...]
    frames: tuple[str, ...]
    ours: Answers
    theirs: Answers


NOT_JSON: Final = (
    "cut off", "a word", "a NUL", "a byte order mark", "two messages in one", "ten thousand levels",
    "half a surrogate pair", "a control character", "Infinity as id", "an id of 5000 digits",
)  # fmt: skip
NO_REQUEST: Final = ("a string", "null", "an empty object", "a batch", "an empty batch")
NO_REQUEST_BUT_AN_ID: Final = ("jsonrpc 1.0", "no jsonrpc", "a method that is a number", "no method")
NO_ID: Final = ("a float as id", "a whole float as id", "null as id", "true as id", "a list as id")
NO_PARAMS: Final = ("params that are a list", "params that are a string", "params that are a number, of ping")
BROKEN_ARGUMENTS: Final = ("arguments that are null", "no arguments", "an argument of the wrong type")
MISSHAPEN_ABOUT: Final = (
    "a capability that is a number",
    "client info that is a string",
    "an unknown log level",
)

_silent = "what cannot be read is answered with an error (JSON-RPC 5.1); the SDK drops the line and its sender waits"
_not_json = "this is not JSON (RFC 8259); the SDK's reader mends it or lets it through"
_no_request = "what is no request is -32600, with its id where one can be read; the SDK says -32602, and no id"
_no_id = "an id is a string or an integer; the SDK takes the request for a notification, and its sender waits"
_method = "what has a method is a request, whatever else it has; the SDK takes it for a response"
_deep = "there is no limit on nesting short of a thousand levels; pydantic's is 200"
_params = "the id can be read, so it is echoed; the SDK refuses the frame as a whole"
_token = "a progress token is a string or an integer; pydantic takes true for 1"
_lookup = "a method that is not served is -32601 whatever its params; the SDK looks at the params first"
_cursor = "a cursor that was never given out is -32602 (pagination); the SDK leaves it to the handler, which has none"
_arguments = "wrong arguments are a result that the model can read (SEP-1303); the SDK checks none and the tool crashes"
_unread = "nothing here asks the client for input, so nothing reads the answers; the SDK checks their shape"
_unheard = "what owes no answer is not looked at; the SDK checks its shape where HTTP lets it answer"
_about = "what is said about the client changes nothing here and is not looked at; the SDK checks its shape"
_discovery = "discovery is modern by its name, so it lacks its _meta; the SDK has no such method in the handshake eras"
_per_message = "the era is each message's own, and clients probe and then shake hands; the SDK locks the connection"
_stateless = "a request needs no handshake before it; the SDK wants one"
_header_era = "a body that says it is modern must have the header to match (-32020); the SDK looks at the header alone"
_refused_first = "both are refused; which rung of the ladder comes first is nobody's rule"
_accept = "the Accept header binds the client; an answer that it did not ask for is better than none"
_door = "the status says more, and the body is JSON-RPC wherever one is"

DIFFERENCES: Final = (
    # Not JSON.
    Difference(_silent, STDIO, NOT_JSON, error(-32700, None), SILENCE),
    Difference(_not_json, STDIO, ("not UTF-8",), error(-32700, None), error(-32601)),
    Difference(_not_json, WAYS, ("NaN",), error(-32700, None), result()),
    Difference(_not_json, (HTTP_OLD,), ("Infinity as id",), error(-32700, None), bare(202)),
    Difference(_not_json, (HTTP_NEW,), ("Infinity as id",), error(-32700, None), error(-32600, None)),
    Difference(_not_json, (HTTP_NEW,), ("a byte order mark",), error(-32700, None), result()),
    Difference(_not_json, (HTTP_NEW,), ("half a surrogate pair",), error(-32700, None), error(-32020)),
    # JSON, but no request.
    Difference(_silent, STDIO, NO_REQUEST, error(-32600, None), SILENCE),
    Difference(_silent, STDIO, NO_REQUEST_BUT_AN_ID, error(-32600), SILENCE),
    Difference(_no_request, (HTTP_OLD,), NO_REQUEST, error(-32600, None), error(-32602, None, 400)),
    Difference(_no_request, (HTTP_OLD,), NO_REQUEST_BUT_AN_ID, error(-32600), error(-32602, None, 400)),
    Difference(_no_request, (HTTP_NEW,), NO_REQUEST_BUT_AN_ID, error(-32600), error(-32600, None)),
    Difference(_no_id, STDIO, NO_ID, error(-32600, None), SILENCE),
    Difference(_no_id, (HTTP_OLD,), NO_ID, error(-32600, None), bare(202)),
    # Requests that are odd and right.
    Difference(_method, STDIO, ("an error beside the method",), result(), SILENCE),
    Difference(_method, (HTTP_OLD,), ("an error beside the method",), result(), bare(202)),
    Difference(_deep, STDIO, ("three hundred levels",), result(), SILENCE),
    Difference(_deep, (HTTP_OLD,), ("three hundred levels",), result(), error(-32700, None)),
    # Params.
    Difference(_params, STDIO, NO_PARAMS, error(-32602), SILENCE),
    Difference(_params, (HTTP_OLD,), NO_PARAMS, error(-32602), error(-32602, None, 400)),
    Difference(_params, (HTTP_NEW,), NO_PARAMS, error(-32602), error(-32600, None)),
    Difference(_token, WAYS, ("a progress token that is true",), error(-32602), result()),
    Difference(_unread, WAYS, ("input responses that are a number",), result(), error(-32602)),
    # Methods.
    Difference(_lookup, WAYS, ("a method of another capability, without its params",), error(-32601), error(-32602)),
    Difference(_discovery, (STDIO_OLD,), ("a discovery without _meta",), error(-32602), error(-32601)),
    Difference(_discovery, (HTTP_OLD,), ("a discovery without _meta",), error(-32602, 1, 400), error(-32601)),
    Difference(_about, OLD, ("a handshake of a client without a name",), result(), error(-32602)),
    # Tools.
    Difference(_cursor, WAYS, ("a cursor",), error(-32602), result()),
    Difference(_arguments, OLD, BROKEN_ARGUMENTS, told(), error(0)),
    Difference(_arguments, NEW, BROKEN_ARGUMENTS, told(), error(-32603)),
    Difference(_deep, STDIO, ("an argument of three hundred levels",), told(), SILENCE),
    Difference(_deep, (HTTP_OLD,), ("an argument of three hundred levels",), told(), error(-32700, None)),
    Difference(_arguments, (HTTP_NEW,), ("an argument of three hundred levels",), told(), error(-32603)),
    Difference(_refused_first, (HTTP_NEW,), ("null as a tool's name",), error(-32020), error(-32602)),
    # What owes no answer.
    Difference(_unheard, (HTTP_OLD,), ("a cancellation with bad params",), bare(202), error(-32602, None, 400)),
    Difference(_unheard, (HTTP_OLD,), ("a result that is a number",), bare(202), error(-32602, None, 400)),
    Difference(_unheard, (HTTP_NEW,), ("a cancellation with bad params",), bare(202), error(-32600, None)),
    # The modern `_meta`.
    Difference(_about, NEW, MISSHAPEN_ABOUT, result(), error(-32602)),
    Difference(_refused_first, (HTTP_NEW,), ("a version that is a number",), error(-32602), error(-32020)),
    Difference(
        "a version in _meta is the modern era's way, and 2025-11-25 is not served that way; the SDK reads the header",
        (HTTP_NEW,),
        ("a version of the handshake eras",),
        error(-32022),
        result(),
    ),
    Difference(_per_message, (STDIO_NEW,), ("a handshake",), result(), error(-32022)),
    # What comes first.
    Difference(_stateless, (OPENING,), ("a list before any handshake",), result(), error(-32602)),
    Difference(
        _per_message,
        (OPENING,),
        ("a handshake after a discovery",),
        result(0) + result(),
        result(0) + error(-32022),
    ),
    Difference(
        _per_message,
        (OPENING,),
        ("a handshake after a discovery of an unknown version",),
        error(-32022, 0) + result(),
        error(-32022, 0) + error(-32022),
    ),
    Difference(
        _per_message,
        (OPENING,),
        ("a modern list after a handshake",),
        result(0) + result(),
        result(0) + error(-32600),
    ),
    # Headers.
    Difference(
        "HTTP has blanks around a value removed (RFC 9110 5.5); the SDK leaves it to a parser that does not",
        (HEADED,),
        ("an Mcp-Name with spaces after it",),
        result(),
        error(-32020),
    ),
    Difference(
        _header_era,
        (HEADED,),
        (
            "no version in the header",
            "a handshake version in the header",
            "two versions, the modern one last",
        ),
        error(-32020),
        result(),
    ),
    Difference(
        "a version in _meta makes it modern, so it lacks its capabilities; the SDK looks at the header alone",
        (HEADED,),
        ("no version in the header of half a _meta",),
        error(-32602),
        result(),
    ),
    Difference(
        _discovery,
        (HEADED,),
        ("no version in the header of a discovery without _meta",),
        error(-32602),
        error(-32601, 1, 200),
    ),
    Difference(_refused_first, (HEADED,), ("a prompt without Mcp-Name",), error(-32601), error(-32020)),
    Difference(_accept, (HEADED,), ("no Accept",), result(), bare(406)),
    Difference(_accept, (HEADED,), ("an Accept of neither",), result(), error(-32600, None, 406)),
    Difference(
        _door,
        (HEADED,),
        ("no Content-Type", "a Content-Type of text"),
        error(-32600, None, 415),
        bare(400, "text"),
    ),
    Difference(
        "a media type has no case (RFC 9110 8.3.1)",
        (HEADED,),
        ("a Content-Type in another case",),
        result(),
        error(-32600, None, 415),
    ),
    Difference(_door, (HEADED,), ("a foreign Origin",), error(-32600, None, 403), bare(403, "text")),
)


# --- the two servers --------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """One of the two, running: a pipe to each era, one web server, and how to start another pipe."""

    fresh: Callable[[], contextlib.AbstractContextManager[Pipe]]
    pipes: dict[str, Pipe]
    web: Server

    def say(self, way: str, name: str) -> Answers:
        """Send one case and give what came back."""
        if way == OPENING:
            with self.fresh() as fresh:
                return exchange(fresh, *FIRST_LINES[name])
        if way == HEADED:
            headers, body = HEADERS[name]
            return (post(self.web, headers, written(body, modern=False)),)
        modern = way in NEW
        body = written({**ANY_ERA, **(MODERN if modern else HANDSHAKE)}[name], modern=modern)
        if way in STDIO:
            return exchange(self.pipes[way], body)
        return (post(self.web, USUAL + (mirrored(body) if modern else (OLD_VERSION,)), body),)


@contextlib.contextmanager
def running(
    fresh: Callable[[], contextlib.AbstractContextManager[Pipe]], web: contextlib.AbstractContextManager[Server]
) -> Iterator[Peer]:
    with contextlib.ExitStack() as stack:
        pipes = {way: stack.enter_context(fresh()) for way in STDIO}
        pipes[STDIO_OLD].ask(frame("initialize", HELLO))
        pipes[STDIO_OLD].send(without_id("notifications/initialized"))
        pipes[STDIO_NEW].ask(frame("server/discover", {"_meta": META}))
        yield Peer(fresh, pipes, stack.enter_context(web))


@pytest.fixture(scope="module")
def ours() -> Iterator[Peer]:
    with running(partial(piping, *OURS), serving("--toolsets", "plantuml")) as peer:
        yield peer


@contextlib.contextmanager
def forked(parent: Pipe, folder: Path) -> Iterator[Pipe]:
    """Let the official server, which is loaded, begin another conversation in a process of its own."""
    names = [str(folder / f"{uuid.uuid4()}.{end}") for end in ("in", "out")]
    for name in names:
        os.mkfifo(name)
    parent.send(" ".join(names).encode())
    with open(names[0], "wb") as stdin, open(names[1], "rb") as stdout:
        yield Pipe(SimpleNamespace(stdin=stdin, stdout=stdout))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    folder = tmp_path_factory.mktemp("pipes")
    with (
        piping(*THEIRS, "forks") as parent,
        running(partial(forked, parent, folder), serving_command(*THEIRS, "serve")) as peer,
    ):
        yield peer


def written(message: Any, *, modern: bool) -> bytes:
    """Write a frame as bytes; a request that says nothing of its era is stamped with the modern one's `_meta`."""
    if isinstance(message, bytes):
        return message.replace(STAMP, b',"_meta":' + json.dumps(META).encode() if modern else b"")
    if modern and isinstance(message, dict) and "id" in message and isinstance(message.get("params", {}), dict):
        params = message.get("params", {})
        given = params.get("_meta", {})
        if "method" in message and isinstance(given, dict) and not META.keys() & given.keys():
            message = {**message, "params": {**params, "_meta": {**META, **given}}}
    return json.dumps(message).encode()


def mirrored(body: bytes) -> tuple[tuple[str, str], ...]:
    """The routing headers that a careful client would send with a body, as far as one can read it."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        message = {}
    message = message if isinstance(message, dict) else {}
    params = message["params"] if isinstance(message.get("params"), dict) else {}
    meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
    version, method, name = meta.get(VERSION_KEY), message.get("method"), params.get("name")
    return (
        ("mcp-protocol-version", version if isinstance(version, str) else "2026-07-28"),
        ("mcp-method", method if isinstance(method, str) and method.isascii() else "tools/list"),
        *((("mcp-name", name),) if isinstance(name, str) and name.isascii() else ()),
    )


def exchange(pipe: Pipe, *lines: Any) -> Answers:
    """Send lines and give every answer to them.

    A server may stay silent, so a ping goes after them, and when that is answered, another: whatever was
    to come has come by then, because a handler here awaits nothing but its turn.
    """
    pipe.send(*lines)
    answers = []
    for barrier in ("barrier", "second barrier"):
        pipe.send(frame("ping", id=barrier))
        while json.loads(line := pipe.line())["id"] != barrier:
            answers.append(seen(None, line))
    return tuple(answers)


def post(server: Server, headers: tuple[tuple[str, str], ...], body: bytes) -> Seen:
    """Send a body with exactly these headers, a repeated one twice."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.putrequest("POST", "/mcp", skip_accept_encoding=True)
        for name, value in (*headers, ("content-length", str(len(body)))):
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return seen(answer.status, answer.read())


# --- the tests --------------------------------------------------------------------------------

LISTED: Final = {
    (way, name): (on(way, one.ours), on(way, one.theirs))
    for one in DIFFERENCES
    for way in one.ways
    for name in one.frames
}


@pytest.mark.parametrize(("way", "name"), CASES)
def test_an_odd_frame_is_answered_as_the_official_server_does_or_as_the_table_says(
    ours: Peer, theirs: Peer, way: str, name: str
) -> None:
    answers = ours.say(way, name), theirs.say(way, name)

    assert answers == LISTED.get((way, name), (answers[0], answers[0]))


@pytest.mark.parametrize("way", WAYS)
def test_an_ordinary_call_is_a_result_at_both(ours: Peer, theirs: Peer, way: str) -> None:
    """Or else the agreement above would be about nothing."""
    answers = ours.say(way, "a call"), theirs.say(way, "a call")

    assert answers == (on(way, result()), on(way, result()))


@pytest.mark.parametrize("way", WAYS)
def test_after_a_wrong_argument_of_three_hundred_levels_the_next_call_is_served(ours: Peer, way: str) -> None:
    answers = ours.say(way, "an argument of three hundred levels"), ours.say(way, "a call")

    assert answers == (on(way, told()), on(way, result()))


def _invocation(arguments: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","id":1,"method":"mcp.tool.invoke","params":{"tool":"mcp.tool:plantuml.encode","input":'
    return head + arguments + b"}}"


DEEP_ARGUMENTS: Final = b'{"plantumlCode":' + DEEPER_THAN_PYDANTIC + b"}"
GOOD_ARGUMENTS: Final = json.dumps(CALL["arguments"]).encode()


@pytest.mark.parametrize("path", [f"/api/tools/{TOOL}", "/mcp/v1/encode-plantuml", "/mcp/tool/plantuml.encode"])
def test_every_other_http_door_refuses_such_an_argument_and_serves_the_next_call(ours: Peer, path: str) -> None:
    write = _invocation if path.startswith("/mcp/tool/") else bytes
    answers = [
        ours.web.ask("POST", path, write(arguments), dict([JSON_IN])) for arguments in (DEEP_ARGUMENTS, GOOD_ARGUMENTS)
    ]

    assert [answer.status for answer in answers] == [400, 200]
    assert [answer.headers["content-type"] for answer in answers] == ["application/json"] * 2


def test_the_envelope_on_stdio_refuses_such_an_argument_and_serves_the_next_call(ours: Peer) -> None:
    pipe = ours.pipes[STDIO_OLD]

    answers = exchange(pipe, _invocation(DEEP_ARGUMENTS)), exchange(pipe, _invocation(GOOD_ARGUMENTS))

    assert answers == (on(STDIO_OLD, error(-32602)), on(STDIO_OLD, result()))


def test_each_listed_difference_is_one_of_a_frame_that_is_sent_and_is_listed_once() -> None:
    listed = [(way, name) for one in DIFFERENCES for way in one.ways for name in one.frames]

    assert len(CASES) == len(set(CASES))
    assert [case for case in listed if case not in CASES] == []
    assert len(listed) == len(LISTED)
    assert [one.why for one in DIFFERENCES if one.ours == one.theirs] == []
