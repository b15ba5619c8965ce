"""What an engine's SVG says: an error with its line, an unknown kind, a size; and its margin."""

from __future__ import annotations

import pytest

from signet.engines.picture import DiagramError, Size, find_error, frame, is_unsupported, size_of, without_unsafe_links


def svg(*texts: str, colour: str = "#33FF02") -> str:
    drawn = "".join(f'<text fill="{colour}" x="1">{text}</text>' for text in texts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 70 120" width="70" height="120">{drawn}</svg>'


DEDICATED = svg("Add your own dedication into PlantUML", colour="#000000").replace(
    "</svg>",
    '<rect fill="#33FF02" height="21"/><text fill="#000000">[From string (line 3) ]</text>'
    '<text fill="#33FF02">foo bar</text><text fill="#FF0000">Syntax Error?</text></svg>',
)
"""What Debian's jar draws for an error in minutes 30, 39 and 48; in others, a long diagram's picture has no head."""


@pytest.mark.parametrize(
    ("picture", "error"),
    [
        (
            svg("PlantUML version $version$", "[From textarea (line 3) ]", " ", "@startuml", "foo", "Syntax Error?"),
            DiagramError("Syntax Error?", 3),
        ),
        (
            svg("Welcome to PlantUML!", "", "[From string (line 12) ]", "a &lt; b", "Cannot find &quot;x&quot;", " "),
            DiagramError('Cannot find "x"', 12),
        ),
        (
            svg("An error has occured : java.lang.Boom"),
            DiagramError("the engine failed on this diagram (java.lang.Boom)"),
        ),
        (
            svg("Your data does not sound like JSON data", colour="#000000"),
            DiagramError("Your data does not sound like JSON data"),
        ),
        (svg("Your data does not sound like JSON data", "b", colour="#000000"), None),
        (svg("Your data does not sound like JSON data", colour="#000000").replace("<text", "<rect/><text"), None),
        (svg("Alice", "PlantUML version 1", "[From string (line 2) ]"), None),
        (svg("PlantUML version 1", "[From string (line 2) ]", colour="#000000"), None),
        (svg("PlantUML version 1", "fine"), None),
        (DEDICATED, DiagramError("Syntax Error?", 3)),
        (DEDICATED.replace('<rect fill="#33FF02" height="21"/>', ""), None),
        (svg(), None),
    ],
)
def test_an_error_picture_is_told_from_any_other(picture: str, error: DiagramError | None) -> None:
    assert find_error(picture) == error


def test_a_picture_of_an_unknown_kind_is_told_by_its_first_text() -> None:
    assert is_unsupported(svg("Diagram not supported by this release of PlantUML", "x"))
    assert is_unsupported(svg("No @startuml/@enduml found"))
    assert not is_unsupported(svg("No @startuml/@enduml found", colour="#000000"))
    assert not is_unsupported(svg("x", "Diagram not supported by this release of PlantUML"))


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        ('<svg width="12" height="34">', Size(12, 34)),
        ('<?xml version="1.0"?><svg height="319px" width="596.4px">', Size(596, 319)),
        ("<svg \n    xmlns='x'\n    width='80'\n    height='98'>", Size(80, 98)),
        ('<svg stroke-width="3" viewBox="0 0 1 1">', Size(0, 0)),
        ("nothing", Size(0, 0)),
    ],
)
def test_the_size_of_a_picture(picture: str, size: Size) -> None:
    assert size_of(picture) == size


def test_a_picture_gets_a_margin_and_a_background() -> None:
    framed = frame('<svg a="b" viewBox="0 0 10 20" width="10" height="20"><g/></svg>', dark=False)

    assert framed == (
        '<svg a="b" viewBox="-6 -6 22 32" width="22" height="32">'
        '<rect x="-6" y="-6" width="22" height="32" fill="#FFFFFF"/><g/></svg>'
    )


def test_the_background_that_a_diagram_states_is_kept() -> None:
    framed = frame('<svg width="10" height="20" style="background:#FFFFE0;"><g/></svg>', dark=True)

    assert 'fill="#FFFFE0"' in framed


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ('<a href="https://x.y/z" xlink:href="http://x.y">', '<a href="https://x.y/z" xlink:href="http://x.y">'),
        ('<a href="javascript:alert(1)" title="t">', '<a title="t">'),
        ("<a xlink:href='&#106;avascript:alert(1)'>", "<a>"),
        ('<a title="a > b" HREF = " jav&#9;ascript:x">', '<a title="a > b">'),
        ('<a href="file:///etc/passwd">', "<a>"),
        ('<use href="#f1"/>', '<use href="#f1"/>'),
        ('<image xlink:href="data:image/png;base64,AAAA"/>', '<image xlink:href="data:image/png;base64,AAAA"/>'),
        ('<image href="data:image/svg+xml;base64,AAAA"/>', "<image/>"),
        ('<text>a href="javascript:x"</text>', '<text>a href="javascript:x"</text>'),
    ],
)
def test_links_that_a_reader_cannot_trust_are_left_out(tag: str, kept: str) -> None:
    assert without_unsafe_links(tag) == kept
