"""The params of a call as a wrapped server gets them: as they came where what was checked is all of them."""

from __future__ import annotations

import pytest
from msgspec import Raw

from signet.kernel.errors import Code, Fault
from signet.kernel.protocol import PARAMS
from signet.kernel.wire import read
from signet.relay.sent_params import sent_params


def sent(text: bytes) -> bytes:
    raw = Raw(text)
    return bytes(sent_params("tools/call", raw, read(raw, PARAMS["tools/call"])))


@pytest.mark.parametrize(
    "text",
    [
        b'{"name":"pay","arguments":{"amount":1.5,"to":"\xc3\xa9 \\"x\\""}}',
        b'{"arguments":{"amount":1},"name":"pay"}',
        b'{"name":"pay","arguments":{ "amount" : 1.50 }}',
        b'{ "name": "pay",\n "arguments": {"amount": 1, "to": "a b"} }',
        b'{"name":"pay","arguments":{}}',
        b'{"name":"pay"}',
    ],
)
def test_arguments_leave_as_the_bytes_that_were_checked(text: bytes) -> None:
    assert sent(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b'{"name":"pay","arguments":{"a":1},"note":"x"}', b'{"name":"pay","arguments":{"a":1}}'),
        (b'{"name":"pay","Arguments":{"a":2},"arguments":{"a":1}}', b'{"name":"pay","arguments":{"a":1}}'),
        (b'{"name":"refund","name":"pay","arguments":{"a":1}}', b'{"name":"pay","arguments":{"a":1}}'),
        (b'{"name":"pay","arguments":{"a":2},"arguments":{"a":1}}', b'{"name":"pay","arguments":{"a":1}}'),
        (b'{"name": "pay", "arguments": {"a": 1}, "note": 1}', b'{"name":"pay","arguments":{"a": 1}}'),
        (b'{"name": "pay", "arguments": {"a": 2}, "arguments": {"a": 1}}', b'{"name":"pay","arguments":{"a": 1}}'),
    ],
)
def test_what_was_not_checked_stays_behind(text: bytes, left: bytes) -> None:
    assert sent(text) == left


@pytest.mark.parametrize(
    "arguments", [b'{"a":1,"a":2}', b'{"a": 2, "a": 1}', b'{"a":1,"\\u0061":2}', b'{"b":[{"a":1,"a":1}]}']
)
def test_a_name_that_stands_twice_is_refused(arguments: bytes) -> None:
    with pytest.raises(Fault) as caught:
        sent(b'{"name":"pay","arguments":' + arguments + b"}")

    assert caught.value.code is Code.INVALID_INPUT
