"""Operations that are followed: what a server answers is answered as it would be without a listener."""

from __future__ import annotations

import asyncio

import pytest

import misbehaving_server
from signet.kernel.channel import ClientChannel
from signet.kernel.outcome import Call, Pending
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.wire import Reply
from signet.operations.telemetry.followed import FollowedOperations
from signet.operations.telemetry.telemetry import Telemetry
from signet.system.figures.registry import Registry

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fine","arguments":{"n":1}}}'


async def answer() -> Reply:
    return Reply(b"{}")


@pytest.mark.parametrize("is_endless", [True, False])
def test_a_reply_that_comes_at_the_end_alone_stays_one(*, is_endless: bool) -> None:
    """Whoever ends a conversation does not wait for such a reply."""
    followed = FollowedOperations(Telemetry(Registry(), "enforce"))
    pending = Pending(1, answer(), Call("x", {}, NULL_CONTEXT), is_endless=is_endless)

    found = followed.receive(lambda: pending, ClientChannel())

    assert isinstance(found, Pending)
    assert (found.id, found.is_endless) == (1, is_endless)
    assert asyncio.run(found.reply) == Reply(b"{}")


def test_a_message_is_one_operation_with_the_call_in_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))
    telemetry = Telemetry(Registry(), "enforce")
    telemetry.listen(server.events)
    server.events.operations = FollowedOperations(telemetry)

    reply = server.receive(CALL, ClientChannel())

    counted = [key for key in telemetry.registry.figures() if key[0] == "mcp_server_operation_duration_seconds"]
    assert isinstance(reply, Reply)
    assert [labels for _, labels in counted] == [("tools/call", "fine", "", "pipe", "")]
