"""The outline of a message of which only the beginning and the end are known."""

from __future__ import annotations

import pytest

from signet.mcp.messages import Outline, outline_of

REPLY, REQUEST, NONE = (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("head", "tail", "outline"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":"xx', b'xx"}}', Outline(*REPLY, 7)),
        (b'{"id": 7.0, "result": {"a": "xx', b'xx"}}', Outline(*REPLY, 7)),
        (b'{"_meta":{"id":1},"id":7,"result":{"a":[', b"]}}", Outline(*REPLY, 7)),
        (b'{"result":{"id":1,"a":"xx', b'xx"},"id":7}', Outline(*REPLY, 7)),
        (b'{"result":{"id":1,"a":"xx', b'xx"} , "id" : 7 , "jsonrpc":"2.0" }\r', Outline(*REPLY, 7)),
        (b'{"error":{"id":1,"a":"xx', b'xx"},"id":"seven"}', Outline(*REPLY, "seven")),
        (b'printed {"jsonrpc":"2.0","id":7,"result":{"a":"xx', b'xx"}}', Outline(*REPLY, 7)),
        (b'{"jsonrpc":"2.0","result":{"a":"xx', b'xx","id":1}}', Outline(*REPLY, None)),
        (b'{"jsonrpc":"2.0","result":{"a":"xx', b'xx,\\"id\\":1}"}', Outline(*REPLY, None)),
        (b'{"jsonrpc":"2.0","result":{"a":"xx', b'xx"},"id":7,"more":{}}', Outline(*REPLY, None)),
        (b'{"jsonrpc":"2.0","id":7', b'xx"}}', Outline(*REPLY, None)),
        (b'{"jsonrpc":"2.0","id":true,"result":{', b"}}", Outline(*REPLY, None)),
        (b'{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"id":1', b"}}", Outline(*REQUEST, 3)),
        (b'{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"id":1', b"}}", Outline(*REQUEST, 0)),
        (b'{"params":{"id":1,"a":"xx', b'xx"},"method":"ping","id":"q"}', Outline(*REQUEST, "q")),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1', b"}}", Outline(*REQUEST, None)),
        (b'{"level":"info","id":7,"data":{"a":"xx', b'xx"}}', Outline(*NONE, 7)),
        (b"xxxxxxxxxxxxx", b"xxxxxxxxxxxxx", Outline()),
        (b"{", b"}", Outline()),
        (b"{7", b"}", Outline()),
        (b'{"a"', b"}", Outline()),
    ],
)
def test_the_kind_and_the_id_of_a_message_are_those_of_its_own_members(
    head: bytes, tail: bytes, outline: Outline
) -> None:
    assert outline_of(head, tail) == outline
