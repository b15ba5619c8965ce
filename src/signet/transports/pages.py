"""The pages that toolsets offer: a GET is one call of a tool through the one road, and its result is shown as bytes."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from signet.kernel.errors import Fault
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.toolset import PageSpec

from .messages import JSON, Answer, Fields, Request, Response
from .rest import refuse, to_response, wrong_method

__all__ = ["PageDoor"]

SAFE: Final[Fields] = (
    (b"x-content-type-options", b"nosniff"),
    # A picture that is opened by itself runs nothing and fetches nothing.
    (b"content-security-policy", b"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
)


class PageDoor:
    """Answers the paths of one `PageSpec`."""

    def __init__(self, pipeline: Pipeline, spec: PageSpec, *, secured: bool = False) -> None:
        self._pipeline = pipeline
        self._spec = spec
        self._door = Door("http", spec.prefix, "page", by_name=True)
        # What needs a token may not be kept by a proxy, which would hand it to anybody.
        self._cache = "private" if secured else "public"
        tool = pipeline.toolbox.named(spec.tool)
        self.prefix = spec.prefix
        self.public = tool is not None and tool.public
        """Whether any page may read it."""

    def answer(self, request: Request) -> Answer:
        """Return the page of a path."""
        if request.method not in {"GET", "HEAD"}:
            return refuse(wrong_method("GET"), (JSON, (b"allow", b"GET, HEAD, OPTIONS")))
        try:
            arguments = self._spec.arguments(request.path.removeprefix(self.prefix))
        except Fault as fault:
            return refuse(fault)
        caller = request.caller
        call = Call(self._spec.tool, arguments, QUIET_CONTEXT, self._door, caller, trace=caller.trace)
        outcome = self._pipeline.run(call)
        if isinstance(outcome, Outcome):
            return self._show(request, outcome)
        request.call = call
        return self._await(request, outcome)

    async def _await(self, request: Request, pending: Coroutine[Any, Any, Outcome]) -> Response:
        return self._show(request, await pending)

    def _show(self, request: Request, outcome: Outcome) -> Response:
        request.outcome = outcome
        if outcome.fault is not None:
            return to_response(outcome.fault)
        page = self._spec.content(outcome.result)
        cache = f"{self._cache}, max-age={page.max_age_s}" if page.max_age_s else "no-cache"
        headers = ((b"content-type", page.content_type.encode()), (b"cache-control", cache.encode()), *SAFE)
        cors: Fields = ((b"access-control-allow-origin", b"*"),) if self.public else ()
        return Response(200, page.body, headers + cors)
