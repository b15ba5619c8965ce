"""A raw client of MCP over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from wrap.callers import Caller, Message, Pending

NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that a header repeats, by method."""


class HttpCaller(Caller):
    """A client that posts each message, and reads each response on its own connection."""

    def __init__(
        self, url: str, era: str, capabilities: Mapping[str, Any] | None = None, *, version: str = "", token: str = ""
    ) -> None:
        super().__init__(era, capabilities, version)
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._path = parts.path
        self._token = token
        self._session = ""
        self._open: dict[int, socket.socket] = {}
        self._threads: list[threading.Thread] = []

    def send(self, message: Message, pending: Pending | None = None, headers: Mapping[str, str] | None = None) -> None:
        """Post one message; read what comes back in a thread of its own if a response is expected."""
        if pending is None:
            self._post(message, None, headers)
            return
        thread = threading.Thread(target=self._post, args=(message, pending, headers), daemon=True)
        self._threads.append(thread)
        thread.start()

    def cancel(self, pending: Pending) -> None:
        """Close the stream of a modern request; in the handshake era, say so in a message."""
        if self.era == "handshake":
            self.notify("notifications/cancelled", {"requestId": pending.id, "reason": "no longer wanted"})
            return
        self._shut(self._open.get(id(pending)))

    def greeted(self) -> None:
        """Open the stream on which a server tells what belongs to no request."""
        ready = threading.Event()
        thread = threading.Thread(target=self._listen, args=(ready,), daemon=True)
        self._threads.append(thread)
        thread.start()
        assert ready.wait(self.patience_s)

    def close(self) -> None:
        """End the session and all streams."""
        for one in list(self._open.values()):
            self._shut(one)
        if self._session:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(*self._address, timeout=self.patience_s)
                connection.request("DELETE", self._path, headers=self._headers({}))
                connection.getresponse().read()
                connection.close()
        for thread in self._threads:
            thread.join(self.patience_s)

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        if self._session:
            headers["mcp-session-id"] = self._session
        method = message.get("method", "")
        if method != "initialize":
            headers["mcp-protocol-version"] = self.version
        if self.era == "modern" and method:
            headers["mcp-method"] = method
            if method in NAMES:
                headers["mcp-name"] = str(message["params"].get(NAMES[method], ""))
        return headers

    def _post(self, message: Message, pending: Pending | None, extra: Mapping[str, str] | None) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=self.patience_s)
        try:
            # Kept here, because the library forgets the socket of a response that ends with its connection.
            connection.connect()
            self._open[id(pending)] = connection.sock
            body = json.dumps(message, ensure_ascii=False).encode()
            connection.request("POST", self._path, body, {**self._headers(message), **(extra or {})})
            answer = connection.getresponse()
            if message.get("method") == "initialize":
                self._session = answer.headers.get("mcp-session-id", "")
            for event in self._events(answer):
                self._take(event, pending, answer.status)
        except (OSError, ValueError, AttributeError, http.client.HTTPException) as error:
            if pending is not None:
                pending.fail(f"{type(error).__name__}: {error}")
        finally:
            if pending is not None and not pending.ended.is_set():
                pending.fail("the stream ended")
            self._open.pop(id(pending), None)
            connection.close()

    def _listen(self, ready: threading.Event) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=self.patience_s)
        try:
            connection.connect()
            self._open[0] = connection.sock
            connection.request("GET", self._path, headers={**self._headers({}), "accept": "text/event-stream"})
            answer = connection.getresponse()
            ready.set()
            if answer.status == 200:
                for event in self._events(answer):
                    self._take(event, None, 200)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # the stream ends when the caller closes it
        finally:
            ready.set()
            self._open.pop(0, None)
            connection.close()

    def _events(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield each message of a response, as its bytes."""
        if "text/event-stream" not in (answer.headers.get("content-type") or ""):
            body = answer.read()
            if body:
                yield body
            return
        data: list[bytes] = []
        while line := answer.readline():
            line = line.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                event = b"\n".join(data)
                data = []
                if event:
                    yield event

    def _take(self, event: bytes, pending: Pending | None, status: int) -> None:
        message = json.loads(event)
        if "method" in message:
            self.receive(message, self.send)
        elif pending is not None:
            pending.resolve(event, status)

    @staticmethod
    def _shut(one: socket.socket | None) -> None:
        if one is not None:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
