"""The jar: what JavaScript lacks is drawn in a warm process of Java, which no diagram can leave."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagram_harness import SECRET, Canary, Diagrams, diagrams
from signet.engines import engine

SEQUENCE = "@startuml\nAlice -> Bob: hi é\n@enduml"


@pytest.fixture(scope="module")
def jar() -> Iterator[Diagrams]:
    """A server on whose machine the files of the JavaScript engine are not there."""
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_render_timeout_s="30") as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        harness.result("renderPlantUML", plantumlCode=SEQUENCE)
        yield harness


def test_the_jar_alone_draws_every_format(jar: Diagrams) -> None:
    svg, png, txt = (jar.result("renderPlantUML", plantumlCode=SEQUENCE, format=form) for form in ("svg", "png", "txt"))

    assert "Alice" in svg["data"]
    assert "OpenJDK" not in svg["data"]
    assert base64.b64decode(png["data"]).startswith(b"\x89PNG")
    assert "│Alice│" in txt["data"]
    assert "hi é" in txt["data"]
    assert (txt["width"], txt["height"]) == (max(map(len, txt["data"].splitlines())), 8)


@pytest.mark.parametrize("source", ["@startsalt\n{[OK]}\n@endsalt", "@startditaa\n+--+\n|a |\n+--+\n@endditaa"])
def test_kinds_that_javascript_lacks_are_drawn(jar: Diagrams, source: str) -> None:
    assert base64.b64decode(jar.result("renderPlantUML", plantumlCode=source, format="png")["data"])[:4] == b"\x89PNG"


def test_an_error_has_its_line(jar: Diagrams) -> None:
    checked = jar.result("checkPlantUML", plantumlCode="' x\n@startuml\nA -> B\nfoo bar\n@enduml")

    assert checked["errors"] == [{"line": 4, "message": "Syntax Error?", "source": "foo bar"}]


@pytest.mark.parametrize(
    "line", ["!include {file}", "!includeurl {url}/x", 'A -> B: <img:{file}> %getenv("HOME")', "!import {file}"]
)
def test_no_diagram_reads_a_file_or_an_address(jar: Diagrams, tmp_path: Path, line: str) -> None:
    canary = Canary(tmp_path)
    outcome = jar.call("renderPlantUML", plantumlCode=canary.placed(f"@startuml\n{line}\nC -> D\n@enduml"))
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)
    canary.close()

    assert SECRET not in str(outcome.result or outcome.fault)
    assert canary.visits == []
    assert outcome.fault is not None
    assert "Alice" in after["data"]


@pytest.mark.parametrize("line", [" * @enduml", "\\startuml", "<b>@startuml", "@pause"])
def test_pictures_and_diagrams_stay_in_pairs(jar: Diagrams, line: str) -> None:
    """Each of these lines ends or begins a diagram for PlantUML: the next caller would get this caller's picture."""
    outcome = jar.call("renderPlantUML", plantumlCode=f"@startuml\nA -> B\n{line}\nMine -> Mine\n@enduml")
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.message.startswith("line 3: ")
    assert "Alice" in after["data"]


def test_a_diagram_that_ends_the_process_ends_alone(jar: Diagrams) -> None:
    recursion = "@startuml\n!function f()\n!return f()\n!endfunction\nA->B: f()\n@enduml"

    outcome = jar.call("renderPlantUML", plantumlCode=recursion)
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.name in {"DIAGRAM_TOO_LARGE", "DIAGRAM_ERROR"}
    assert "Alice" in after["data"]


def test_a_jar_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"no jar")
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_jar=str(broken)) as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        outcome = harness.call("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.name == "ENGINE_FAILED"
    assert f"{broken} does not start" in outcome.fault.message


def test_without_any_engine_one_sentence_says_what_to_type() -> None:
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_jar="/nowhere.jar") as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        outcome = harness.call("renderPlantUML", plantumlCode=SEQUENCE)
        rows = engine.choices(harness.server.pipeline._runtimes["plantuml.render"].settings, None)

    assert outcome.fault is not None
    assert (outcome.fault.name, outcome.fault.status, outcome.fault.as_tool_result) == ("NO_ENGINE", 503, True)
    assert "type: pip install 'signet-mcp[diagrams]' && signet diagrams install" in outcome.fault.message
    assert [(row.name, row.usable) for row in rows] == [("server", False), ("JavaScript", False), ("jar", False)]


def test_javascript_and_the_jar_share_the_work() -> None:
    """What JavaScript lacks comes from the jar, in one server."""
    with diagrams(plantuml_render_timeout_s="30") as harness:
        text = harness.result("renderPlantUML", plantumlCode=SEQUENCE, format="txt")
        salt = harness.result("renderPlantUML", plantumlCode="@startsalt\n{[OK]}\n@endsalt")
        new = harness.result("checkPlantUML", plantumlCode='@startjson\n{"a": 1}\n@endjson')

    assert "Alice" in text["data"]
    assert "OK" in salt["data"]
    assert new == {"ok": True, "errors": [], "diagram": "json"}
