"""Clients that speak raw JSON-RPC, in either era and through either door, and keep every byte that comes back."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from processes import PATIENCE_S

ERAS: Final = ("handshake", "modern")
VERSIONS: Final = {"handshake": "2025-11-25", "modern": "2026-07-28"}
PREFIX: Final = "io.modelcontextprotocol/"
ALL_CAPABILITIES: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {"listChanged": True},
}
MAX_ROUNDS: Final = 10

Message = dict[str, Any]
Question = tuple[str, Message]


class RefusalError(Exception):
    """What an answering function raises to answer a question with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Envelope(msgspec.Struct):
    """A JSON-RPC message whose parts are kept as they were written."""

    id: int | str | None = None
    method: str = ""
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class Answer:
    """One response, with its bytes."""

    def __init__(self, raw: bytes, status: int = 200) -> None:
        self.raw = raw
        self.status = status
        self.message: Message = json.loads(raw)

    @property
    def result(self) -> Any:
        assert "result" in self.message, f"no result but {self.message}"
        return self.message["result"]

    @property
    def error(self) -> Message:
        assert "error" in self.message, f"no error but {self.message}"
        return self.message["error"]

    def written(self, field: str) -> bytes:
        """Return a field of the result as the sender wrote it; empty where there is none."""
        result = bytes(msgspec.json.decode(self.raw, type=Envelope).result)
        fields = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
        return bytes(fields.get(field, b""))


class Pending:
    """A request that was sent."""

    def __init__(self, key: int | str) -> None:
        self.id = key
        self.answer: Answer | None = None
        self.failure = ""
        self.ended = threading.Event()

    def resolve(self, raw: bytes, status: int = 200) -> None:
        """Keep the response."""
        self.answer = Answer(raw, status)
        self.ended.set()

    def fail(self, failure: str) -> None:
        """Say why no response will come."""
        self.failure = failure
        self.ended.set()

    def wait(self, timeout_s: float | None = None) -> Answer:
        """Return the response; fail when none comes."""
        assert self.ended.wait(timeout_s or Caller.patience_s), f"request {self.id!r} was not answered"
        assert self.answer is not None, f"request {self.id!r} was not answered: {self.failure}"
        return self.answer


class Caller:
    """A client that speaks one era; the doors say how its messages travel."""

    patience_s = PATIENCE_S

    def __init__(self, era: str, capabilities: Mapping[str, Any] | None = None, version: str = "") -> None:
        self.era = era
        self.version = version or VERSIONS[era]
        self.capabilities = dict(ALL_CAPABILITIES if capabilities is None else capabilities)
        self.answers: dict[str, Callable[[Message], Any]] = {}
        """How questions of the server are answered, by method."""
        self.heard: list[Message] = []
        """All notifications that came."""
        self.asked: list[Question] = []
        """All questions of the server, in either era's form."""
        self.greeting: Message = {}
        self._ids = itertools.count(1)
        self._changed = threading.Condition()

    # What a door does.

    def send(self, message: Message, pending: Pending | None = None, headers: Mapping[str, str] | None = None) -> None:
        """Send one message; its response goes to `pending`."""
        raise AssertionError("a door says how")

    def cancel(self, pending: Pending) -> None:
        """Cancel a request, as the door and the era prescribe."""
        raise AssertionError("a door says how")

    def close(self) -> None:
        """End the conversation."""

    # What all callers do.

    def open(self) -> Caller:
        """Greet the server in this caller's era."""
        if self.era == "handshake":
            hello = {
                "protocolVersion": self.version,
                "capabilities": self.capabilities,
                "clientInfo": {"name": "raw", "version": "1"},
            }
            self.greeting = self.start("initialize", hello).wait(PATIENCE_S).result
            self.notify("notifications/initialized")
            self.greeted()
        else:
            self.greeting = self.start("server/discover").wait(PATIENCE_S).result
        return self

    def greeted(self) -> None:
        """Do what the door does after a handshake."""

    def meta(self) -> Message:
        """Return what every request of this era carries."""
        if self.era == "handshake":
            return {}
        return {
            f"{PREFIX}protocolVersion": self.version,
            f"{PREFIX}clientInfo": {"name": "raw", "version": "1"},
            f"{PREFIX}clientCapabilities": self.capabilities,
        }

    def start(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        key: int | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Pending:
        """Send a request and go on."""
        pending = Pending(next(self._ids) if key is None else key)
        sent = dict(params or {})
        meta = {**self.meta(), **sent.pop("_meta", {})}
        if meta:
            sent["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": pending.id, "method": method, "params": sent}, pending, headers)
        return pending

    def request(self, method: str, params: Mapping[str, Any] | None = None, **how: Any) -> Answer:
        """Send a request and return its response."""
        return self.start(method, params, **how).wait()

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({"params": dict(params)} if params else {})})

    def call(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Send a request and return its response, after all rounds of questions."""
        answer = self.request(method, params)
        for _ in range(MAX_ROUNDS):
            if "result" not in answer.message or answer.result.get("resultType") != "input_required":
                return answer
            questions = answer.result.get("inputRequests", {})
            replies = {key: self.reply(one["method"], one.get("params", {})) for key, one in questions.items()}
            state = {"requestState": answer.result["requestState"]} if "requestState" in answer.result else {}
            answer = self.request(method, {**params, "inputResponses": replies, **state})
        raise AssertionError("the questions have no end")

    def tool(self, name: str, arguments: Mapping[str, Any] | None = None, **params: Any) -> Answer:
        """Call a tool, through all rounds of questions."""
        return self.call("tools/call", {"name": name, "arguments": dict(arguments or {}), **params})

    def pages(self, method: str, field: str) -> list[bytes]:
        """Return all entries of a list, over all of its pages, as they were written."""
        entries: list[bytes] = []
        params: Message = {}
        while True:
            answer = self.request(method, params)
            if "error" in answer.message and answer.error["code"] == -32601:
                return entries
            assert "result" in answer.message, f"{method}: {answer.message}"
            entries += [bytes(one) for one in msgspec.json.decode(answer.written(field), type=list[msgspec.Raw])]
            if not answer.result.get("nextCursor"):
                return entries
            params = {"cursor": answer.result["nextCursor"]}

    def reply(self, method: str, params: Message) -> Any:
        """Answer a question of the server."""
        with self._changed:
            self.asked.append((method, params))
            self._changed.notify_all()
        if method == "ping":
            return {}
        if method not in self.answers:
            raise RefusalError(-32601, f"nobody answers {method}")
        return self.answers[method](params)

    def receive(self, message: Message, respond: Callable[[Message], None]) -> None:
        """Take a notification or a question."""
        if "id" not in message:
            with self._changed:
                self.heard.append(message)
                self._changed.notify_all()
            return

        def answer() -> None:
            try:
                outcome: Message = {"result": self.reply(message["method"], message.get("params", {}))}
            except RefusalError as refusal:
                outcome = {"error": refusal.error}
            respond({"jsonrpc": "2.0", "id": message["id"], **outcome})

        threading.Thread(target=answer, daemon=True).start()

    def wait_for(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until something holds that a message may bring about."""
        deadline = time.monotonic() + self.patience_s
        with self._changed:
            while not holds():
                left = deadline - time.monotonic()
                assert left > 0, f"{what} never came; heard {self.heard}, asked {self.asked}"
                self._changed.wait(left)

    def notifications(self, method: str) -> list[Message]:
        """Return the parameters of all notifications of a method."""
        return [one.get("params", {}) for one in list(self.heard) if one["method"] == method]
