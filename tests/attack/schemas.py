"""Clients that ask for all that is dear about hostile schemas of a wrapped server: values, results, pages, lists."""

from __future__ import annotations

import contextlib
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from wrap.hostile_schema_server import nested

from .clients import connect, head, post, read_answers
from .schema_server import GENERATED, small_value
from .starving import Running

SERVER: Final = Path(__file__).with_name("schema_server.py")
SOURCES: Final = 4
PAGES: Final = ("/readyz", "/openapi.json", "/api/tools", "/-/api/tools")


def write_settings(folder: Path) -> Path:
    """Write the file of a server that wraps the hostile one."""
    path = folder / "signet.toml"
    path.write_text(f'[servers.odd]\ncommand = "{sys.executable}"\nargs = ["{SERVER}"]\n')
    return path


def ask_once(port: int) -> None:
    """Call each tool and read each page once, so that the processes which they need have started."""
    for place in range(GENERATED):
        tool = f"odd_generated_{place}"
        for request in (post(f"/api/tools/{tool}", {"value": 1}), head("GET", f"/-/tools/{tool}")):
            with contextlib.closing(connect(port)) as client:
                client.sendall(request)
                read_answers(client, 1)


def schemas(attack: Running) -> None:
    """Call tools with hostile schemas, and read their pages, from four addresses."""
    with attack.running(*(partial(_repeat, attack, place) for place in range(SOURCES))):
        attack.watch()


def _repeat(attack: Any, place: int) -> None:
    chance = random.Random(place)
    while not attack.over.is_set():
        kind, request = _request(chance)
        with (
            contextlib.suppress(OSError, AssertionError),
            contextlib.closing(connect(attack.server.port, f"127.0.0.{2 + place}")) as client,
        ):
            client.sendall(request)
            attack.statuses.update(answer.status for answer in read_answers(client, 1))
        attack.requests[kind] += 1


def _request(chance: random.Random) -> tuple[str, bytes]:
    tool = chance.choice(("odd_filter", "odd_nested", *(f"odd_generated_{place}" for place in range(GENERATED))))
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
