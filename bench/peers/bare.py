"""The work of a call without any protection around it, for the bare peers: decode, check, encode, check, write. Pure.

The codec, the validator and the contract are Signet's own, and so are the parameters of the tool's deflate; only the
checks of a protocol, the limits, the cancellation and the journal are absent. The difference to Signet is what those
cost. For the start to be a bound too, nothing is imported that a server with this contract can do without: the codec,
the validator, deflate and base64.
"""

from __future__ import annotations

import binascii
import os.path
import zlib
from typing import Any

import msgspec
from jsonschema_rs import Draft202012Validator

__all__ = ["Request", "answer", "answer_at", "answer_envelope", "answer_rest", "encode", "to_request"]

NAME = "encodePlantUML"
DESCRIPTION = "Encode PlantUML source text into a URL that shows the diagram."
VIEWER = "https://www.plantuml.com/plantuml/svg/"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(_ROOT + "/src/signet/schemas/tools/plantuml.encode.json", "rb") as _file:
    CONTRACT = msgspec.json.decode(_file.read())
VERSION = "2025-11-25"
MODERN_END = b',"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"1"}}}}'

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PLANTUML = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_TO_PLANTUML = bytes.maketrans(_BASE64, _PLANTUML)
_SHORT, _LOOKAHEAD = 1024, 262
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


class EnvelopeParams(msgspec.Struct):
    """The tool's canonical id and its arguments."""

    tool: str
    input: dict[str, Any]


class Envelope(msgspec.Struct):
    """One envelope."""

    method: str
    id: int | str
    params: EnvelopeParams


to_request = msgspec.json.Decoder(Request).decode
_to_envelope = msgspec.json.Decoder(Envelope).decode

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


def answer_envelope(body: bytes) -> bytes:
    """Return the response to an envelope.

    Raises:
        ValueError: a value breaks its contract.
    """
    envelope = _to_envelope(body)
    return b'{"jsonrpc":"2.0","id":' + _to_json(envelope.id) + b',"result":' + _call(envelope.params.input) + b"}"


def answer_at(path: str, body: bytes) -> bytes:
    """Return the response to a body that was posted to this path: of MCP, of the envelope, or of REST.

    Raises:
        ValueError: the request is not understood, or a value breaks its contract.
    """
    if path == "/mcp":
        return answer(to_request(body))
    return answer_envelope(body) if path.startswith("/mcp/tool/") else answer_rest(body)


def encode(text: str) -> str:
    """Return diagram text, encoded; the window of the deflate is sized to the text, as Signet sizes it."""
    data = text.encode()
    small = (-11, 5) if len(data) <= _SHORT else (-min(15, (len(data) + _LOOKAHEAD).bit_length()),)
    deflate = zlib.compressobj(9, zlib.DEFLATED, *small)
    packed = deflate.compress(data) + deflate.flush()
    return binascii.b2a_base64(packed, newline=False).rstrip(b"=").translate(_TO_PLANTUML).decode()


def _call(arguments: dict[str, Any]) -> bytes:
    """Return the tool's result as JSON; the arguments and the result are checked against the contract."""
    if not _input.is_valid(arguments):
        raise ValueError("the arguments break their contract")
    encoded = encode(arguments["plantumlCode"])
    result = {"url": VIEWER + encoded, "encoded": encoded, "format": "svg"}
    if not _output.is_valid(result):
        raise ValueError("the result breaks its contract")
    return _to_json(result)
