"""Which replies end a call: a server does not evade its contract by what else it says."""

from __future__ import annotations

import pytest
from msgspec import Raw

from signet.mcp.session import Answer
from signet.relay.replies import relayed


@pytest.mark.parametrize(
    ("result", "is_final"),
    [
        (b'{"content":[],"structuredContent":{"n":1}}', True),
        (b'{"resultType":"complete","content":[]}', True),
        (b'{"resultType":"done","content":[],"structuredContent":{"n":1}}', True),
        (b'{"resultType":7,"structuredContent":{"n":1}}', True),
        (b'{"task":{"taskId":"1"},"structuredContent":{"n":1}}', True),
        (b'{"resultType":"task","content":[]}', True),
        (b'{"resultType":"input_required","inputRequests":{},"structuredContent":{"n":1}}', True),
        (b'{"task":{"taskId":"1"}}', False),
        (b'{"resultType":"task","taskId":"1"}', False),
        (b'{"resultType":"input_required","inputRequests":{}}', False),
    ],
)
@pytest.mark.parametrize("modern", [True, False])
def test_only_questions_and_tasks_leave_a_call_open(result: bytes, is_final: bool, modern: bool) -> None:
    reply = relayed("t", Answer(Raw(result)), modern=modern, server_info=None, relax=False, by_mcp=True)

    assert reply.is_final == is_final
    assert reply.body == result


@pytest.mark.parametrize(
    ("result", "is_single"),
    [
        (b'{"content":[],"structuredContent":{"n":1.0},"isError":false}', True),
        (b'{"content":[]}', True),
        (b'{"content":[],"structuredContent":{"n":1},"structuredContent":{"n":2}}', False),
        (b'{"content":[],"isError":true,"isError":false}', False),
        (b'{"content":[],"_meta":{},"_meta":{"a":1}}', False),
        (b'{"structuredContent":{"n":1},"content":[]}', False),
        (b'{"content":[],"is\\u0045rror":true,"isError":false}', False),
    ],
)
def test_only_a_result_of_known_members_in_their_order_is_known_to_have_each_once(
    result: bytes, is_single: bool
) -> None:
    reply = relayed("t", Answer(Raw(result)), modern=False, server_info=None, relax=False, by_mcp=True)

    assert reply.is_single == is_single
