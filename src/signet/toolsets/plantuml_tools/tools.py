"""The tools around PlantUML diagrams."""

from __future__ import annotations

import base64
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from signet.engines.picture import DiagramError, Size, size_of
from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context, tool
from signet.kernel.upstream import UpstreamRequest
from signet.toolsets.plantuml.encoding import encode
from signet.toolsets.plantuml.tools import BLANK, MAX_CODE_BYTES

from .decoding import decode_any
from .source import find_diagram, lines_of

__all__ = ["TOOLS", "read_content"]

MAX_RESULT_BYTES: Final = 6_291_456
"""The largest result: a picture of 4 MB in base64, with room for the rest."""
MIME_TYPES: Final = {"svg": "image/svg+xml", "png": "image/png", "txt": "text/plain"}
PUBLIC_SERVER: Final = "https://www.plantuml.com/plantuml"
LONG_LINK_CHARS: Final = 2_000
TOO_LONG_LINK_CHARS: Final = 8_000
EXAMPLE: Final = "@startuml\nAlice -> Bob: hello\n@enduml"
BAD_REQUEST: Final = 400

TEXT_ERRORS: Final = (
    ("EMPTY_CODE", 400),
    ("CODE_TOO_LARGE", 413),
)
"""The REST errors of a tool that takes a diagram."""
ENGINE_ERRORS: Final = (
    ("DIAGRAM_TOO_SLOW", 422),
    ("DIAGRAM_TOO_LARGE", 422),
    ("PICTURE_TOO_LARGE", 422),
    ("ENGINE_FAILED", 502),
    ("NO_ENGINE", 503),
    ("ENGINE_BUSY", 503),
)
"""The REST errors of a tool that has a diagram drawn."""


class DecodeIn(Struct, frozen=True):
    """What to decode."""

    encoded: str


class DecodeOut(Struct, frozen=True, rename="camel"):
    """The diagram's text."""

    plantuml_code: str


class CheckIn(Struct, frozen=True, rename="camel"):
    """The diagram to check."""

    plantuml_code: str


class CheckError(Struct, frozen=True):
    """One thing that is wrong."""

    line: int | None
    message: str
    source: str | None


class CheckOut(Struct, frozen=True):
    """Whether the diagram can be drawn."""

    ok: bool
    errors: tuple[CheckError, ...]
    diagram: str | None


class RenderIn(Struct, frozen=True, rename="camel"):
    """The diagram to draw."""

    plantuml_code: str
    format: Literal["svg", "png", "txt"] | None = None
    dark: bool | None = None


class RenderOut(Struct, frozen=True, rename="camel"):
    """The picture."""

    format: Literal["svg", "png", "txt"]
    mime_type: str
    data: str
    width: int
    height: int


class LinkIn(Struct, frozen=True, rename="camel"):
    """The diagram to link to."""

    plantuml_code: str
    format: Literal["svg", "png", "txt", "uml"] | None = None
    server: str | None = None


class LinkOut(Struct, frozen=True):
    """The diagram's link."""

    url: str
    encoded: str
    format: str
    length: int
    warning: str | None


class EngineError(Struct, frozen=True):
    """What the engine says against a diagram."""

    message: str
    line: int | None = None


class EngineCheck(Struct, frozen=True):
    """What the engine says to a check."""

    ok: bool
    message: str = ""
    line: int | None = None
    diagram: str | None = None


@tool(
    name="decodePlantUML",
    slug="plantuml.decode",
    title="Read a PlantUML link",
    example={"encoded": "https://www.plantuml.com/plantuml/svg/SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80"},
    rest_errors=(("NOT_DECODABLE", 400),),
)
def decode_plantuml(args: DecodeIn, ctx: Context) -> DecodeOut:
    """Returns the PlantUML text of a diagram's link, or of the encoded part alone.

    Use it to read or change a diagram of which only the link is known; then check the changed text with checkPlantUML
    and link to it with linkPlantUML.
    """
    try:
        return DecodeOut(decode_any(args.encoded))
    except ValueError as error:
        message = f"encoded cannot be decoded: {error}"
        raise Fault(Code.INVALID_INPUT, message, name="NOT_DECODABLE") from None


@tool(
    name="checkPlantUML",
    slug="plantuml.check",
    title="Check a PlantUML diagram",
    example={"plantumlCode": EXAMPLE},
    rest_errors=(*TEXT_ERRORS, *ENGINE_ERRORS),
)
async def check_plantuml(args: CheckIn, ctx: Context) -> CheckOut:
    """Checks whether PlantUML text can be drawn, and names the line of the first error.

    Use it after writing or changing a diagram and before linking to it: encodePlantUML and linkPlantUML take any text.
    PlantUML accepts some mistakes without a word, such as an if without endif.
    """
    _check_size(args.plantuml_code)
    lines = lines_of(args.plantuml_code)
    found = find_diagram(args.plantuml_code)
    if isinstance(found, DiagramError):
        return CheckOut(ok=False, errors=(_told(found, lines),), diagram=None)
    response = await ctx.send(UpstreamRequest("/check", "POST", body=found.text.encode()))
    checked = msgspec.json.decode(response.body, type=EngineCheck)
    if checked.ok:
        return CheckOut(ok=True, errors=(), diagram=checked.diagram)
    error = found.place(DiagramError(checked.message, checked.line), len(lines))
    return CheckOut(ok=False, errors=(_told(error, lines),), diagram=checked.diagram)


def _to_content(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a picture as an image, and a drawing of characters as text."""
    if result["format"] == "txt":
        return [{"type": "text", "text": result["data"]}]
    data = result["data"]
    encoded = data if result["format"] == "png" else base64.b64encode(data.encode()).decode()
    return [{"type": "image", "data": encoded, "mimeType": result["mimeType"]}]


def read_content(block: dict[str, Any]) -> RenderOut:
    """Return the picture of an image that MCP was given: the other way round."""
    form = next(form for form, mime_type in MIME_TYPES.items() if mime_type == block["mimeType"])
    return _picture(msgspec.convert(form, Literal["svg", "png", "txt"]), base64.b64decode(block["data"]))


@tool(
    name="renderPlantUML",
    slug="plantuml.render",
    title="Draw a PlantUML diagram",
    example={"plantumlCode": EXAMPLE, "format": "svg"},
    max_result_bytes=MAX_RESULT_BYTES,
    validate_in_thread=True,
    to_content=_to_content,
    rest_errors=(*TEXT_ERRORS, ("DIAGRAM_ERROR", 400), *ENGINE_ERRORS),
)
async def render_plantuml(args: RenderIn, ctx: Context) -> RenderOut:
    """Draws PlantUML text as an SVG or PNG picture, or with characters (txt).

    It is drawn on this machine: the text is sent to no other server unless one was configured. Includes of files and
    addresses are refused. A broken diagram is answered with the line of its error. To share a diagram, use
    linkPlantUML.
    """
    _check_size(args.plantuml_code)
    lines = lines_of(args.plantuml_code)
    found = find_diagram(args.plantuml_code)
    if isinstance(found, DiagramError):
        raise _broken(found)
    form = args.format or "svg"
    # Characters are neither light nor dark.
    target = f"/{form}?dark=1" if args.dark and form != "txt" else f"/{form}"
    response = await ctx.send(UpstreamRequest(target, "POST", body=found.text.encode()))
    if response.status == BAD_REQUEST:
        error = msgspec.json.decode(response.body, type=EngineError)
        raise _broken(found.place(DiagramError(error.message, error.line), len(lines)))
    return _picture(form, response.body)


@tool(
    name="linkPlantUML",
    slug="plantuml.link",
    title="Link to a PlantUML diagram",
    example={"plantumlCode": EXAMPLE, "format": "png"},
    rest_errors=TEXT_ERRORS,
)
def link_plantuml(args: LinkIn, ctx: Context) -> LinkOut:
    """Makes a link to a diagram on a PlantUML server of your choice, as svg, png, txt or the server's editor (uml).

    It warns of links that are too long to be shared. The text is in the link itself: whoever has the link has the text.
    Check it with checkPlantUML first.
    """
    _check_size(args.plantuml_code)
    form = args.format or "svg"
    base = args.server or getattr(ctx.settings, "server", None) or PUBLIC_SERVER
    encoded = encode(args.plantuml_code)
    url = f"{base.rstrip('/')}/{form}/{encoded}"
    return LinkOut(url, encoded, form, len(url), _warning(len(url)))


def _warning(length: int) -> str | None:
    if length > TOO_LONG_LINK_CHARS:
        return (
            f"the link has {length} characters, and most servers refuse more than 8,000: share the picture that "
            "renderPlantUML draws, or the text"
        )
    if length > LONG_LINK_CHARS:
        return f"the link has {length} characters, and chats, mail programs and some browsers cut links after 2,000"
    return None


def _check_size(code: str) -> None:
    """Raise a fault for a text that is empty, or larger than a diagram may be."""
    if not code.strip(BLANK):
        raise Fault(Code.INVALID_INPUT, "plantumlCode is required and cannot be empty", name="EMPTY_CODE")
    if len(code.encode()) > MAX_CODE_BYTES:
        message = "PlantUML code exceeds maximum size of 50KB"
        raise Fault(Code.INVALID_INPUT, message, name="CODE_TOO_LARGE", status=413)


def _told(error: DiagramError, lines: list[str]) -> CheckError:
    return CheckError(error.line, error.message, lines[error.line - 1] if error.line else None)


def _broken(error: DiagramError) -> Fault:
    message = f"line {error.line}: {error.message}" if error.line else error.message
    return Fault(Code.INVALID_INPUT, message, name="DIAGRAM_ERROR", data={"line": error.line})


def _picture(form: Literal["svg", "png", "txt"], body: bytes) -> RenderOut:
    if form == "png":
        # The first chunk of a PNG holds its size.
        size = Size(int.from_bytes(body[16:20], "big"), int.from_bytes(body[20:24], "big"))
        return RenderOut(form, MIME_TYPES[form], base64.b64encode(body).decode(), size.width, size.height)
    text = body.decode(errors="replace")
    if form == "svg":
        size = size_of(text)
    else:
        rows = text.splitlines()
        size = Size(max(map(len, rows), default=0), len(rows))
    return RenderOut(form, MIME_TYPES[form], text, size.width, size.height)


TOOLS: Final = (decode_plantuml, check_plantuml, render_plantuml, link_plantuml)
