"""The work of a call without any protection around it, for the bare peers: decode, check, encode, check, write. Pure.

The codec, the validator, the contract and the tool are Signet's own; only the checks of a protocol, the limits, the
cancellation and the journal are absent. The difference to Signet is what those cost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from jsonschema_rs import Draft202012Validator

import signet
from bench.peers.plantuml import DESCRIPTION, NAME, VIEWER
from signet.toolsets.plantuml.encoding import encode

__all__ = ["Request", "answer", "answer_rest", "to_request"]

CONTRACT = json.loads((Path(signet.__file__).parent / "schemas/tools/plantuml.encode.json").read_text())
VERSION = "2025-11-25"
MODERN_END = b',"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"1"}}}}'

_input = Draft202012Validator(CONTRACT["input"])
_output = Draft202012Validator(CONTRACT["output"])
_to_json = msgspec.json.Encoder().encode
_arguments = msgspec.json.Decoder(dict[str, Any]).decode


class Params(msgspec.Struct):
    """The params of a call; those of the modern era have `_meta`."""

    name: str = ""
    arguments: dict[str, Any] = {}
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.field(name="_meta", default=msgspec.UNSET)


class Request(msgspec.Struct):
    """One request or notification."""

    method: str
    id: int | str | None = None
    params: Params = msgspec.field(default_factory=Params)


to_request = msgspec.json.Decoder(Request).decode

FIXED = {
    "initialize": {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bare", "version": "1"},
    },
    "tools/list": {
        "tools": [
            {
                "name": NAME,
                "description": DESCRIPTION,
                "inputSchema": CONTRACT["input"],
                "outputSchema": CONTRACT["output"],
            }
        ]
    },
}
"""The results that never change."""


def answer(request: Request) -> bytes:
    """Return the response to one request.

    Raises:
        ValueError: the method or the tool is not known, or a value breaks its contract.
    """
    head = b'{"jsonrpc":"2.0","id":' + _to_json(request.id) + b',"result":'
    if request.method in FIXED:
        return head + _to_json(FIXED[request.method]) + b"}"
    params = request.params
    if request.method != "tools/call" or params.name != NAME:
        raise ValueError(request.method)
    result = _call(params.arguments)
    text = _to_json(result.decode())
    end = b"}}" if params.meta is msgspec.UNSET else MODERN_END
    content = b'{"content":[{"type":"text","text":' + text + b'}],"structuredContent":'
    return head + content + result + b',"isError":false' + end


def answer_rest(body: bytes) -> bytes:
    """Return the response to the arguments of a REST call.

    Raises:
        ValueError: a value breaks its contract.
    """
    return b'{"success":true,"result":' + _call(_arguments(body)) + b"}"


def _call(arguments: dict[str, Any]) -> bytes:
    """Return the tool's result as JSON; the arguments and the result are checked against the contract."""
    if not _input.is_valid(arguments):
        raise ValueError("the arguments break their contract")
    encoded = encode(arguments["plantumlCode"])
    result = {"url": VIEWER + encoded, "encoded": encoded, "format": "svg"}
    if not _output.is_valid(result):
        raise ValueError("the result breaks its contract")
    return _to_json(result)
