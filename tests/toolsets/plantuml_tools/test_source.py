"""A diagram in the text that was given: where it begins, where it ends, and its lines' numbers."""

from __future__ import annotations

import pytest

from signet.engines.picture import DiagramError
from signet.toolsets.plantuml_tools.source import Diagram, find_diagram, split_diagrams


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@startuml\nA->B\n@enduml", Diagram("@startuml\nA->B\n@enduml", 0)),
        ("A->B", Diagram("@startuml\nA->B\n@enduml", -1)),
        ("' note\n\n  @startuml x\nA->B\n  @enduml  \nmore", Diagram("@startuml x\nA->B\n@enduml", 2)),
        ("\ufeff@startuml\r\nA->B\r@enduml", Diagram("@startuml\nA->B\n@enduml", 0)),
        ("@enduml\n@startuml\nA->B\n@enduml\n@endjson", Diagram("@startuml\nA->B\n@enduml", 1)),
        ("@startuml\n@enduml", Diagram("@startuml\n@enduml", 0)),
        ("@startMindMap\n* a\n@endmindmap", Diagram("@startmindmap\n* a\n@endmindmap", 0)),
    ],
)
def test_the_diagram_is_found_with_its_place(text: str, found: Diagram) -> None:
    assert find_diagram(text) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@startuml\nA->B\n\n", 2),
        ("A->B\n@enduml", 2),
        ("@startuml\n@startuml\n@enduml", 2),
        ("@startuml\n@enduml\nx\n@startuml", 4),
        ("@startuml\n@endjson", 2),
    ],
)
def test_a_frame_that_is_wrong_is_told_with_its_line(text: str, line: int) -> None:
    found = find_diagram(text)

    assert isinstance(found, DiagramError)
    assert found.line == line


SECOND = "a second diagram begins {}: send one diagram at a time"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@startuml\n@startuml\n@enduml", SECOND.format("before the first has ended")),
        ("@startuml\nA\n@startuml", SECOND.format("before the first has ended")),
        ("@startuml\n@enduml\n@startuml\n@enduml", SECOND.format("here")),
        ("@enduml\n@startuml\n@startuml", SECOND.format("before the first has ended")),
        ("@startjson\nA", "the diagram does not end: write @endjson behind its last line"),
        ("A\n@endjson\n@enduml", "@endjson ends a diagram that has not begun: write @startjson"),
        ("@startUML\n@endjson", "@endjson cannot end what @startUML has begun"),
    ],
)
def test_a_frame_that_is_wrong_is_told_with_what_to_write(text: str, message: str) -> None:
    found = find_diagram(text)

    assert isinstance(found, DiagramError)
    assert found.message == message


def test_a_line_of_the_engine_is_a_line_of_the_text() -> None:
    behind, inside = Diagram("", 3), Diagram("", -1)

    assert behind.place(DiagramError("x", 2), 9).line == 5
    assert inside.place(DiagramError("x", 1), 9).line == 1
    assert inside.place(DiagramError("x", 99), 9).line == 9
    assert inside.place(DiagramError("x"), 9).line is None


def test_a_file_is_split_into_its_diagrams_with_the_lines_before_each() -> None:
    text = "intro\n@startuml\nA->B\n@enduml\nbetween\n@startuml\nC->D\n@enduml\n"

    assert split_diagrams(text) == [(1, "@startuml\nA->B\n@enduml\nbetween"), (5, "@startuml\nC->D\n@enduml\n")]
    assert split_diagrams("A->B") == [(0, "A->B")]


def test_a_frame_in_capitals_is_a_frame() -> None:
    assert find_diagram("@STARTuml x\nA -> B\n@EndUML") == Diagram("@startuml x\nA -> B\n@enduml", 0)
