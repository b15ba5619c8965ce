"""A session for commands, which block: the one client, on an event loop in a thread of its own.

command ── BlockingSession ──▶ ClientSession ──▶ Link ──▶ the server
           every wait has an end                 the bytes of each answer have a bound
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.wire import ProtocolError, encode
from signet.system.loop_thread import LoopThread

from .link import MAX_BYTES, Link, LinkError, Outgoing, too_long
from .lists import list_all, take_snapshot
from .messages import error_object, members, value_of
from .negotiation import Introduction, introduce
from .session import Answer, ClientSession, Hooks, LostError, ServerRequest
from .snapshot import Snapshot

__all__ = ["BlockingSession", "ListedTool", "with_last_words"]

T = TypeVar("T")

MAX_WORDS_CHARS: Final = 200
LATE: Final = "it does not answer in time"
PROBE_SHARE: Final = 0.25
"""The part of the time in which a server must answer the first request of one era before it is asked in the other."""


class ListedTool(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as a server lists it."""

    name: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    title: str | None = None
    description: str | None = None


class _Bounded:
    """A link whose answers have a bound: what comes between two requests may not be longer."""

    def __init__(self, inner: Link, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = self._left = max_bytes
        self.error: Exception | None = None
        self.cancel = inner.cancel
        self.close = inner.close

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> None:
        """Open the inner link; raise what it raises."""

        def take(text: bytes) -> None:
            self._left -= len(text)
            if self._left >= 0:
                receive(text)
            elif self.error is None:
                self.error = too_long(self._max_bytes)
                lost(str(self.error))

        await self._inner.open(take, lost, unreadable)

    def send(self, message: Outgoing) -> None:
        """Send a message; a request may be answered at length again."""
        if message.id is not None:
            self._left = self._max_bytes
        self._inner.send(message)


class BlockingSession:
    """A session with one server; it begins with the first request."""

    def __init__(
        self, make_link: Callable[[], Link], how: Introduction, *, timeout_s: float, max_bytes: int = MAX_BYTES
    ) -> None:
        """Speak over links, of which a server that ends at a request that it does not know gets another.

        `timeout_s` is the time for an answer, of the beginning too.
        """
        self._make_link = make_link
        self._how = msgspec.structs.replace(how, start_s=2 * timeout_s, probe_s=PROBE_SHARE * timeout_s)
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._thread: LoopThread | None = None
        self._session: ClientSession | None = None
        self._link: _Bounded | None = None
        self._inner: Link | None = None

    @property
    def is_open(self) -> bool:
        """Whether the server has begun as an MCP server does."""
        return self._session is not None

    def request(self, method: str, params: dict[str, Any]) -> Raw:
        """Return the result of a request as the server wrote it.

        Raises:
            ProtocolError: the server answers with an error.
            OSError, EOFError: no answer came; TimeoutError if it took too long.
            ValueError: what came is no answer, or is too long.
        """
        answer = self._run(self._ask(method, Raw(encode(params))))
        if answer.result is None:
            raise self._refused(answer)
        return answer.result

    def list_tools(self) -> list[ListedTool]:
        """Return the tools of all pages of `tools/list`; raise what `request` raises."""

        async def ask(method: str, params: Raw) -> Answer:
            answer = await self._ask(method, params)
            if answer.result is None:
                raise self._refused(answer)
            if "tools" not in members(answer.result):
                raise ValueError("its answer has no list of tools")
            return answer

        return [msgspec.json.decode(entry, type=ListedTool) for entry in self._run(list_all("tool", ask))]

    def snapshot(self) -> Snapshot:
        """Return everything that the server says about itself, within the time of one answer."""

        async def take() -> Snapshot:
            return await take_snapshot(await self._opened(), self._ask, self._timeout_s)

        return self._run(take())

    def close(self) -> None:
        """End the session, and the server if it is a child."""
        if self._thread is not None:
            thread, self._thread = self._thread, None
            if self._session is not None:
                thread.run(self._session.close())
            thread.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work on the thread of the session."""
        if self._thread is None:
            self._thread = LoopThread()
        try:
            return self._thread.run(work)
        except TimeoutError:
            raise TimeoutError(LATE) from None
        except LostError as error:
            raise self._error() or EOFError(str(error)) from None
        except LinkError as error:
            raise self._error() or OSError(str(error)) from None

    async def _opened(self) -> ClientSession:
        if self._session is None:
            async with asyncio.timeout(self._timeout_s):
                self._session = await introduce(self._made, self._how)
        return self._session

    def _made(self) -> ClientSession:
        self._inner = self._make_link()
        self._link = _Bounded(self._inner, self._max_bytes)
        return ClientSession(self._link, Hooks(notified=_ignore, asked=_refuse, lost=_ignore, log=_ignore))

    async def _ask(self, method: str, params: Raw) -> Answer:
        session = await self._opened()
        meta = session.modern_meta({}) if session.modern else None
        pending = session.start(method, params, meta=meta)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await pending.reply
        except BaseException:
            session.forget(pending)
            raise

    def _error(self) -> Exception | None:
        """Return what went wrong with the link, if that is why there is no answer."""
        error = self._link.error if self._link is not None else None
        return error or getattr(self._inner, "error", None)

    def _refused(self, answer: Answer) -> Exception:
        error = self._error()
        if error is not None:
            return error
        parts = members(answer.error)
        code, message = value_of(parts.get("code")), value_of(parts.get("message"))
        return ProtocolError(code, str(message), value_of(parts.get("data")))


def with_last_words(error: Exception, said: Sequence[str]) -> str:
    """Return why a server failed, with what it wrote to standard error last."""
    why = str(error) or type(error).__name__
    words = said[-1][:MAX_WORDS_CHARS] if said else ""
    return f"{why}; it said: {words}" if words and words not in why else why


def _ignore(*_: object, **__: object) -> None:
    """Do nothing."""


def _refuse(question: ServerRequest) -> None:
    with suppress(RuntimeError):
        question.answer(error=error_object(METHOD_NOT_FOUND, "this client has no such method"))
