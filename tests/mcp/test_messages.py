"""The codec: messages as a client writes them, and results as it reads them."""

from __future__ import annotations

import json

import pytest

from signet.kernel.protocol import Identity
from signet.mcp.messages import MessageBuilder, read_result

ME = Identity("tests", "1")


def test_a_modern_request_repeats_itself_in_its_headers() -> None:
    message = MessageBuilder("2026-07-28", ME).request(7, "tools/call", {"name": "図", "arguments": {}})

    assert json.loads(message.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "図",
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    assert message.headers == {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?5Zuz?=",
    }


def test_other_messages_are_passed_over() -> None:
    texts = (b"log line", b'{"id":1,"method":"ping"}', b'{"id":2,"result":0}', b'{"id":1,"result":{"a":1}}')

    assert read_result(texts, 1) == {"a": 1}
    with pytest.raises(ValueError, match="does not answer"):
        read_result(texts[1:3], 1)
    with pytest.raises(ValueError, match="malformed"):
        read_result(texts[:1], 1)
