"""What the page asks for first: which server this is, who asks, and what there is to see."""

from __future__ import annotations

from contextlib import suppress

from signet import __version__
from signet.kernel.errors import Fault

from .parts import ConsoleContext
from .twin import Shown, Twin, Visit

__all__ = ["twins"]


class ConsoleCaller(Shown, frozen=True):
    """Who asks."""

    name: str
    """The principal's name; empty where nobody has to say."""
    may_call: bool
    """Whether tools may be called; otherwise the console is for reading."""
    tools: list[str] | None
    """The names of the tools that may be called; null stands for all."""


class ServerAbout(Shown, frozen=True):
    """The server, and what it can show."""

    name: str
    version: str
    root: str
    """The URL under which clients reach the server, where a public one is set."""
    caller: ConsoleCaller
    keeps_journal: bool
    is_recording: bool
    """Whether calls are kept with their arguments and results."""
    is_replay: bool
    is_sandbox: bool
    validation: str
    workers: int


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of the page itself."""

    async def about(visit: Visit) -> ServerAbout:
        settings = parts.settings
        return ServerAbout(
            name="signet",
            version=__version__,
            root=parts.root,
            caller=await _caller(parts, visit),
            keeps_journal=settings.keeps_journal,
            is_recording=bool(settings.record),
            is_replay=bool(settings.replay),
            is_sandbox=settings.sandbox,
            validation=settings.validation,
            workers=settings.workers,
        )

    return (Twin(path="/-/about", summary="Tell which server this is, and who asks", answer=ServerAbout, run=about),)


async def _caller(parts: ConsoleContext, visit: Visit) -> ConsoleCaller:
    principal = visit.request.caller.principal
    if principal is None or principal.may_call_all:
        return ConsoleCaller(principal.name if principal is not None else "", may_call=True, tools=None)
    if parts.server.relay is not None:
        # Which tools the token allows is known when the wrapped servers are; one that does not start has none.
        with suppress(Fault):
            await parts.server.relay.ready()
    allowed = [tool.name for tool in parts.server.pipeline.toolbox if principal.may_call(tool.slug)]
    return ConsoleCaller(principal.name, may_call=bool(allowed), tools=allowed)
