"""What is kept of the reply of a wrapped server, and is delivered again as it was written."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from signet.kernel.outcome import Relayed
from signet.kernel.repeated import KeptReply, keep_reply, repeat_reply

BODY = b'{ "content":[{"type":"text","text":"1.50"}], "structuredContent":{"b":1.50,"a":1e2}, "_meta":{"k":1.0}}'
OTHER = b'{"resultType":"complete","content":[]}'


def in_era(reply: Relayed, modern: bool) -> bytes:
    return reply.body if modern == reply.modern else OTHER


def kept(reply: Relayed) -> KeptReply:
    """Keep a reply, as a store does it: packed."""
    found = keep_reply(reply)
    assert found is not None
    return msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=KeptReply)


def test_a_reply_comes_back_byte_for_byte_in_both_eras() -> None:
    reply, body = repeat_reply(kept(Relayed(BODY, modern=False, in_era=in_era)))

    assert (reply.body, reply.modern, reply.is_failure, reply.is_final) == (BODY, False, False, True)
    assert reply.in_era is not None
    assert [reply.in_era(reply, not reply.modern), body] == [OTHER, b'{"b":1.50,"a":1e2}']


def test_a_reply_that_is_the_same_in_both_eras_is_kept_once() -> None:
    found = kept(Relayed(BODY, modern=True, in_era=lambda reply, _: reply.body))
    reply, _ = repeat_reply(found)

    assert found.other == b""
    assert reply.in_era is not None
    assert reply.in_era(reply, False) == BODY


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b'{"content":[ {"type":"text","text":"x"} ]}', b'{"content":[ {"type":"text","text":"x"} ]}'),
        (b'{"content":[],"structuredContent":null}', b'{"content":[]}'),
        (b"{}", b'{"content":[]}'),
        (b"[1]", b'{"content":[]}'),
    ],
)
def test_the_doors_that_are_not_mcp_get_the_content_where_nothing_is_structured(written: bytes, told: bytes) -> None:
    reply, body = repeat_reply(kept(Relayed(written, modern=True)))

    assert (reply.body, reply.structured, body) == (written, None, told)


def test_an_error_of_the_server_comes_back_as_one() -> None:
    error = b'{"code":-32000,"message":"no","data":{"content":1}}'

    reply, body = repeat_reply(kept(Relayed(error, modern=True, is_failure=True)))

    assert (reply.is_failure, reply.body, body) == (True, error, error)
    assert (reply.structured, reply.content) == (None, None)


def test_a_question_is_not_kept_and_a_task_that_was_begun_is() -> None:
    question = Relayed(b'{"resultType":"input_required","inputRequests":{}}', modern=True, is_final=False)
    task = Relayed(b'{"task":{"taskId":"t"},"content":"odd"}', modern=False, is_final=False)

    reply, body = repeat_reply(kept(task))

    assert keep_reply(question) is None
    assert (reply.is_final, body, reply.content) == (False, task.body, Raw(b'"odd"'))
