"""The scripts of the diagram engine below `/-/engine/`, for the worker in which the page draws; read when asked for."""

from __future__ import annotations

import threading
from functools import partial
from typing import Final

from signet.engines.scripts import SCRIPTS, read_script
from signet.kernel.errors import Code, Fault
from signet.system.advice import advise
from signet.transports.compression import accepts_gzip, compressed
from signet.transports.messages import Answer, Request, Response
from signet.transports.rest import wrong_method
from signet.transports.routes import Route

from .page_files import FOR_OWN_PAGES, file_response
from .twin import refuse_privately
from .work import work

__all__ = ["ENGINE", "EngineFiles"]

ENGINE: Final = "/-/engine/"


class EngineFiles:
    """Serves the scripts. A worker cannot send a token with them, and they hold nothing of the server's."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._reading = threading.Lock()

    def find(self, path: str) -> Route | None:
        """Return the route of a script, or None."""
        name = path.removeprefix(ENGINE)
        if name == path or name not in SCRIPTS:
            return None
        return Route(FOR_OWN_PAGES, partial(self._answer, name), refuse_privately)

    def _answer(self, name: str, request: Request) -> Answer:
        if request.method not in {"GET", "HEAD"}:
            return refuse_privately(wrong_method("GET"), ((b"allow", b"GET, HEAD, OPTIONS"),))
        return self._await(name, request)

    async def _await(self, name: str, request: Request) -> Response:
        try:
            return await work(self._respond, name, request)
        except Fault as fault:
            return refuse_privately(fault)

    def _respond(self, name: str, request: Request) -> Response:
        """Return a script; runs in a thread, since reading and compressing megabytes takes a second."""
        with self._reading:
            if name not in self._kept:
                from signet.engines.assets import find_assets

                assets = find_assets()
                if assets is None:
                    why = f"The diagram engine is not installed: {advise('doctor', here=False)} shows how to install it"
                    return refuse_privately(Fault(Code.NOT_FOUND, why))
                self._kept[name] = read_script(assets, name)
            response = file_response(request, self._kept[name], name)
            if response.body and accepts_gzip(request.headers):
                # Its compressed form is kept from here on, so that the event loop finds it there.
                compressed(response)
        return response
