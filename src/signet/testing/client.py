"""The client that tests call tools with: one method, the same through every door."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from signet.commands.call import walk
from signet.commands.parity.channels import CHANNELS, IN_RECORD, Channel
from signet.commands.parity.corpus import CorpusCall
from signet.kernel.errors import TABLE, Code, Fault
from signet.kernel.outcome import Door
from signet.kernel.schemas import schema_of
from signet.mcp.blocking import ListedTool
from signet.mcp.plain_http import PlainHttp
from signet.mcp.server_process import StdioTransport, Transport
from signet.settings.usage import UsageError

from .servers import ServedTarget

__all__ = ["DOORS", "Client", "ToolError"]

HERE: Final = "here"
REST: Final = "rest"
STDIO: Final = "stdio"
DOORS: Final = (HERE, STDIO, "mcp", REST, "envelope")
"""The doors of a client: in this process, a process with pipes, and three over HTTP on loopback."""
CHANNEL_NAMES: Final = {STDIO: "stdio 2026-07-28", "mcp": "HTTP 2026-07-28", REST: "REST", "envelope": "envelope HTTP"}
BY_NAME: Final = {channel.name: channel for channel in CHANNELS}
TIMEOUT_S: Final = 90.0
"""How long an answer is waited for: longer than a call may take, so that the server's own error arrives."""
MAX_BYTES: Final = 128 << 20
LOCAL: Final = Door("test", HERE, HERE, by_name=True)
SERVER_ERROR: Final = 500


class ToolError(Fault):
    """What a call of a tool failed with: `code` is a `signet.Code`, `message` what the door said."""

    def __init__(self, code: Code, message: str, *, tool: str, door: str) -> None:
        super().__init__(code, message)
        self.tool = tool
        self.door = door

    def __str__(self) -> str:
        return f"{self.tool} through {self.door}: {self.code}: {self.message}"


class Client:
    """Calls the tools of a target through one door."""

    def __init__(self, served: ServedTarget, door: str = HERE) -> None:
        if door not in DOORS:
            raise UsageError(f"there is no door '{door}': write one of {', '.join(DOORS)}")
        self.door = door
        self._served = served

    def __repr__(self) -> str:
        return f"<signet_client {self.door} {self._served.target}>"

    def __call__(self, door: str) -> Client:
        """Return a client of the same tools through another door."""
        return Client(self._served, door)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Return the structured result of a call, as the tool's output contract describes it.

        Raises:
            ToolError: the call failed.
        """
        __tracebackhide__ = True
        self._served.require_recording()
        if self.door == HERE:
            return self._call_here(tool, arguments)
        found = self._served.server.pipeline.toolbox.named(tool)
        call = CorpusCall(tool, tool, found.slug if found is not None else tool, arguments)
        status, body = self._exchange(call)
        seen = BY_NAME[CHANNEL_NAMES[self.door]].read(body)
        if seen.code is None:
            return seen.result
        answer = _decoded(body)
        code = _rest_code(answer, status) if seen.code == IN_RECORD else seen.code
        if code not in list(Code):
            raise ConnectionError(f"{self.door} gave an answer that cannot be read: {body[:200]!r}")
        raise ToolError(Code(code), _message(answer), tool=tool, door=self.door)

    def list_tools(self) -> list[ListedTool]:
        """Return the tools with their contracts, in the order in which a server lists them."""
        pipeline = self._served.server.pipeline
        bundles = [(tool, pipeline.registry.load_bundle(tool.slug)) for tool in pipeline.toolbox]
        return [
            ListedTool(tool.name, schema_of(bundle.input), schema_of(bundle.output), tool.title, tool.description)
            for tool, bundle in bundles
        ]

    def _call_here(self, tool: str, arguments: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        outcome = self._served.thread.run(walk(self._served.server, tool, _as_json(arguments), LOCAL))
        if outcome.fault is not None:
            raise ToolError(outcome.fault.code, outcome.fault.message, tool=tool, door=HERE) from outcome.fault
        return msgspec.json.decode(outcome.body)

    def _exchange(self, call: CorpusCall) -> tuple[int, bytes]:
        """Return the HTTP status, or 0, and the body of an answer."""
        __tracebackhide__ = True
        channel = BY_NAME[CHANNEL_NAMES[self.door]]
        try:
            if self.door == REST:
                return self._post(channel, call)
            return 0, self._transport().exchange(channel.write(call), lambda texts: next(texts, b""))
        except (OSError, EOFError, ValueError, HTTPException) as error:
            said = ""
            if self.door == STDIO:
                said = self._served.process.last_words()
                self._served.drop_process()
            raise ConnectionError(f"no answer through {self.door} ({said or error})") from None

    def _transport(self) -> Transport:
        if self.door == STDIO:
            return StdioTransport(self._served.process, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES)
        loopback = self._served.loopback
        return PlainHttp(loopback.url, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, token=loopback.token, is_local=True)

    def _post(self, channel: Channel, call: CorpusCall) -> tuple[int, bytes]:
        """Send a call over REST, whose errors are told by their status too."""
        message, loopback = channel.write(call), self._served.loopback
        connection = HTTPConnection(urlsplit(loopback.url).netloc, timeout=TIMEOUT_S)
        try:
            headers = {**message.headers, "authorization": f"Bearer {loopback.token}"}
            connection.request("POST", message.path, message.body, headers)
            response = connection.getresponse()
            body = response.read(MAX_BYTES + 1)
            if len(body) > MAX_BYTES:
                raise ValueError(f"its answer is longer than {MAX_BYTES} bytes")
            return response.status, body
        finally:
            connection.close()


def _as_json(arguments: dict[str, Any]) -> Any:
    """Return arguments as they would arrive over a wire."""
    return msgspec.json.decode(msgspec.json.encode(arguments))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}


def _rest_code(answer: Any, status: int) -> str:
    """Return the canonical code of a REST error: its own code, or the one whose status it has."""
    name: str = answer["error"]["code"]
    if name in list(Code):
        return name
    by_status = {row.http_status: str(code) for code, row in TABLE.items()}
    return by_status.get(status) or str(Code.INTERNAL_ERROR if status >= SERVER_ERROR else Code.INVALID_INPUT)


def _message(answer: Any) -> str:
    """Return the sentence of an error, wherever its door has it."""
    match answer:
        case {"error": {"message": str(message)}}:
            return message
        case {"result": {"content": [{"text": str(text)}, *_]}}:
            return text
    return ""
