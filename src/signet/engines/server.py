"""A PlantUML server as an engine: any of them, reached by the paths that all share, and another Signet's `/render`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse

from .picture import DiagramError, find_error, is_unsupported, lacks_graphviz
from .renderer import Form, failed, too_large

__all__ = ["Server"]

OK: Final = 200
BAD: Final = frozenset({400, 422})
LONG: Final = frozenset({413, 414, 431})
_LINE: Final = re.compile(r"line (\d+): (.*)", re.DOTALL)


class Server:
    """A PlantUML server."""

    name = "server"
    forms: tuple[Form, ...] = ("svg", "png", "txt")
    draws_dark = True

    def __init__(self, upstream: Upstream, encode: Callable[[str], str]) -> None:
        self._upstream = upstream
        self._encode = encode

    async def draw(self, source: str, form: Form, *, dark: bool) -> bytes | DiagramError:
        """Return the picture of a diagram, or what is wrong with it."""
        encoded = self._encode(source)
        # Servers draw an error into any picture; only an SVG can be read.
        drawn = await self._get("svg", encoded, dark=dark)
        if isinstance(drawn, DiagramError) or form == "svg":
            return drawn
        return await self._get(form, encoded, dark=dark)

    async def close(self) -> None:
        """Do nothing: the upstream is closed by its owner."""

    async def _get(self, form: Form, encoded: str, *, dark: bool) -> bytes | DiagramError:
        word = f"d{form}" if dark and form != "txt" else form
        response = await self._upstream.send(UpstreamRequest(f"/{word}/{encoded}"))
        if response.cut or response.broken:
            raise failed(f"the PlantUML server's answer is not whole ({response.broken or 'it is too large'})")
        if response.status in LONG:
            raise too_large("link", "the PlantUML server takes no address as long as this diagram's")
        text = response.body.decode(errors="replace") if form == "svg" else ""
        if response.status == OK or text.lstrip().startswith(("<svg", "<?xml")):
            error = find_error(text)
            if error is None and is_unsupported(text):
                error = DiagramError("the PlantUML server does not know this kind of diagram", unsupported=True)
            if error is None and lacks_graphviz(text):
                error = DiagramError("the PlantUML server lacks Graphviz, which this diagram needs", unsupported=True)
            if error is None and response.status in BAD:
                error = DiagramError("the PlantUML server finds an error in the diagram, and does not say where")
            if error is not None or response.status == OK:
                return error or response.body
        if response.status in BAD and (error := _read_json(response)):
            return error
        raise failed(f"the PlantUML server answered with status {response.status}")


def _read_json(response: UpstreamResponse) -> DiagramError | None:
    """Return the error in the answer of another Signet."""
    try:
        body: Any = msgspec.json.decode(response.body)
        message = str(body["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    place = _LINE.fullmatch(message)
    return DiagramError(place[2], int(place[1])) if place else DiagramError(message)
