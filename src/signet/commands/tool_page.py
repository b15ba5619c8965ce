"""The page of one tool: what it does, its arguments, an example, and the call through each door to paste."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from signet.kernel.envelope import INVOKE
from signet.kernel.schemas import PREFIX, SchemaRegistry, schema_of
from signet.kernel.tools import Tool
from signet.system.advice import advise
from signet.system.text import SPACES, printable
from signet.transports.path_names import escaped

from .terminal import columns
from .tool_arguments import Argument, arguments_in

__all__ = ["ServedAt", "ToolHelp", "page_of", "wrapped"]

MAX_WIDTH: Final = 100
JSON: Final = "-H 'Content-Type: application/json'"


class ServedAt(msgspec.Struct, frozen=True):
    """Where the calls of a page are sent to."""

    url: str
    """The address of the server, or of its MCP door where that is all that is known."""
    secured: bool = False
    flags: str = ""
    """The flags with which `signet call` finds the tool."""
    mcp_only: bool = False

    @property
    def mcp(self) -> str:
        """The address of the MCP door."""
        return self.url if self.mcp_only else f"{self.url}/mcp"


class ToolHelp(msgspec.Struct, frozen=True, kw_only=True):
    """What people are shown of one tool."""

    name: str
    title: str
    description: str
    arguments: dict[str, Argument]
    example: Mapping[str, Any]
    slug: str = ""
    note: str = ""
    """What has to be set before the tool can be called."""

    @property
    def can_be_shown(self) -> bool:
        """Whether there is an example that can be called."""
        return bool(self.example) or not any(argument.required for argument in self.arguments.values())

    def summary(self) -> str:
        """Return the first sentence of the description."""
        return self.description.split(". ")[0].split("\n")[0].removesuffix(".") or self.title

    def text(self, served: ServedAt) -> str:
        """Return the whole page."""
        doors = self._doors(served)
        if doors and served.flags == " --sandbox":
            doors.append(f"The server for these calls: {advise('serve.sandbox')}")
        return _safe("\n\n".join([self.head(), self.arguments_text(), *doors]))

    def head(self) -> str:
        """Return the name, the title, what it does and what it needs."""
        title = f"{self.name}: {self.title}" if self.title else self.name
        ids = f"slug {self.slug}, canonical id {PREFIX}{self.slug}" if self.slug else ""
        parts = [title, wrapped(_sentence(self.description)), wrapped(ids)]
        if self.note:
            parts.append(wrapped(f"Not enabled: {self.note}."))
        return _safe("\n\n".join(filter(None, parts)))

    def arguments_text(self) -> str:
        """Return the arguments with their types, defaults and meanings."""
        if not self.arguments:
            return "arguments: none"
        lines = ["arguments:"]
        for argument in self.arguments.values():
            required = " (required)" if argument.required else ""
            lines.append(wrapped(f"{argument.name}{required}: {argument.words()}", "  ", "      "))
            if argument.description:
                lines.append(wrapped(argument.description, "      "))
        return _safe("\n".join(lines))

    def command_line(self, flags: str) -> str:
        """Return the example as a command."""
        return f"signet call {shlex.quote(self.name)}{flags} {_words(self.example)}".rstrip()

    def _doors(self, served: ServedAt) -> list[str]:
        if not self.can_be_shown:
            pairs = " ".join(f"{one.name}=…" for one in self.arguments.values() if one.required)
            return [f"command line:\n  signet call {shlex.quote(self.name)}{served.flags} {pairs}"]
        body = msgspec.json.encode(self.example).decode()
        params = {"name": self.name, "arguments": self.example}
        token = ' -H "Authorization: Bearer $SIGNET_TOKEN"' if served.secured else ""
        accept = "-H 'Accept: application/json, text/event-stream'"
        mcp = f"curl -s {served.mcp} {JSON} {accept}{token} -d {_rpc('tools/call', params)}"
        lines = {"example": body, "command line": self.command_line(served.flags), "MCP over HTTP": mcp}
        if not served.mcp_only:
            rest = f"curl -s {served.url}/api/tools/{escaped(self.name)} {JSON}{token} -d {shlex.quote(body)}"
            invoke = _rpc(INVOKE, {"tool": PREFIX + self.slug, "input": self.example})
            envelope = f"curl -s {served.url}/mcp/tool/{escaped(self.slug)} {JSON}{token} -d {invoke}"
            lines = {**lines, "REST": rest, "envelope": envelope}
        return [f"{door}:\n  {line}" for door, line in lines.items()]


def page_of(tool: Tool, registry: SchemaRegistry, note: str = "") -> ToolHelp:
    """Return the page of a tool; without an example of its author's, its required arguments get sample values."""
    arguments = arguments_in(schema_of(registry.load_bundle(tool.slug).input))
    sample = {argument.name: argument.sample for argument in arguments.values() if argument.required}
    return ToolHelp(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        arguments=arguments,
        example=tool.example if tool.has_example else sample,
        slug=tool.slug,
        note=note,
    )


def _rpc(method: str, params: Mapping[str, Any]) -> str:
    """Return a JSON-RPC request as a word of the shell."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return shlex.quote(msgspec.json.encode(request).decode())


def _words(example: Mapping[str, Any]) -> str:
    """Return arguments as words of the shell: pairs where each can be one, else JSON."""
    pairs = [_pair(name, value) for name, value in example.items()]
    if None in pairs:
        return f"--json {shlex.quote(msgspec.json.encode(example).decode())}"
    return " ".join(filter(None, pairs))


def _pair(name: str, value: Any) -> str | None:
    if isinstance(value, list):
        if not value or not all(isinstance(item, str) and item and not set(item) & set(",[@\n ") for item in value):
            return None
        value = ",".join(value)
    elif isinstance(value, str):
        if value in {"-", "@-"} or "\n" in value:
            return None
        value = f"@{value}" if value.startswith("@") else value
    elif isinstance(value, bool | int | float):
        value = msgspec.json.encode(value).decode()
    else:
        return None
    return f"{name}={shlex.quote(value)}"


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?", "。")) else f"{text}."


def wrapped(text: str, indent: str = "", later: str | None = None) -> str:
    """Return text in lines that fit the terminal; the lines behind the first may have an indent of their own."""
    width = min(columns(), MAX_WIDTH)
    return "\n".join(
        textwrap.fill(
            line, width, initial_indent=indent, subsequent_indent=indent if later is None else later,
            break_long_words=False, break_on_hyphens=False,
        )
        for line in text.splitlines()
    )  # fmt: skip


def _safe(text: str) -> str:
    """Return text that moves no cursor: a server sends descriptions."""
    return printable(text, keep=SPACES + "\n")
