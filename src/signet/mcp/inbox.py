"""The inbox of an HTTP link: texts that came as bodies or events are handed over as messages, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.errors import INTERNAL
from signet.kernel.wire import encode, failure, message_head
from signet.system.redaction import SecretRedactor

__all__ = ["Inbox"]


_batch: Final = msgspec.json.Decoder(list[Raw]).decode


class Inbox:
    """Hands messages over, and knows a reply when it sees one."""

    def __init__(self, receive: Callable[[bytes], None], redactor: SecretRedactor, log: Callable[[str], None]) -> None:
        self._receive = receive
        self._redactor = redactor
        self._log = log

    def take(self, text: bytes, request_id: int | None = None) -> bool:
        """Hand over the messages in a text; return whether the reply to a request is among them.

        An error without an id is the reply to the request whose response it came in.
        """
        # Between the values of a JSON text a line end is white space, and inside of a string it cannot stand.
        text = text.strip().replace(b"\r", b" ").replace(b"\n", b" ")
        try:
            texts = [bytes(one) for one in _batch(text)] if text.startswith(b"[") else [text]
            found = [(one, message_head(one)) for one in texts]
        except (msgspec.DecodeError, RecursionError):
            self.note(f"a message that is not JSON-RPC was left out ({len(text)} bytes)")
            return False
        is_answered = False
        for one, message in found:
            is_reply = message.method is UNSET and type(message.id) is int and message.id == request_id
            has_no_id = message.id is UNSET or message.id is None
            if has_no_id and message.method is UNSET and request_id is not None:
                is_reply = self.take_error(one, request_id)
            else:
                self._receive(one if message.error is UNSET else self._redactor.data(one))
            is_answered |= is_reply
        return is_answered

    def take_error(self, text: bytes, request_id: int) -> bool:
        """Hand over the JSON-RPC error in a text as the reply to a request; return whether there is one."""
        try:
            error = message_head(text).error
        except (msgspec.DecodeError, RecursionError):
            return False
        if error is UNSET or not bytes(error).startswith(b"{"):
            return False
        self._receive(self._redactor.data(encode({"jsonrpc": "2.0", "id": request_id, "error": error})))
        return True

    def fail(self, request_id: int, sentence: str) -> None:
        """Reply to a request with an error of the transport."""
        self._receive(failure(request_id, INTERNAL, self._redactor.text(sentence)).body)

    def note(self, line: str) -> None:
        """Log a line, without secrets."""
        self._log(self._redactor.text(line))
