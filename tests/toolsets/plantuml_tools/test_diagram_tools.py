"""The diagram tools with a played engine: what it is asked, what becomes of its answers, the words of each fault."""

from __future__ import annotations

import asyncio
import base64
import inspect
import threading
from typing import Any

import msgspec
import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.toolsets.plantuml import tools as encoding_tools
from signet.toolsets.plantuml_tools import tools
from signet.toolsets.plantuml_tools.pages import PAGES

CODE = "@startuml\nAlice -> Bob: hello\n@enduml"
ENCODED = "SyfFKj2rKt3CoKnELR1Io4ZDoSa70000"
"""`Bob -> Alice : hello`, as PlantUML's documentation prints it."""
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([1, 2, 3, 4, 5, 6, 7, 8]) + b"\xff\xff"
BY_NAME: dict[str, Tool] = {tool.name: tool for tool in (*tools.TOOLS, *encoding_tools.TOOLS)}
EMPTY = "plantumlCode is required and cannot be empty"
TOO_LARGE = "PlantUML code exceeds maximum size of 50KB"


class PlayedEngine:
    """Notes what it is asked, and answers with one response."""

    has_token = False
    origin = "local"

    def __init__(self, body: bytes = b"", status: int = 200) -> None:
        self.asked: list[tuple[str, str, bytes]] = []
        self._response = UpstreamResponse(status, "", body)

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        self.asked.append((request.method, request.target, request.body))
        return self._response


def run(engine: PlayedEngine | None, name: str, **arguments: Any) -> Any:
    """Run a tool, and return its result as plain data."""
    tool = BY_NAME[name]
    context = msgspec.structs.replace(QUIET_CONTEXT, upstream=engine)

    async def walk() -> Any:
        result = tool.run(msgspec.convert(arguments, tool.args), context)
        return await result if inspect.isawaitable(result) else result

    return msgspec.json.decode(msgspec.json.encode(asyncio.run(walk())))


def refused(engine: PlayedEngine | None, name: str, **arguments: Any) -> tuple[Any, ...]:
    with pytest.raises(Fault) as caught:
        run(engine, name, **arguments)
    fault = caught.value
    return fault.code, fault.name, fault.status, fault.message


@pytest.mark.parametrize(
    ("form", "dark", "target"),
    [
        (None, None, "/svg"),
        (None, True, "/svg?dark=1"),
        ("svg", False, "/svg"),
        ("svg", True, "/svg?dark=1"),
        ("txt", True, "/txt"),
        ("txt", False, "/txt"),
    ],
)
def test_the_engine_is_asked_for_the_format_and_the_colours(form: str | None, dark: bool | None, target: str) -> None:
    engine = PlayedEngine(b'<svg width="3px" height="4px"/>')

    run(engine, "renderPlantUML", plantumlCode=CODE, format=form, dark=dark)

    assert engine.asked == [("POST", target, CODE.encode())]


def test_a_png_is_asked_for_dark_too() -> None:
    engine = PlayedEngine(PNG)

    run(engine, "renderPlantUML", plantumlCode=CODE, format="png", dark=True)

    assert engine.asked == [("POST", "/png?dark=1", CODE.encode())]


@pytest.mark.parametrize(
    ("form", "body", "result"),
    [
        ("svg", b'<svg width="30px" height="40px"/>',
         ("image/svg+xml", '<svg width="30px" height="40px"/>', 30, 40)),
        ("png", PNG, ("image/png", base64.b64encode(PNG).decode(), 0x01020304, 0x05060708)),
        ("txt", b"abc\nabcde\n\n", ("text/plain", "abc\nabcde\n\n", 5, 3)),
        ("txt", b"", ("text/plain", "", 0, 0)),
        ("txt", b"\xff", ("text/plain", "\ufffd", 1, 1)),
    ],
)  # fmt: skip
def test_a_picture_has_its_type_and_its_size(form: str, body: bytes, result: tuple[Any, ...]) -> None:
    drawn = run(PlayedEngine(body), "renderPlantUML", plantumlCode=CODE, format=form)

    assert drawn == dict(zip(("format", "mimeType", "data", "width", "height"), (form, *result), strict=True))


def test_mcp_gets_an_image_or_a_text_and_reads_an_image_back() -> None:
    svg, png, txt = (
        run(PlayedEngine(body), "renderPlantUML", plantumlCode=CODE, format=form)
        for form, body in (("svg", b'<svg width="3" height="4"/>'), ("png", PNG), ("txt", b"abc"))
    )
    to_content = BY_NAME["renderPlantUML"].to_content
    assert to_content is not None

    blocks = [to_content(drawn) for drawn in (svg, png, txt)]

    as_svg = base64.b64encode(b'<svg width="3" height="4"/>').decode()
    assert blocks == [
        [{"type": "image", "data": as_svg, "mimeType": "image/svg+xml"}],
        [{"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}],
        [{"type": "text", "text": "abc"}],
    ]
    assert [msgspec.to_builtins(tools.read_content(block)) for (block,) in blocks[:2]] == [svg, png]


@pytest.mark.parametrize(
    ("code", "body", "message", "line"),
    [
        (CODE, b'{"message": "no", "line": 2}', "line 2: no", 2),
        (CODE, b'{"message": "no"}', "no", None),
        ("A -> B", b'{"message": "no", "line": 2}', "line 1: no", 1),
        ("A -> B", b'{"message": "no", "line": 9}', "line 1: no", 1),
    ],
)
def test_what_the_engine_says_against_a_diagram_is_told_with_its_line(
    code: str, body: bytes, message: str, line: int | None
) -> None:
    with pytest.raises(Fault) as caught:
        run(PlayedEngine(body, 400), "renderPlantUML", plantumlCode=code)

    fault = caught.value
    assert (fault.code, fault.name, fault.status, fault.message) == (Code.INVALID_INPUT, "DIAGRAM_ERROR", 400, message)
    assert fault.data == {"line": line}


FRAMES = {
    "@startuml\nA": ("the diagram does not end: write @enduml behind its last line", 2, "A"),
    "A\n@endjson": ("@endjson ends a diagram that has not begun: write @startjson", 2, "@endjson"),
    "@startuml\n@endjson": ("@endjson cannot end what @startuml has begun", 2, "@endjson"),
    "@startuml\n@startuml": ("a second diagram begins before the first has ended: send one diagram at a time", 2,
                             "@startuml"),
}  # fmt: skip


@pytest.mark.parametrize("code", FRAMES)
def test_a_frame_that_is_wrong_is_told_without_an_engine(code: str) -> None:
    message, line, source = FRAMES[code]
    engine = PlayedEngine()

    checked = run(engine, "checkPlantUML", plantumlCode=code)
    fault = refused(engine, "renderPlantUML", plantumlCode=code)

    error = {"line": line, "message": message, "source": source}
    assert checked == {"ok": False, "errors": [error], "diagram": None}
    assert fault == (Code.INVALID_INPUT, "DIAGRAM_ERROR", 400, f"line {line}: {message}")
    assert engine.asked == []


@pytest.mark.parametrize(
    ("body", "checked"),
    [
        (b'{"ok": true, "diagram": "sequence"}', {"ok": True, "errors": [], "diagram": "sequence"}),
        (
            b'{"ok": false, "message": "no", "line": 2, "diagram": "json"}',
            {
                "ok": False,
                "errors": [{"line": 2, "message": "no", "source": "Alice -> Bob: hello"}],
                "diagram": "json",
            },
        ),
        (
            b'{"ok": false, "message": "no"}',
            {"ok": False, "errors": [{"line": None, "message": "no", "source": None}], "diagram": None},
        ),
    ],
)
def test_a_check_is_what_the_engine_says(body: bytes, checked: dict[str, Any]) -> None:
    engine = PlayedEngine(body)

    assert run(engine, "checkPlantUML", plantumlCode=CODE) == checked
    assert engine.asked == [("POST", "/check", CODE.encode())]


@pytest.mark.parametrize("name", ["checkPlantUML", "renderPlantUML", "linkPlantUML", "encodePlantUML"])
@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("", (Code.INVALID_INPUT, "EMPTY_CODE", 400, EMPTY)),
        (" \n\t\ufeff\u3000", (Code.INVALID_INPUT, "EMPTY_CODE", 400, EMPTY)),
        ("x" * 51_201, (Code.INVALID_INPUT, "CODE_TOO_LARGE", 413, TOO_LARGE)),
        ("é" * 25_600 + "x", (Code.INVALID_INPUT, "CODE_TOO_LARGE", 413, TOO_LARGE)),
    ],
)
def test_an_empty_or_a_large_text_is_refused_by_each_tool(name: str, code: str, fault: tuple[Any, ...]) -> None:
    engine = PlayedEngine()

    assert refused(engine, name, plantumlCode=code) == fault
    assert engine.asked == []


def test_a_text_of_50_kilobytes_is_not_too_large() -> None:
    code = "é" * 25_600

    checked = run(PlayedEngine(b'{"ok": true}'), "checkPlantUML", plantumlCode=code)

    assert checked["ok"]
    assert run(None, "encodePlantUML", plantumlCode=code)["format"] == "svg"


@pytest.mark.parametrize(("size", "is_offloaded"), [(32_767, False), (32_768, True)])
def test_a_text_from_32_kib_on_is_encoded_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, size: int, is_offloaded: bool
) -> None:
    threads: list[int] = []

    def noted(_: bytes) -> str:
        threads.append(threading.get_ident())
        return "A"

    monkeypatch.setattr(encoding_tools, "encode_bytes", noted)

    assert run(None, "encodePlantUML", plantumlCode="x" * size) == {
        "url": "https://www.plantuml.com/plantuml/svg/A", "encoded": "A", "format": "svg",
    }  # fmt: skip
    assert (threads != [threading.get_ident()]) is is_offloaded


LONG = "the link has {} characters, and chats, mail programs and some browsers cut links after 2,000"
TOO_LONG = (
    "the link has {} characters, and most servers refuse more than 8,000: share the picture that renderPlantUML draws, "
    "or the text"
)


@pytest.mark.parametrize(
    ("length", "warning"), [(2_000, None), (2_001, LONG), (8_000, LONG), (8_001, TOO_LONG), (9_000, TOO_LONG)]
)
def test_a_link_is_warned_of_behind_2000_and_behind_8000_characters(length: int, warning: str | None) -> None:
    server = "https://" + "a" * (length - len("https:///svg/SrJGjLDm0W0"))

    link = run(None, "linkPlantUML", plantumlCode="A -> B", server=server)

    assert (link["length"], len(link["url"])) == (length, length)
    assert link["warning"] == (warning and warning.format(length))


def test_a_link_leads_to_the_server_of_the_call_or_of_the_settings() -> None:
    tool = BY_NAME["linkPlantUML"]
    settings = msgspec.defstruct("Settings", [("server", str)])("https://own.example/")

    links = [
        tool.run(tool.args("A -> B", form, server), msgspec.structs.replace(QUIET_CONTEXT, settings=own))
        for form, server, own in ((None, None, settings), ("png", "https://a.example", settings), ("uml", None, None))
    ]

    assert [(link.url, link.format) for link in links] == [
        ("https://own.example/svg/SrJGjLDm0W0", "svg"),
        ("https://a.example/png/SrJGjLDm0W0", "png"),
        ("https://www.plantuml.com/plantuml/uml/SrJGjLDm0W0", "uml"),
    ]


def test_what_cannot_be_decoded_is_told_by_the_tool() -> None:
    known = "~0 (deflate), ~1 (zlib), ~g (gzip), ~h (hex) or no mark"
    words = f"encoded cannot be decoded: ~x marks an unknown encoding; write {known}"

    assert refused(None, "decodePlantUML", encoded="~xA") == (Code.INVALID_INPUT, "NOT_DECODABLE", 400, words)
    assert run(None, "decodePlantUML", encoded=ENCODED) == {"plantumlCode": "Bob -> Alice : hello"}


TEXT = (("EMPTY_CODE", 400), ("CODE_TOO_LARGE", 413))
ENGINE = (("DIAGRAM_TOO_SLOW", 422), ("DIAGRAM_TOO_LARGE", 422), ("PICTURE_TOO_LARGE", 422), ("ENGINE_FAILED", 502),
          ("NO_ENGINE", 503), ("ENGINE_BUSY", 503))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "errors", "is_public", "most_bytes"),
    [
        ("encodePlantUML", (*TEXT, ("ENCODING_FAILED", 500), ("INTERNAL_ERROR", 500)), True, 2_097_152),
        ("decodePlantUML", (("NOT_DECODABLE", 400),), False, 2_097_152),
        ("checkPlantUML", (*TEXT, *ENGINE), False, 2_097_152),
        ("renderPlantUML", (*TEXT, ("DIAGRAM_ERROR", 400), *ENGINE), False, 6_291_456),
        ("linkPlantUML", TEXT, False, 2_097_152),
    ],
)
def test_a_tool_states_its_errors_and_its_bounds(
    name: str, errors: tuple[tuple[str, int], ...], is_public: bool, most_bytes: int
) -> None:
    tool = BY_NAME[name]

    assert (tuple(tool.rest_errors), tool.public, tool.max_result_bytes) == (errors, is_public, most_bytes)
    assert tool.validate_in_thread is (name == "renderPlantUML")


SPEC_4 = {
    "INVALID_INPUT": (Code.INVALID_INPUT, "EMPTY_CODE", 400, EMPTY),
    "REQUEST_TOO_LARGE": (Code.INVALID_INPUT, "CODE_TOO_LARGE", 413, TOO_LARGE),
    "NOT_UNICODE": (Code.INVALID_INPUT, "ENCODING_FAILED", 500, "Failed to encode PlantUML code"),
    "NOT_JSON": (Code.INTERNAL_ERROR, "INTERNAL_ERROR", 500, "Internal server error"),
}


@pytest.mark.parametrize("name", SPEC_4)
def test_a_fault_of_a_door_has_the_words_of_spec_4(name: str) -> None:
    fault = BY_NAME["encodePlantUML"].adapt_fault(Fault(Code.INVALID_INPUT, "other words", name=name))

    assert (fault.code, fault.name, fault.status, fault.message) == SPEC_4[name]


def test_any_other_fault_stays_as_it_is_unless_it_has_a_cause() -> None:
    adapt = BY_NAME["encodePlantUML"].adapt_fault
    other, bug = Fault(Code.INTERNAL_ERROR, "no"), Fault(Code.INTERNAL_ERROR, "no")
    caused = Fault(Code.NOT_FOUND, "no")
    bug.__cause__ = caused.__cause__ = cause = ValueError("hunter2")

    failed = adapt(bug)

    assert (adapt(other), adapt(caused)) == (other, caused)
    assert (failed.code, failed.name, failed.status) == (Code.INTERNAL_ERROR, "ENCODING_FAILED", 500)
    assert (failed.message, failed.__cause__) == ("Failed to encode PlantUML code", cause)


@pytest.mark.parametrize(
    ("word", "form", "dark"),
    [("svg", "svg", False), ("png", "png", False), ("txt", "txt", False), ("dsvg", "svg", True), ("dpng", "png", True)],
)
def test_an_address_names_the_format_and_the_colours(word: str, form: str, dark: bool) -> None:
    arguments = PAGES[0].arguments(f"{word}/{ENCODED}")

    assert arguments == {"plantumlCode": "Bob -> Alice : hello", "format": form, "dark": dark}


@pytest.mark.parametrize("rest", ["", "svg", "svg/", "pdf/" + ENCODED, "dtxt/" + ENCODED, "x" * 101])
def test_an_address_of_nothing_is_not_found(rest: str) -> None:
    with pytest.raises(Fault) as caught:
        PAGES[0].arguments(rest)

    where = f"Nothing is drawn at '/render/{'x' * 100 if len(rest) > 100 else rest}'"
    assert (caught.value.code, caught.value.message) == (
        Code.NOT_FOUND, f"{where}; write /render/svg/ENCODED, or png or txt for svg",
    )  # fmt: skip


def test_an_address_that_cannot_be_decoded_says_why() -> None:
    with pytest.raises(Fault) as caught:
        PAGES[0].arguments("svg/~xA")

    fault = caught.value
    assert (fault.code, fault.name, fault.status) == (Code.INVALID_INPUT, "NOT_DECODABLE", 400)
    assert fault.message.startswith("the address cannot be decoded: ~x marks an unknown encoding")


@pytest.mark.parametrize(
    ("form", "mime_type", "data", "body", "content_type"),
    [
        ("svg", "image/svg+xml", "<svg/>", b"<svg/>", "image/svg+xml"),
        ("png", "image/png", base64.b64encode(PNG).decode(), PNG, "image/png"),
        ("txt", "text/plain", "│", "│".encode(), "text/plain; charset=utf-8"),
    ],
)
def test_a_page_is_the_bytes_of_the_picture_for_a_day(
    form: str, mime_type: str, data: str, body: bytes, content_type: str
) -> None:
    page = PAGES[0].content({"format": form, "mimeType": mime_type, "data": data})

    assert (page.body, page.content_type, page.max_age_s) == (body, content_type, 86_400)
