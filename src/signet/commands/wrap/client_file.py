"""A client's own file, such as `mcp.json`: the servers that it starts, whichever client wrote it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from signet.clients.json_text import parse_json
from signet.settings.server_name import plain_name
from signet.settings.server_spec import ServerSpec
from signet.settings.usage import UsageError
from signet.system.files import open_regular

__all__ = ["holds_client_servers", "read_client_file"]

MAX_BYTES: Final = 4 << 20
PLACES: Final = (("mcpServers",), ("servers",), ("context_servers",), ("mcp_servers",), ("mcp", "servers"), ("mcp",))
"""Where the clients keep their servers, from the outside to the inside."""
URLS: Final = ("url", "httpUrl", "serverUrl", "uri")
ENVIRONMENTS: Final = ("env", "environment", "envs")
NARROWING: Final = re.compile(
    r"tools|include|exclude|(?:includ|exclud|enabl|disabl|allow|block|den|avail)[a-z]{0,4}tools?"
)
"""The keys, in small letters alone, by which a client serves some tools of a server."""
EVERY_TOOL: Final = ["*"]
VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
INPUT: Final = re.compile(r"\$\{input:[^}]*\}")


def read_client_file(path: str, environ: Mapping[str, str] = os.environ) -> tuple[ServerSpec, ...]:
    """Return the servers of a client's file; those that are switched off are left out.

    Raises:
        UsageError: it cannot be read, or a server in it cannot be reached as it is written.
    """
    found: dict[str, ServerSpec] = {}
    for name, entry in _entries(path).items():
        if not isinstance(entry, dict):
            raise UsageError(f"{path}: the server {name[:60]!r} is no object")
        if entry.get("disabled") is True or entry.get("enabled") is False:
            continue
        spec = _spec(path, name, entry, environ)
        if spec.name in found:
            raise UsageError(f"{path}: two servers are named {spec.name!r} in small letters; rename one")
        found[spec.name] = spec
    if not found:
        raise UsageError(f"{path} names no server: it has none of {', '.join('.'.join(one) for one in PLACES)}")
    return tuple(found.values())


def holds_client_servers(path: str) -> bool:
    """Return whether a file is a client's: JSON, or TOML with the key of Codex."""
    if not path.endswith(".toml"):
        return True
    return "mcp_servers" in _parsed(path)


def _entries(path: str) -> dict[str, Any]:
    value = _parsed(path)
    for place in PLACES:
        inner: Any = value
        for key in place:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and inner:
            return inner
    return {}


def _parsed(path: str) -> dict[str, Any]:
    try:
        with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig") if len(data) <= MAX_BYTES else "it is too large"
        return tomllib.loads(text) if path.endswith(".toml") else parse_json(text) or {}
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read ({error})") from None


def _spec(path: str, name: str, entry: dict[str, Any], environ: Mapping[str, str]) -> ServerSpec:
    def filled(text: Any, what: str) -> str:
        """Return a text with the variables in it replaced."""
        if not isinstance(text, str):
            raise UsageError(f"{path}: {what} of the server {name[:60]!r} is no text")
        if INPUT.search(text):
            raise UsageError(f"{path}: {what} of the server {name[:60]!r} is asked by the client: write ${{env:NAME}}")
        return VARIABLE.sub(lambda found: environ.get(found[1], found[2] or ""), text)

    def pairs(value: Any, what: str) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict):
            raise UsageError(f"{path}: {what} of the server {name[:60]!r} is no object")
        return tuple((key, filled(one, what)) for key, one in value.items())

    for key, chosen in entry.items():
        if chosen and chosen != EVERY_TOOL and NARROWING.fullmatch(re.sub(r"[^a-z]", "", key.lower())):
            why = "the tools of an MCP server are always served together; leave it out"
            raise UsageError(f"{path}: {key[:60]!r} of the server {name[:60]!r} does not work here: {why}")
    command, env = _command(entry)
    url = next((entry[key] for key in URLS if entry.get(key)), "")
    if bool(command) == bool(url):
        raise UsageError(f"{path}: the server {name[:60]!r} has no command or URL, or both")
    return ServerSpec(
        name=plain_name(name),
        config=path,
        command=tuple(filled(word, "a word of the command") for word in command),
        url=filled(url, "the URL"),
        env=pairs(env, "the environment"),
        headers=pairs(entry.get("headers") or {}, "a header"),
        cwd=filled(entry["cwd"], "the folder") if entry.get("cwd") else None,
    )


def _command(entry: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return the command of an entry and its environment; an older Zed has both in an object."""
    inner = entry.get("command") or entry.get("cmd") or []
    if isinstance(inner, dict):
        entry, inner = inner, inner.get("path", [])
    args = entry.get("args") or []
    env: Any = next((entry[key] for key in ENVIRONMENTS if entry.get(key)), {})
    words = inner if isinstance(inner, list) else [inner]
    return [*words, *(args if isinstance(args, list) else [None])], env
