"""`GET /render/{format}/{encoded}`: a picture as bytes, so that Signet can stand in for a PlantUML server."""

from __future__ import annotations

import base64
from typing import Any, Final

from signet.kernel.errors import Code, Fault
from signet.kernel.toolset import PageContent, PageSpec

from .decoding import decode_any

__all__ = ["PAGES"]

FORMATS: Final = {"svg": False, "png": False, "txt": False, "dsvg": True, "dpng": True}
"""The words of PlantUML's servers, and whether each stands for a dark picture."""
DAY_S: Final = 86_400


def _arguments(rest: str) -> dict[str, Any]:
    """Return the arguments of renderPlantUML for the end of a path, such as `svg/SyfFKj2rKt3CoKnELR1Io4ZDoSa70000`."""
    form, _, encoded = rest.partition("/")
    if form not in FORMATS or not encoded:
        message = f"Nothing is drawn at '/render/{rest[:100]}'; write /render/svg/ENCODED, or png or txt for svg"
        raise Fault(Code.NOT_FOUND, message)
    try:
        code = decode_any(encoded)
    except ValueError as error:
        raise Fault(Code.INVALID_INPUT, f"the address cannot be decoded: {error}", name="NOT_DECODABLE") from None
    return {"plantumlCode": code, "format": form.removeprefix("d"), "dark": FORMATS[form]}


def _content(result: dict[str, Any]) -> PageContent:
    data = result["data"]
    body = base64.b64decode(data) if result["format"] == "png" else data.encode()
    charset = "; charset=utf-8" if result["format"] == "txt" else ""
    return PageContent(body, result["mimeType"] + charset, max_age_s=DAY_S)


PAGES: Final = (PageSpec(prefix="/render/", tool="renderPlantUML", arguments=_arguments, content=_content),)
