"""Clients: how each of them is told of this server, over HTTP or by a command that it starts itself."""

from __future__ import annotations

import os
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from signet.clients.clients import CLIENTS, EDITORS, AiClient, Launch, path_of
from signet.settings.model import Settings
from signet.settings.names import PREFIX
from signet.system.advice import advise
from signet.system.redaction import SecretRedactor

from .parts import ConsoleContext
from .twin import Shown, Twin, Visit

__all__ = ["twins"]

NAME: Final = "signet"
PLATFORMS: Final = {"Linux": "linux", "macOS": "darwin", "Windows": "win32"}
HOMES: Final = {"HOME": "/~", "USERPROFILE": "C:\\%USERPROFILE%", "APPDATA": "C:\\%APPDATA%"}
"""The folders of a user whom we do not know, as absolute paths whose beginning is taken away again."""


class ClientsAsked(Shown, frozen=True):
    """Where the clients will reach the server."""

    url: Annotated[
        str, Meta(max_length=2000, pattern=r"^https?://[A-Za-z0-9\[][A-Za-z0-9.:_~%/@!$&()*+,;=\[\]-]*(?!\n)$")
    ]
    """The server's own address, without `/mcp`."""


class ClientFile(Shown, frozen=True):
    """One file of a client."""

    place: str
    """The platform, or that it is a project's."""
    path: str


class ClientEntry(Shown, frozen=True):
    """One way to tell a client of the server."""

    way: str
    text: str
    """The file with nothing but the entry in it; empty where the client takes none in a file."""
    command: str
    """The command that puts the entry into the file as it is, and keeps the rest of it."""


class ShownClient(Shown, frozen=True):
    """A client, its files and its entries."""

    name: str
    title: str
    syntax: str
    files: list[ClientFile]
    entries: list[ClientEntry]


class ClientsShown(Shown, frozen=True):
    """All clients of `signet install`."""

    clients: list[ShownClient]
    is_secured: bool
    """Whether the client has to send a token as well."""


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""

    def clients(visit: Visit) -> ClientsShown:
        url = visit.body.url.rstrip("/")
        launch = _launch(parts.settings)
        return ClientsShown([_shown(name, client, url, launch) for name, client in CLIENTS.items()], parts.secured)

    summary = "Show how each client is told of this server"
    return (
        Twin(
            method="POST",
            path="/-/clients",
            summary=summary,
            body=ClientsAsked,
            answer=ClientsShown,
            run=clients,
            example={"url": "http://127.0.0.1:8080"},
        ),
    )


def _launch(settings: Settings) -> Launch:
    """Return how a client starts a server of these settings by itself; known secrets are left out."""
    redactor = SecretRedactor(settings.secrets())
    words = settings.launch or ("stdio", *(("--sandbox",) if settings.sandbox else ()))
    is_wrapped = words[0] == "wrap"
    servers = settings.wrapping.servers if settings.wrapping is not None else ()
    named = [one.name for one in servers] or [settings.toolsets]
    # `--config` of `signet wrap` is the file of a client.
    env = {f"{PREFIX}CONFIG": os.path.abspath(settings.config)} if is_wrapped and settings.config else {}
    name = named[0] if is_wrapped and len(named) == 1 else NAME
    return Launch(name, ["signet", *map(redactor.text, words)], env)


def _install_words(launch: Launch) -> list[str]:
    """Return the words behind the client's name for `signet install`."""
    _, command, *rest = launch.command
    words = rest if command == "stdio" else [command, *rest]
    named = [] if launch.name == NAME else ["--name", launch.name]
    variables = [word for name, value in launch.env.items() for word in ("--env", f"{name}={value}")]
    return [*named, *variables, *(["--", *words] if words else [])]


def _shown(name: str, client: AiClient, url: str, launch: Launch) -> ShownClient:
    files = [ClientFile(place, _path(name, platform)) for place, platform in PLATFORMS.items()]
    if client.project is not None:
        files.append(ClientFile("in a project", client.project))
    remote = _text(client, msgspec.structs.replace(Launch(NAME), url=f"{url}/mcp")) if client.remote else ""
    over_http = ClientEntry(
        "over HTTP", remote, advise("client.url", here=False, client=name, url=url) if remote else ""
    )
    on_stdio = ClientEntry(
        "on stdio",
        _text(client, launch),
        advise("client.install", here=False, client=name, words=_install_words(launch)),
    )
    return ShownClient(name, client.title, client.syntax, files, [over_http, on_stdio])


def _text(client: AiClient, launch: Launch) -> str:
    form = client.remote if launch.url and client.remote is not None else client.local
    text: str = EDITORS[client.syntax].put_entry("", (*client.keys, launch.name), form(launch))
    return text


def _path(name: str, platform: str) -> str:
    return path_of(name, platform, HOMES).removeprefix("/").removeprefix("C:\\")
