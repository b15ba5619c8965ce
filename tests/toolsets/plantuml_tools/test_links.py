"""Links to any server, with a warning where they are too long; pictures as MCP content; recorded and replayed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagram_harness import Diagrams, diagrams
from door_calls import rpc
from processes import SIGNET, Pipe, piping

SEQUENCE = "@startuml\nAlice -> Bob: hello\n@enduml"


@pytest.fixture(scope="module")
def tools() -> Iterator[Diagrams]:
    with diagrams() as harness:
        yield harness


def test_a_link_leads_to_the_public_server_unless_another_is_named(tools: Diagrams) -> None:
    public = tools.result("linkPlantUML", plantumlCode="A -> B")
    own = tools.result("linkPlantUML", plantumlCode="A -> B", server="http://localhost:8080/", format="uml")

    assert public == {
        "url": "https://www.plantuml.com/plantuml/svg/SrJGjLDm0W0",
        "encoded": "SrJGjLDm0W0",
        "format": "svg",
        "length": 49,
        "warning": None,
    }
    assert own["url"] == "http://localhost:8080/uml/SrJGjLDm0W0"


@pytest.mark.parametrize(
    ("steps", "words"), [(40, None), (250, "cut links after 2,000"), (1100, "refuse more than 8,000")]
)
def test_a_long_link_has_a_warning(tools: Diagrams, steps: int, words: str | None) -> None:
    code = "\n".join(f"A{n * 7919 % 1009} -> B{n * 104729 % 997}: {n * n}" for n in range(steps))
    link = tools.result("linkPlantUML", plantumlCode=code)

    assert link["length"] == len(link["url"])
    assert (link["length"] > 2000, link["length"] > 8000) == (steps > 40, steps > 250)
    assert (link["warning"] is None) if words is None else words in link["warning"]


@pytest.mark.parametrize("server", ["example.org", "ftp://x/y", "https://", "https://a b/", "https://x/?q"])
def test_a_server_that_is_no_address_is_refused(tools: Diagrams, server: str) -> None:
    fault = tools.call("linkPlantUML", plantumlCode="A -> B", server=server).fault

    assert fault is not None
    assert fault.code == "INVALID_INPUT"


@pytest.mark.parametrize("name", ["checkPlantUML", "renderPlantUML", "linkPlantUML"])
@pytest.mark.parametrize(("code", "error"), [(" \n\t", "EMPTY_CODE"), ("é" * 25_601, "CODE_TOO_LARGE")])
def test_a_text_that_is_empty_or_too_large_is_refused(tools: Diagrams, name: str, code: str, error: str) -> None:
    fault = tools.call(name, plantumlCode=code).fault

    assert fault is not None
    assert fault.name == error


def test_mcp_gets_a_picture_as_an_image_and_characters_as_text(tmp_path: Path) -> None:
    def content(pipe: Pipe, form: str) -> dict[str, str]:
        arguments = {"plantumlCode": SEQUENCE, "format": form}
        reply = pipe.ask(rpc("tools/call", {"name": "renderPlantUML", "arguments": arguments}))
        (block,) = reply["result"]["content"]
        return block

    env = {"PLANTUML_RENDER_TIMEOUT_S": "30"}
    with piping(SIGNET, "stdio", "--toolsets", "plantuml-tools", "--no-journal", env=env) as pipe:
        svg, png, txt = (content(pipe, form) for form in ("svg", "png", "txt"))

    assert (svg["type"], svg["mimeType"]) == ("image", "image/svg+xml")
    assert base64.b64decode(svg["data"]).startswith(b"<svg ")
    assert (png["type"], png["mimeType"], base64.b64decode(png["data"])[:4]) == ("image", "image/png", b"\x89PNG")
    assert txt["type"] == "text"
    assert "│Alice│" in txt["text"]


def test_a_picture_is_recorded_and_replayed_without_an_engine(tmp_path: Path) -> None:
    folder = str(tmp_path / "tape")
    with diagrams(record=folder, plantuml_render_timeout_s="30") as live:
        drawn = live.result("renderPlantUML", plantumlCode=SEQUENCE)
        broken = live.result("checkPlantUML", plantumlCode="@startuml\nfoo bar\n@enduml")

    with pytest.MonkeyPatch.context() as patch, diagrams(replay=folder) as replay:
        patch.setattr("signet.engines.engine.open_renderers", lambda *_: pytest.fail("an engine was started"))
        assert replay.result("renderPlantUML", plantumlCode=SEQUENCE) == drawn
        assert replay.result("checkPlantUML", plantumlCode="@startuml\nfoo bar\n@enduml") == broken
    assert json.loads((tmp_path / "tape/recording.json").read_text())["toolsets"]["plantuml-tools"]["origin"] == "local"
