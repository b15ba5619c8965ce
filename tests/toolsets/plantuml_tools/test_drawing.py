"""Sixty diagrams of all common kinds are checked and drawn; broken ones are told with their line; hostile ones end."""

from __future__ import annotations

import asyncio
import base64
import html
import struct
import xml.etree.ElementTree as ET
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from diagram_harness import SECRET, Canary, Diagrams, diagrams
from diagram_texts import BROKEN, GOOD, HOSTILE
from signet.commands.call import walk
from signet.kernel.outcome import Outcome

SEQUENCE = "@startuml\nAlice -> Bob: hello\n@enduml"


@pytest.fixture(scope="module")
def tools() -> Iterator[Diagrams]:
    """The JavaScript engine alone: no jar."""
    with diagrams(plantuml_jar="/nowhere.jar", plantuml_render_timeout_s="60") as harness:
        yield harness


@pytest.fixture(scope="module")
def strict() -> Iterator[Diagrams]:
    """The same with little time and memory."""
    flags = {"plantuml_render_timeout_s": "2", "plantuml_render_memory_mb": "1100", "plantuml_render_processes": "1"}
    with diagrams(plantuml_jar="/nowhere.jar", **flags) as harness:
        yield harness


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    canary = Canary(tmp_path)
    yield canary
    canary.close()


def test_there_are_sixty_good_twenty_broken_and_ten_hostile_diagrams() -> None:
    assert (len(GOOD) >= 60, len(BROKEN) >= 20, len(HOSTILE) >= 10) == (True, True, True)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_diagram_is_checked_and_drawn(tools: Diagrams, name: str) -> None:
    kind, source, texts = GOOD[name]

    checked = tools.result("checkPlantUML", plantumlCode=source)
    drawn = tools.result("renderPlantUML", plantumlCode=source)

    assert checked == {"ok": True, "errors": [], "diagram": kind}
    root = ET.fromstring(drawn["data"])
    shown = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert [text for text in texts if text not in html.unescape(shown).replace("\u00a0", " ")] == []
    assert (root.get("width"), root.get("height")) == (str(drawn["width"]), str(drawn["height"]))
    assert drawn["mimeType"] == "image/svg+xml"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_diagram_is_told_with_its_line(tools: Diagrams, name: str) -> None:
    line, source = BROKEN[name]

    checked = tools.result("checkPlantUML", plantumlCode=source)
    drawn = tools.call("renderPlantUML", plantumlCode=source)

    (error,) = checked["errors"]
    assert (checked["ok"], error["line"]) == (False, line)
    assert error["source"] == source.replace("\r", "").split("\n")[line - 1]
    assert drawn.fault is not None
    assert drawn.fault.message == f"line {line}: {error['message']}"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_diagram_reaches_nothing_and_the_next_one_is_drawn(
    strict: Diagrams, canary: Canary, name: str
) -> None:
    outcome = strict.call("renderPlantUML", plantumlCode=canary.placed(HOSTILE[name]))
    after = strict.result("renderPlantUML", plantumlCode=SEQUENCE)

    if outcome.fault is None:
        picture = outcome.result["data"]
        root = ET.fromstring(picture)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} & {"script", "foreignObject", "a"} == set()
        links = [value for element in root.iter() for key, value in element.items() if key.endswith("href")]
        assert [link for link in links if not link.startswith("data:image/png;base64,")] == []
    else:
        allowed = {"DIAGRAM_ERROR", "DIAGRAM_TOO_SLOW", "DIAGRAM_TOO_LARGE", "PICTURE_TOO_LARGE"}
        assert outcome.fault.name in allowed
        picture = outcome.fault.message
        assert name != "doubling" or outcome.fault.name in {"DIAGRAM_TOO_SLOW", "DIAGRAM_TOO_LARGE"}
    assert name != "doubling" or outcome.fault is not None
    assert SECRET not in picture
    assert canary.visits == []
    assert "Alice" in after["data"]


@pytest.mark.parametrize(
    ("name", "line"),
    [("include-file", 2), ("include-url", 2), ("includeurl", 2), ("import", 2), ("theme-from-url", 2)],
)
def test_an_include_is_refused_with_its_line(strict: Diagrams, canary: Canary, name: str, line: int) -> None:
    checked = strict.result("checkPlantUML", plantumlCode=canary.placed(HOSTILE[name]))

    assert [error["line"] for error in checked["errors"]] == [line]


@pytest.mark.parametrize("dark", [False, True])
def test_a_png_has_the_size_that_is_stated_and_a_background(tools: Diagrams, *, dark: bool) -> None:
    drawn = tools.result("renderPlantUML", plantumlCode=SEQUENCE, format="png", dark=dark)

    data = base64.b64decode(drawn["data"])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (drawn["width"], drawn["height"])
    assert drawn["mimeType"] == "image/png"


def test_a_dark_picture_has_a_dark_background_and_light_lines(tools: Diagrams) -> None:
    light = tools.result("renderPlantUML", plantumlCode=SEQUENCE)
    dark = tools.result("renderPlantUML", plantumlCode=SEQUENCE, dark=True)

    assert ('fill="#FFFFFF"' in light["data"][:700], 'fill="#1B1B1B"' in dark["data"][:700]) == (True, True)
    assert 'stroke="#181818"' in light["data"]
    assert 'stroke="#181818"' not in dark["data"]


def test_the_same_diagram_is_the_same_picture_whatever_was_drawn_before(tools: Diagrams) -> None:
    """The engine's guess of the kind depends on the diagram before, unless it is reset."""
    ambiguous = "@startuml\n" + "\n".join(f"A -> B: {n}" for n in range(10)) + "\n@enduml"
    first = tools.result("renderPlantUML", plantumlCode=ambiguous)

    for name in ("class", "state", "usecase", "json"):
        tools.result("renderPlantUML", plantumlCode=GOOD[name][1])
        assert tools.result("renderPlantUML", plantumlCode=ambiguous) == first


def test_what_the_javascript_engine_lacks_is_said_in_one_sentence(tools: Diagrams) -> None:
    salt = tools.call("renderPlantUML", plantumlCode="@startsalt\n{[OK]}\n@endsalt")
    text = tools.call("renderPlantUML", plantumlCode=SEQUENCE, format="txt")

    assert salt.fault is not None
    assert text.fault is not None
    assert "set --plantuml-server URL or --plantuml-jar FILE to draw it with another engine" in salt.fault.message
    assert text.fault.message == "no engine here draws txt: set --plantuml-server URL or --plantuml-jar FILE"


def test_a_png_of_characters_that_our_fonts_lack_is_drawn_too(tools: Diagrams) -> None:
    drawn = tools.result("renderPlantUML", plantumlCode="A -> B: 你好 안녕 🌍", format="png")

    assert base64.b64decode(drawn["data"]).startswith(b"\x89PNG")


def test_texts_state_their_length_and_the_font_that_measured_them(tools: Diagrams) -> None:
    """Drawn with another font, a text still fits its box. 60 % of an em is the width of every letter of the font."""
    drawn = tools.result("renderPlantUML", plantumlCode='A -> B: ""monospaced""')

    root = ET.fromstring(drawn["data"])
    (text,) = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.text == "monospaced"]
    assert text.get("font-family", "").startswith("DejaVu Sans Mono,")
    assert float(text.get("textLength", "0")) == pytest.approx(
        10 * 0.60205 * float(text.get("font-size", "0")), abs=0.01
    )


def test_a_diagram_that_takes_long_holds_up_no_other_and_ends_with_the_server() -> None:
    edges = "\n".join(f"C{a} --> C{b}" for a in range(90) for b in range(0, 90, 2))

    async def draw_both(harness: Diagrams) -> tuple[list[Outcome], bool]:
        def draw(source: str) -> Coroutine[Any, Any, Outcome]:
            return walk(harness.server, "renderPlantUML", {"plantumlCode": source})

        await asyncio.gather(draw(SEQUENCE), draw(SEQUENCE))
        slow = asyncio.ensure_future(draw(edges))
        quick = [await draw(SEQUENCE) for _ in range(3)]
        is_slow = not slow.done()
        await harness.server.close()
        await slow
        return quick, is_slow

    harness = Diagrams(plantuml_jar="/nowhere.jar", plantuml_render_timeout_s="60", plantuml_render_processes="2")
    quick, is_slow = asyncio.run(draw_both(harness))

    assert [outcome.fault for outcome in quick] == [None] * 3
    assert is_slow


def test_data_that_cannot_be_read_is_an_error(tools: Diagrams) -> None:
    checked = tools.result("checkPlantUML", plantumlCode='@startjson\n{"a": }\n@endjson')

    assert (checked["ok"], checked["diagram"]) == (False, "json")
    assert checked["errors"][0]["message"] == "Your data does not sound like JSON data"


def test_an_answer_of_the_child_that_is_too_long_is_told_as_a_picture_too_large(
    tools: Diagrams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.engines.frames.MAX_FRAME_BYTES", 1000)
    outcome = tools.call("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.name == "PICTURE_TOO_LARGE"
