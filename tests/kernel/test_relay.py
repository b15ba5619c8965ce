"""The port to wrapped servers: a relay answers in the server's place, and takes what clients say by themselves."""

from __future__ import annotations

import json
from typing import Any

from signet.kernel.channel import ClientChannel
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.relay import Answered, Handler, RpcRequest
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.kernel.wire import Frame, Reply, success


class OneMethod:
    """A relay that knows one method, in the handshake era."""

    is_ready = True

    def __init__(self) -> None:
        self.asked: list[RpcRequest] = []
        self.heard: list[Frame] = []

    async def ready(self) -> None:
        pass

    def handler(self, method: str, *, modern: bool) -> Handler | None:
        return self._answer if method == "prompts/list" and not modern else None

    def receive(self, frame: Frame, channel: ClientChannel) -> None:  # noqa: ARG002 - the port's own signature
        self.heard.append(frame)

    def _answer(self, request: RpcRequest) -> Answered:
        self.asked.append(request)
        return success(request.id, b'{"prompts":[]}')


def served(message: dict[str, Any], relay: OneMethod) -> dict[str, Any] | None:
    pipeline = Pipeline(Toolbox(), SchemaRegistry(schema_root="nowhere"))
    server = Server(pipeline, Identity("test", "1"), "", relay=relay)
    reply = server.receive(json.dumps({"jsonrpc": "2.0", **message}).encode(), ClientChannel())
    assert reply is None or isinstance(reply, Reply)
    return None if reply is None else json.loads(reply.body)


def test_a_method_that_the_relay_knows_is_answered_by_it_with_the_params_as_they_came() -> None:
    relay = OneMethod()

    answer = served({"id": 1, "method": "prompts/list", "params": {"cursor": 1.50}}, relay)

    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"prompts": []}}
    assert bytes(relay.asked[0].raw) == b'{"cursor": 1.5}'
    assert relay.asked[0].method == "prompts/list"


def test_a_method_that_it_does_not_know_is_the_servers_own() -> None:
    relay = OneMethod()

    assert served({"id": 1, "method": "ping"}, relay) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    unknown = served({"id": 2, "method": "vendor/unknown"}, relay)
    assert unknown is not None
    assert unknown["error"]["code"] == -32601


def test_responses_and_notifications_of_clients_reach_it() -> None:
    relay = OneMethod()

    assert served({"id": "q", "result": {"action": "accept"}}, relay) is None
    assert served({"method": "notifications/roots/list_changed"}, relay) is None

    assert [frame.id or frame.method for frame in relay.heard] == [
        "q",
        "notifications/roots/list_changed",
    ]
