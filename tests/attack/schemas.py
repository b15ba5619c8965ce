"""Clients that ask for all that is dear about hostile schemas of a wrapped server: values, results, pages, lists."""

from __future__ import annotations

import contextlib
import random
import sys
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from wrap.hostile_schema_server import nested

from .clients import Answer, connect, head, post, read_answers
from .schema_server import small_value
from .starving import Running

SERVER: Final = Path(__file__).with_name("schema_server.py")
SOURCES: Final = 4
PAGES: Final = ("/readyz", "/openapi.json", "/api/tools", "/-/api/tools")


def write_settings(folder: Path) -> Path:
    """Write the file of a server that wraps the hostile one."""
    path = folder / "signet.toml"
    path.write_text(f'[servers.odd]\ncommand = "{sys.executable}"\nargs = ["{SERVER}"]\n')
    return path


def ask_once(port: int) -> list[str]:
    """Call each tool and read each page once, so that their processes have started; return the names of the tools."""
    names = [tool["name"] for tool in _ask(port, head("GET", "/api/tools")).json()["tools"]]
    hostile = [name for name in names if name.startswith("odd_")]
    for name in hostile:
        _ask(port, post(f"/api/tools/{name}", {"value": 1}))
        _ask(port, head("GET", f"/-/tools/{name}"))
    return hostile


def _ask(port: int, request: bytes) -> Answer:
    with contextlib.closing(connect(port)) as client:
        client.sendall(request)
        return read_answers(client, 1)[0]


def schemas(attack: Running) -> None:
    """Call tools with hostile schemas, and read their pages, from four addresses."""
    names = ask_once(attack.server.port)
    with attack.running(*(partial(_repeat, attack, place, names) for place in range(SOURCES))):
        attack.watch()


def _repeat(attack: Any, place: int, names: list[str]) -> None:
    chance = random.Random(place)
    while not attack.over.is_set():
        kind, request = _request(chance, names)
        with (
            contextlib.suppress(OSError, AssertionError),
            contextlib.closing(connect(attack.server.port, f"127.0.0.{2 + place}")) as client,
        ):
            client.sendall(request)
            [answer] = read_answers(client, 1)
            attack.statuses[answer.status] += 1
            if answer.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                attack.errors.append(f"{kind}: {answer.body[:300]!r}")
        attack.requests[kind] += 1


def _request(chance: random.Random, names: list[str]) -> tuple[str, bytes]:
    tool = chance.choice(names)
    match chance.choice(("arguments", "result", "page", "list")):
        case "arguments" if tool == "odd_filter":
            return "nested", post(f"/api/tools/{tool}", nested(chance.choice((4, 8, 12, 26, 150, 400))))
        case "arguments":
            return "arguments", post(f"/api/tools/{tool}", {"value": small_value(chance)})
        case "result":
            return "results", post(f"/api/tools/{tool}", {"levels": chance.choice((4, 20, 150))})
        case "page":
            return "pages", head("GET", f"/-/tools/{tool}")
        case _:
            return "lists", head("GET", chance.choice(PAGES))
