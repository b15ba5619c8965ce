"""The clients: which file each reads, under which keys, and the form of its entries. Pure."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final, Literal

from msgspec import Struct

from . import json_edit, toml_edit, yaml_edit

__all__ = ["CLIENTS", "EDITORS", "AiClient", "Launch", "path_of"]

EDITORS: Final[dict[str, ModuleType]] = {"json": json_edit, "toml": toml_edit, "yaml": yaml_edit}
"""What puts an entry into a file, by the file's syntax."""

TIMEOUT_S: Final = 300
"""How long Goose may wait for a call; its own default."""


class Launch(Struct, frozen=True):
    """How a client reaches the server: a command with its environment, or an address."""

    name: str
    command: list[str] = []
    env: dict[str, str] = {}
    url: str = ""


Form = Callable[[Launch], dict[str, Any]]


class AiClient(Struct, frozen=True):
    """A client: its file, its keys and the form of its entries."""

    title: str
    keys: tuple[str, ...]
    """The keys under which its servers stand."""
    user: Mapping[str, str]
    """The user's file by platform; the key "" stands for all others."""
    local: Form
    remote: Form | None = None
    project: str | None = None
    """The file in a project's folder."""
    syntax: Literal["json", "toml", "yaml"] = "json"
    or_jsonc: bool = False
    """Whether the file may also end with .jsonc."""


def _command(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": launch.command[0], "args": launch.command[1:]}
    return {**entry, "env": launch.env} if launch.env else entry


def _typed_command(launch: Launch) -> dict[str, Any]:
    return {"type": "stdio", **_command(launch)}


def _typed_url(launch: Launch) -> dict[str, Any]:
    return {"type": "http", "url": launch.url}


def _url(key: str) -> Form:
    return lambda launch: {key: launch.url}


def _goose_command(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": launch.name, "type": "stdio", "cmd": launch.command[0], "args": launch.command[1:]}
    more = {"envs": launch.env} if launch.env else {}
    return {**entry, **more, "enabled": True, "timeout": TIMEOUT_S}


def _goose_url(launch: Launch) -> dict[str, Any]:
    kind = "streamable_http"
    return {"name": launch.name, "type": kind, "uri": launch.url, "enabled": True, "timeout": TIMEOUT_S}


def _opencode_command(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": launch.command}
    return {**entry, "environment": launch.env} if launch.env else entry


def _opencode_url(launch: Launch) -> dict[str, Any]:
    return {"type": "remote", "url": launch.url}


CLIENTS: Final[dict[str, AiClient]] = {
    "claude-desktop": AiClient(
        "Claude Desktop", ("mcpServers",), {"": "{config}/Claude/claude_desktop_config.json"}, _command
    ),
    "claude-code": AiClient(
        "Claude Code", ("mcpServers",), {"": "{claude}/.claude.json"}, _typed_command, _typed_url, ".mcp.json"
    ),
    "cursor": AiClient(
        "Cursor", ("mcpServers",), {"": "{home}/.cursor/mcp.json"}, _command, _url("url"), ".cursor/mcp.json"
    ),
    "vscode": AiClient(
        "VS Code", ("servers",), {"": "{config}/Code/User/mcp.json"}, _typed_command, _typed_url, ".vscode/mcp.json"
    ),
    "codex": AiClient(
        "Codex",
        ("mcp_servers",),
        {"": "{codex}/config.toml"},
        _command,
        _url("url"),
        ".codex/config.toml",
        syntax="toml",
    ),
    "gemini": AiClient(
        "Gemini CLI",
        ("mcpServers",),
        {"": "{home}/.gemini/settings.json"},
        _command,
        _url("httpUrl"),
        ".gemini/settings.json",
    ),
    "windsurf": AiClient(
        "Windsurf", ("mcpServers",), {"": "{home}/.codeium/windsurf/mcp_config.json"}, _command, _url("serverUrl")
    ),
    "zed": AiClient(
        "Zed",
        ("context_servers",),
        {
            "darwin": "{home}/.config/zed/settings.json",
            "win32": "{config}/Zed/settings.json",
            "": "{xdg}/zed/settings.json",
        },
        _command,
        _url("url"),
        ".zed/settings.json",
    ),
    "goose": AiClient(
        "Goose",
        ("extensions",),
        {"win32": "{config}/Block/goose/config/config.yaml", "": "{xdg}/goose/config.yaml"},
        _goose_command,
        _goose_url,
        syntax="yaml",
    ),
    "opencode": AiClient(
        "opencode",
        ("mcp", "servers"),
        {"": "{xdg}/opencode/opencode.json"},
        _opencode_command,
        _opencode_url,
        "opencode.json",
        or_jsonc=True,
    ),
}


def path_of(client: str, platform: str, environ: Mapping[str, str], *, project: bool = False) -> str:
    """Return the file of a client: the user's, or with `project` that of the working folder, as a relative path.

    Args:
        client: the name of the client.
        platform: the platform as `sys.platform` has it.
        environ: the variables that say where the user's folders are.
        project: whether the file of the project is meant.

    Raises:
        ValueError: the client has no such file, or no variable says where it is.
    """
    known = CLIENTS[client]
    is_windows = platform == "win32"
    if not project:
        template = known.user.get(platform, known.user[""])
        path = template.format_map(_folders(platform, environ))
    elif known.project is None:
        raise ValueError(f"{known.title} has no configuration of a project: leave out --project")
    else:
        path = known.project
    return path.replace("/", "\\") if is_windows else path


def _folders(platform: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the folders of the user by the names that the paths of files have for them."""
    paths = ntpath if platform == "win32" else posixpath
    home_variable = "USERPROFILE" if platform == "win32" else "HOME"

    def folder(variable: str, default: str) -> str:
        """Return the folder that a variable names; the XDG specification has a relative one ignored."""
        given = environ.get(variable, "")
        return given if paths.isabs(given) else default

    home = folder(home_variable, "")
    if not home:
        raise ValueError(f"{home_variable} does not name the user's folder: set it")
    xdg = folder("XDG_CONFIG_HOME", paths.join(home, ".config"))
    config = {
        "darwin": paths.join(home, "Library/Application Support"),
        "win32": folder("APPDATA", paths.join(home, "AppData/Roaming")),
    }.get(platform, xdg)
    return {
        "home": home,
        "xdg": xdg,
        "config": config,
        "claude": folder("CLAUDE_CONFIG_DIR", home),
        "codex": folder("CODEX_HOME", paths.join(home, ".codex")),
    }
