"""Pages of toolsets: `GET /render/{format}/{encoded}` gives a picture's bytes, by the one road, safe to open."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S, Server, serving
from signet.toolsets.plantuml.encoding import encode

SEQUENCE = encode("@startuml\nAlice -> Bob: hello\n@enduml")
BROKEN = encode("@startuml\nAlice -> Bob\nfoo bar\n@enduml")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal")


@pytest.fixture(scope="module")
def server(journal: Path) -> Iterator[Server]:
    env = {"PLANTUML_RENDER_TIMEOUT_S": "30"}
    with serving("--toolsets", "plantuml,plantuml-tools", "--log-dir", str(journal), env=env) as server:
        yield server


def test_a_picture_is_served_as_bytes_that_run_nothing(server: Server) -> None:
    svg = server.ask("GET", f"/render/svg/{SEQUENCE}")

    assert (svg.status, svg.headers["content-type"]) == (200, "image/svg+xml")
    assert svg.body.startswith(b"<svg ")
    assert svg.headers["x-content-type-options"] == "nosniff"
    assert svg.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert svg.headers["cache-control"] == "public, max-age=86400"


def test_each_format_has_its_content_type(server: Server) -> None:
    png, txt = (server.ask("GET", f"/render/{form}/{SEQUENCE}") for form in ("png", "txt"))

    assert (png.headers["content-type"], png.body[:4]) == ("image/png", b"\x89PNG")
    assert struct.unpack(">II", png.body[16:24]) > (100, 100)
    assert txt.headers["content-type"] == "text/plain; charset=utf-8"
    assert "│Alice│" in txt.body.decode()


def test_a_dark_picture_has_a_word_of_its_own_as_on_other_servers(server: Server) -> None:
    light, dark = (server.ask("GET", f"/render/{word}/{SEQUENCE}").body for word in ("svg", "dsvg"))

    assert (b"#1B1B1B" in light, b"#1B1B1B" in dark) == (False, True)


def test_a_head_request_has_the_headers_alone(server: Server) -> None:
    reply = server.ask("HEAD", f"/render/svg/{SEQUENCE}")

    assert (reply.status, reply.headers["content-type"], reply.body) == (200, "image/svg+xml", b"")


@pytest.mark.parametrize(
    ("path", "status", "code", "words"),
    [
        (f"/render/svg/{BROKEN}", 400, "DIAGRAM_ERROR", "line 3: Syntax Error?"),
        ("/render/svg/zzzzzzzzzzzz", 400, "NOT_DECODABLE", "not an encoded diagram"),
        (f"/render/gif/{SEQUENCE}", 404, "NOT_FOUND", "write /render/svg/ENCODED"),
        ("/render/svg", 404, "NOT_FOUND", "write /render/svg/ENCODED"),
    ],
)
def test_what_cannot_be_drawn_is_told_as_everywhere(
    server: Server, path: str, status: int, code: str, words: str
) -> None:
    reply = server.ask("GET", path)

    assert reply.status == status
    assert reply.json()["success"] is False
    assert reply.json()["error"]["code"] == code
    assert words in reply.json()["error"]["message"]


def test_another_method_is_refused(server: Server) -> None:
    reply = server.ask("POST", f"/render/svg/{SEQUENCE}", b"{}", {"content-type": "application/json"})

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_page_is_a_call_in_the_journal(server: Server, journal: Path) -> None:
    server.ask("GET", f"/render/svg/{encode('Carol -> Dave')}")

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for file in journal.rglob("*.jsonl") for line in file.read_text().splitlines()]

    deadline = time.monotonic() + PATIENCE_S
    while not any(line["metadata"]["toolId"] == "plantuml.render" for line in lines()):
        assert time.monotonic() < deadline, server.stderr()
        time.sleep(0.02)
    routes = {line["route"] for line in lines() if line["metadata"]["toolId"] == "plantuml.render"}
    assert routes == {"/render/"}


def test_without_the_toolset_there_is_no_page() -> None:
    with serving("--toolsets", "plantuml") as plain:
        reply = plain.ask("GET", f"/render/svg/{SEQUENCE}")

    assert (reply.status, reply.json()["error"]["message"][:17]) == (404, "Nothing is served")
