"""Faults to order: all the ways in which an upstream can fail its client, by name.

An order is `{"fault": name, "match": part of the raw target or null, "times": n or null}` with the parameters
below beside them. The real answer is what the sandbox would have sent. Faults that change it keep its status
unless the order gives one.

| fault | parameters and their defaults | what the client gets |
|---|---|---|
| `slow` | `delay_s` 1.0 | the real answer, that much later |
| `drip` | `rate` 1.0 | the head at once, then that many bytes of body a second, one by one |
| `hang` | | nothing, until it leaves |
| `status` | `status` 500, `detail`, `headers` {} | application/problem+json under that status |
| `html` | `status` 502 | a page of text/html, under 200 too if so told |
| `answer` | `status` 200, `type` "application/json", `body` "", `headers` {} | exactly that; `type` null sends none |
| `wrong_type` | `type` "text/plain", `status` null | the real body under another content type |
| `no_type` | `status` null | the real body without a content type |
| `invalid_utf8` | `status` null | the real body with bytes in its first string that are no UTF-8 |
| `not_json` | `status` null | application/json whose body is none |
| `empty` | `status` null | application/json with no body at all |
| `cut` | `at` null (half), `status` null | the real length promised, that many bytes, then the end |
| `cut_chunked` | `at` null (half), `status` null | a chunk of the real length begun, that many bytes of it, the end |
| `short_length` | `by` 1, `status` null | a length short by that much, so that whole HTTP holds cut JSON |
| `huge` | `size` 2097152, `chunked` false, `status` null | the real JSON object, padded to that many bytes |
| `chunked` | `size` 1024 | the real answer in chunks of that size, which is no fault |
| `redirect` | `hops` 1, `status` 302 | that many redirects at this origin, then the real answer |
| `redirect_loop` | `status` 302 | redirects at this origin without end |
| `redirect_to` | `location`, `status` 302 | a redirect to a URL as it is given |
| `no_location` | `status` 302 | a redirect that does not say where |
| `reset` | | an RST |
| `close` | | the end of the connection, unanswered |
| `garbage` | | bytes that are not HTTP, then the end |

A chain and a loop carry their state in their targets (`/_hop/…`, `/_loop/…`), which no order befalls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

import msgspec

from signet.kernel.errors import Code, Fault

from .body_faults import Chunked, Cut, CutChunked, Empty, Huge, InvalidUtf8, NotJson, NoType, ShortLength, WrongType
from .exchange import ResponseWriter
from .fault_rule import FaultRule, Status
from .message import SandboxResponse, problem_of
from .redirect_faults import NoLocation, Redirect, RedirectLoop, RedirectTo

__all__ = ["FAULTS", "read_fault_rule"]

NOISE: Final = b"\x16\x03\x01\x00\x2a\x02 this is not HTTP \xff\xfe\x00\r\n\r\n"
PAGE: Final = (
    "<!DOCTYPE html><html><head><title>{0}</title></head><body><h1>{0}</h1>"
    "<p>The sandbox was told to send this page.</p></body></html>"
)

Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class Slow(FaultRule, frozen=True, tag="slow"):
    """The real answer, late."""

    delay_s: Seconds = 1.0

    async def play(self, exchange: ResponseWriter) -> None:
        """Wait, then answer."""
        await exchange.pause(self.delay_s)
        await exchange.send(exchange.real())


class Drip(FaultRule, frozen=True, tag="drip"):
    """The real answer, a byte at a time."""

    rate: Rate = 1.0

    async def play(self, exchange: ResponseWriter) -> None:
        """Send the head, and each byte after a pause."""
        real = exchange.real()
        await exchange.begin(msgspec.structs.replace(real, chunked=False), len(real.body))
        for place in range(len(real.body)):
            await exchange.pause(1 / self.rate)
            await exchange.write(real.body[place : place + 1])


class Hang(FaultRule, frozen=True, tag="hang"):
    """No answer, ever."""

    async def play(self, exchange: ResponseWriter) -> None:
        """Wait for the peer to give up."""
        await exchange.pause(None)


class FailingStatus(FaultRule, frozen=True, tag="status"):
    """A status as RFC 7807 has it."""

    status: Status = 500
    detail: str = "the sandbox was told to fail"
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    async def play(self, exchange: ResponseWriter) -> None:
        """Send the problem."""
        await exchange.send(problem_of(self.status, self.detail, self.headers))


class Html(FaultRule, frozen=True, tag="html"):
    """A page where JSON was asked for."""

    status: Status = 502

    async def play(self, exchange: ResponseWriter) -> None:
        """Send the page."""
        page = PAGE.format(f"Sandbox says {self.status}").encode()
        await exchange.send(SandboxResponse(self.status, page, "text/html; charset=utf-8"))


class CannedResponse(FaultRule, frozen=True, tag="answer"):
    """An answer as it is given."""

    status: Status = 200
    type: str | None = "application/json"
    body: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    async def play(self, exchange: ResponseWriter) -> None:
        """Send it."""
        await exchange.send(SandboxResponse(self.status, self.body.encode(), self.type, self.headers))


class Reset(FaultRule, frozen=True, tag="reset"):
    """A connection torn down."""

    async def play(self, exchange: ResponseWriter) -> None:
        """Tear it down."""
        exchange.reset()


class Close(FaultRule, frozen=True, tag="close"):
    """A connection closed."""

    async def play(self, exchange: ResponseWriter) -> None:
        """Close it."""
        exchange.drop()


class Garbage(FaultRule, frozen=True, tag="garbage"):
    """Noise."""

    async def play(self, exchange: ResponseWriter) -> None:
        """Make it, and leave."""
        exchange.drop()
        await exchange.frame(NOISE)


AnyFault = (
    Slow | Drip | Hang | FailingStatus | Html | CannedResponse | WrongType | NoType | InvalidUtf8 | NotJson | Empty
    | Cut | CutChunked | ShortLength | Huge | Chunked | Redirect | RedirectLoop | RedirectTo | NoLocation
    | Reset | Close | Garbage
)  # fmt: skip
FAULTS: Final[tuple[str, ...]] = tuple(str(fault.__struct_config__.tag) for fault in get_args(AnyFault))


def read_fault_rule(value: Mapping[str, Any]) -> FaultRule:
    """Read an order.

    Raises:
        Fault: there is no such fault, or it takes no such parameter.
    """
    if (name := value.get("fault")) not in FAULTS:
        raise Fault(Code.INVALID_INPUT, f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    try:
        order: FaultRule = msgspec.convert(value, AnyFault)
    except msgspec.ValidationError as error:
        raise Fault(Code.INVALID_INPUT, f"{name}: {error}") from None
    return order
