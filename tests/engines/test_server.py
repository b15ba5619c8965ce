"""A PlantUML server as the engine: another Signet, and a web server around Debian's PlantUML."""

from __future__ import annotations

import base64
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from diagram_harness import Diagrams, diagrams
from processes import free_port, serving
from signet.toolsets.plantuml.encoding import decode

LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""What a Java that draws one picture needs not: the second compiler, and threads that look for garbage."""
SEQUENCE = "@startuml\nAlice -> Bob: hello\n@enduml"
BROKEN = "' first\n@startuml\nAlice -> Bob\nfoo bar\n@enduml"


@pytest.fixture(scope="module")
def signet() -> Iterator[str]:
    env = {"PLANTUML_RENDER_TIMEOUT_S": "30"}
    with serving("--toolsets", "plantuml-tools", "--no-journal", env=env) as server:
        yield f"{server.url}/render"


class AroundTheJar(BaseHTTPRequestHandler):
    """Answers as PlantUML's own server does: pictures of Debian's jar, status 400 beside the picture of an error."""

    def do_GET(self) -> None:
        _, _, form, encoded = self.path.split("/")
        java = ["java", *LIGHT, "-Djava.awt.headless=true", "-jar", "/usr/share/plantuml/plantuml.jar"]
        done = subprocess.run(
            [*java, "-pipe", f"-t{form}"], input=decode(encoded).encode(), capture_output=True, check=False
        )
        self.send_response(400 if b"ERROR" in done.stderr else 200)
        self.end_headers()
        self.wfile.write(done.stdout)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def debian() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), AroundTheJar) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/plantuml"
        server.shutdown()


@pytest.fixture(scope="module", params=["signet", "debian"])
def remote(request: pytest.FixtureRequest) -> Iterator[Diagrams]:
    url = request.getfixturevalue(request.param)
    with diagrams(plantuml_server=url, plantuml_render_timeout_s="60") as harness:
        yield harness


def test_the_server_draws(remote: Diagrams) -> None:
    svg, png = (remote.result("renderPlantUML", plantumlCode=SEQUENCE, format=form) for form in ("svg", "png"))

    assert "Alice" in svg["data"]
    assert base64.b64decode(png["data"]).startswith(b"\x89PNG")
    assert min(svg["width"], svg["height"], png["width"], png["height"]) > 50


def test_an_error_comes_with_its_line(remote: Diagrams) -> None:
    checked = remote.result("checkPlantUML", plantumlCode=BROKEN)

    assert [(error["line"], error["source"]) for error in checked["errors"]] == [(4, "foo bar")]
    assert checked["errors"][0]["message"].startswith("Syntax Error?")


def test_a_server_that_is_not_there_is_said_not_to_be_there() -> None:
    with diagrams(plantuml_server=f"http://127.0.0.1:{free_port()}") as harness:
        fault = harness.call("renderPlantUML", plantumlCode=SEQUENCE).fault

    assert fault is not None
    assert fault.code == "INTERNAL_ERROR"


def test_a_server_of_something_else_is_told(signet: str) -> None:
    with diagrams(plantuml_server=signet.removesuffix("/render")) as harness:
        fault = harness.call("renderPlantUML", plantumlCode=SEQUENCE).fault

    assert fault is not None
    assert fault.message == "the PlantUML server answered with status 404"


def test_links_lead_to_the_server_that_is_set(signet: str) -> None:
    with diagrams(plantuml_server=signet) as harness:
        link = harness.result("linkPlantUML", plantumlCode=SEQUENCE, format="png")

    assert link["url"] == f"{signet}/png/{link['encoded']}"


class NewErrors(BaseHTTPRequestHandler):
    """Answers each diagram with status 400 and an error picture of a style that nobody has seen before."""

    def do_GET(self) -> None:
        self.send_response(400)
        self.send_header("X-PlantUML-Diagram-Error", "Syntax Error?")
        self.end_headers()
        self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>Oh no</text></svg>')

    def log_message(self, *_: object) -> None: ...


def test_a_status_of_400_is_an_error_whatever_its_picture_looks_like() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), NewErrors) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        with diagrams(plantuml_server=f"http://127.0.0.1:{server.server_port}") as harness:
            checked = harness.result("checkPlantUML", plantumlCode=SEQUENCE)
            fault = harness.call("renderPlantUML", plantumlCode=SEQUENCE).fault
        server.shutdown()

    words = "the PlantUML server finds an error in the diagram, and does not say where"
    assert (checked["ok"], [error["message"] for error in checked["errors"]]) == (False, [words])
    assert fault is not None
    assert (fault.name, fault.message) == ("DIAGRAM_ERROR", words)
