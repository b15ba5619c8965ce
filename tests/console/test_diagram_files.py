"""What the diagram editor asks the server for: the engine's scripts, the means of drawing, and drawings."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from processes import ROOT, Server, run, serving, serving_command

SCRIPTS = ["shim.js", "fonts.js", "viz-global.js", "plantuml.js", "themes.js", "openiconic.js", "emoji.js"]
DIAGRAM = "@startuml\nAlice -> Bob: hello\n@enduml"
BROKEN = "' first\n@startuml\nAlice -> Bob: hello\nthis is no arrow\n@enduml"


def shaped(server: Server, method: str, path: str, answer: Any) -> Any:
    """Return an answer that has the shape that the OpenAPI page states."""
    page = server.ask("GET", "/openapi.json").json()
    content = page["paths"][path][method]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": page["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer)
    return answer


def draw(server: Server, **wanted: object) -> Any:
    reply = server.post("/-/draw", wanted)
    assert reply.status == 200
    return shaped(server, "post", "/-/draw", reply.json())


@pytest.fixture(scope="module")
def bare() -> Iterator[Server]:
    """A server without the engine's files and without a jar."""
    command = (sys.executable, str(ROOT / "tests/support/engineless_server.py"), "serve", "--port", "0", "--sandbox")
    with serving_command(*command, "--plantuml-jar", "/nowhere.jar", "--no-journal") as running:
        yield running


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_sent_compressed_and_once(server: Server, name: str) -> None:
    plain = server.ask("GET", f"/-/engine/{name}")
    packed = server.ask("GET", f"/-/engine/{name}", headers={"Accept-Encoding": "gzip"})
    again = server.ask("GET", f"/-/engine/{name}", headers={"If-None-Match": plain.headers["etag"]})

    assert (plain.status, plain.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert (again.status, again.body) == (304, b"")


def test_the_engine_is_a_script_and_not_a_module(server: Server) -> None:
    script = server.ask("GET", "/-/engine/plantuml.js").body

    assert script.startswith(b"(function () {")
    assert b"export{" not in script[-300:]


def test_other_files_and_methods_are_refused(server: Server) -> None:
    assert server.ask("GET", "/-/engine/package.json").status == 404
    assert server.ask("GET", "/-/engine/..%2fshim.js").status == 404
    assert server.post("/-/engine/shim.js", {}).status == 405
    assert server.ask("GET", "/-/engine/shim.js", headers={"Origin": "http://elsewhere.example"}).status == 403


def test_only_the_worker_may_run_webassembly_and_it_can_send_nothing(server: Server) -> None:
    policies = {
        name: dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
        for name in ("diagram_worker.js", "diagram.js", "app.js")
        if (policy := server.ask("GET", f"/-/files/{name}").headers["content-security-policy"])
    }

    assert policies["diagram_worker.js"]["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policies["diagram_worker.js"]["default-src"] == "'none'"
    assert "connect-src" not in policies["diagram_worker.js"]
    assert policies["diagram.js"] == policies["app.js"]
    assert policies["app.js"]["script-src"] == "'self'"


def test_the_means_are_told(server: Server, bare: Server) -> None:
    means = shaped(server, "get", "/-/diagram", server.ask("GET", "/-/diagram").json())
    none = shaped(bare, "get", "/-/diagram", bare.ask("GET", "/-/diagram").json())

    assert (means["inPage"], means["byServer"], means["serverEngine"]) == (True, True, "JavaScript")
    assert means["linkServer"] == "https://www.plantuml.com/plantuml"
    assert (means["longLinkChars"], means["tooLongLinkChars"]) == (2000, 8000)
    assert (none["inPage"], none["byServer"], none["version"]) == (False, False, "")
    assert "signet diagrams install" in none["install"]
    assert bare.ask("GET", "/-/engine/plantuml.js").status == 404


def test_links_lead_to_the_server_that_is_set() -> None:
    with serving("--toolsets", "plantuml,plantuml-tools", "--plantuml-server", "http://127.0.0.1:9/uml/") as server:
        means = server.ask("GET", "/-/diagram").json()

    assert (means["linkServer"], means["serverEngine"]) == ("http://127.0.0.1:9/uml", "server")


def test_a_drawing_is_that_of_the_tool(server: Server) -> None:
    tool = server.post("/api/tools/renderPlantUML", {"plantumlCode": DIAGRAM, "dark": True}).json()["result"]

    assert draw(server, source=DIAGRAM, dark=True) == {
        "ok": True, "data": tool["data"], "mimeType": "image/svg+xml", "width": tool["width"],
        "height": tool["height"], "code": "", "message": "", "line": None,
    }  # fmt: skip


def test_what_is_wrong_is_told_with_its_line(server: Server, bare: Server) -> None:
    broken, empty, large = (draw(server, source=text) for text in (BROKEN, " ", "é" * 30_000))

    assert (broken["ok"], broken["code"], broken["line"]) == (False, "DIAGRAM_ERROR", 4)
    assert broken["message"].startswith("Syntax Error?")
    assert (empty["code"], large["code"]) == ("EMPTY_CODE", "CODE_TOO_LARGE")
    assert draw(bare, source=DIAGRAM)["code"] == "NO_ENGINE"
    assert server.post("/-/draw", {"source": DIAGRAM, "format": "gif"}).status == 400


def test_who_may_not_call_reads_the_scripts_and_is_drawn_nothing(tmp_path: Path) -> None:
    file = str(tmp_path / "tokens")
    made = run("token", "new", "reader", "--scopes", "tools:read", "--tokens-file", file).stdout.decode().split()[-1]
    known = {"authorization": f"Bearer {made}"}
    with serving("--toolsets", "plantuml,plantuml-tools", "--tokens-file", file, "--no-journal") as server:
        means = server.ask("GET", "/-/diagram", headers=known).json()
        drawn = server.post("/-/draw", {"source": DIAGRAM}, known)
        stranger = server.ask("GET", "/-/diagram")
        script = server.ask("GET", "/-/engine/shim.js")

    assert (means["inPage"], means["byServer"]) == (True, False)
    assert (drawn.status, drawn.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert (stranger.status, script.status) == (401, 200)
