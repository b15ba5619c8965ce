"""Faults that tests can order: the ways in which an upstream can fail its client, by name.

A fault rule is `{"fault": name, "match": part of the raw target or null, "times": n or null}` with the parameters
below beside them. The normal response is the response without a fault. Faults that change it keep its status unless
the rule gives another one.

| fault | parameters and their defaults | what the client gets |
|---|---|---|
| `slow` | `delay_s` 1.0 | the normal response, that many seconds later |
| `drip` | `rate` 1.0 | the head at once, then that many bytes of body a second, one by one |
| `hang` | | nothing, until it leaves |
| `status` | `status` 500, `detail`, `headers` {} | application/problem+json with that status |
| `html` | `status` 502 | a text/html page, also with status 200 if ordered |
| `answer` | `status` 200, `type` "application/json", `body` "", `headers` {} | exactly that; `type` null sends none |
| `wrong_type` | `type` "text/plain", `status` null | the normal body under another content type |
| `no_type` | `status` null | the normal body without a content type |
| `invalid_utf8` | `status` null | the normal body with bytes in its first string that are not UTF-8 |
| `not_json` | `status` null | application/json with a body that is not JSON |
| `empty` | `status` null | application/json with an empty body |
| `cut` | `at` null (half), `status` null | the full length declared, that many bytes, then the end |
| `cut_chunked` | `at` null (half), `status` null | a chunk of the full length begun, that many bytes of it, the end |
| `short_length` | `by` 1, `status` null | a length short by that much, so that valid HTTP carries truncated JSON |
| `huge` | `size` 2097152, `chunked` false, `status` null | the normal JSON object, padded to that many bytes |
| `chunked` | `size` 1024 | the normal response in chunks of that size, which is valid HTTP |
| `redirect` | `hops` 1, `status` 302 | that many redirects at this origin, then the normal response |
| `redirect_loop` | `status` 302 | redirects at this origin without end |
| `redirect_to` | `location`, `status` 302 | a redirect to that URL |
| `no_location` | `status` 302 | a redirect without a Location header |
| `reset` | | an RST |
| `close` | | the end of the connection, without a response |
| `garbage` | | bytes that are not HTTP, then the end |

A redirect chain and a loop carry their state in their targets (`/_hop/…`, `/_loop/…`), to which no rule applies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

import msgspec
from msgspec.structs import replace

from signet.kernel.errors import Code, Fault

from .body_faults import BodyFault, FaultRule, Status
from .exchange import ResponseWriter
from .message import SandboxRequest, SandboxResponse, problem_response

__all__ = ["FAULTS", "FaultRules", "follow_redirect", "read_fault_rule"]

GARBAGE: Final = b"\x16\x03\x01\x00\x2a\x02 this is not HTTP \xff\xfe\x00\r\n\r\n"
PAGE: Final = (
    "<!DOCTYPE html><html><head><title>{0}</title></head><body><h1>{0}</h1>"
    "<p>The sandbox was told to send this page.</p></body></html>"
)
HOP: Final = re.compile(r"/_hop/(3\d\d)/(\d{1,3})(/.*)")
LOOP: Final = re.compile(r"/_loop/(3\d\d)/.*")

Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
RedirectStatus = Annotated[int, msgspec.Meta(ge=300, le=399)]


class Slow(FaultRule, frozen=True, tag="slow"):
    """Send the normal response after a delay."""

    delay_s: Seconds = 1.0

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.pause(self.delay_s)
        await writer.send(writer.normal())


class Drip(FaultRule, frozen=True, tag="drip"):
    """Send the head at once and each byte of the body after a pause."""

    rate: Rate = 1.0

    async def apply(self, writer: ResponseWriter) -> None:
        response = writer.normal()
        await writer.begin(replace(response, chunked=False), len(response.body))
        for offset in range(len(response.body)):
            await writer.pause(1 / self.rate)
            await writer.write(response.body[offset : offset + 1])


class Hang(FaultRule, frozen=True, tag="hang"):
    """Send nothing until the client leaves."""

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.pause(None)


class FailingStatus(FaultRule, frozen=True, tag="status"):
    """Send an RFC 7807 problem."""

    status: Status = 500
    detail: str = "the sandbox was told to fail"
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.send(problem_response(self.status, self.detail, self.headers))


class Html(FaultRule, frozen=True, tag="html"):
    """Send an HTML page."""

    status: Status = 502

    async def apply(self, writer: ResponseWriter) -> None:
        page = PAGE.format(f"Sandbox says {self.status}").encode()
        await writer.send(SandboxResponse(self.status, page, "text/html; charset=utf-8"))


class CannedResponse(FaultRule, frozen=True, tag="answer"):
    """Send exactly the response that the rule holds."""

    status: Status = 200
    type: str | None = "application/json"
    body: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.send(SandboxResponse(self.status, self.body.encode(), self.type, self.headers))


class RedirectFault(FaultRule, frozen=True):
    """Redirect the client to `target(request)`, or nowhere if that is None."""

    status: RedirectStatus = 302

    def target(self, request: SandboxRequest) -> str | None:
        return request.target

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.send(_redirect(self.status, self.target(writer.request)))


class Redirect(RedirectFault, frozen=True, tag="redirect"):
    """Redirect through a chain that ends at the normal response."""

    hops: Annotated[int, msgspec.Meta(ge=1, le=999)] = 1

    def target(self, request: SandboxRequest) -> str:
        return f"/_hop/{self.status}/{self.hops - 1}{request.target}"


class RedirectLoop(RedirectFault, frozen=True, tag="redirect_loop"):
    """Redirect without end."""

    def target(self, request: SandboxRequest) -> str:
        return f"/_loop/{self.status}{request.target}"


class RedirectTo(RedirectFault, frozen=True, kw_only=True, tag="redirect_to"):
    """Redirect to the location of the rule."""

    location: str

    def target(self, _: SandboxRequest) -> str:
        return self.location


class NoLocation(RedirectFault, frozen=True, tag="no_location"):
    """Redirect without a Location header."""

    def target(self, _: SandboxRequest) -> None:
        return None


class Reset(FaultRule, frozen=True, tag="reset"):
    """End the connection with an RST."""

    async def apply(self, writer: ResponseWriter) -> None:
        writer.reset()


class Close(FaultRule, frozen=True, tag="close"):
    """Close the connection without a response."""

    async def apply(self, writer: ResponseWriter) -> None:
        writer.close()


class Garbage(FaultRule, frozen=True, tag="garbage"):
    """Send bytes that are not HTTP, then close."""

    async def apply(self, writer: ResponseWriter) -> None:
        writer.close()
        await writer.write_raw(GARBAGE)


AnyFault = (
    Slow | Drip | Hang | FailingStatus | Html | CannedResponse | BodyFault
    | Redirect | RedirectLoop | RedirectTo | NoLocation | Reset | Close | Garbage
)  # fmt: skip
FAULTS: Final[tuple[str, ...]] = tuple(str(fault.__struct_config__.tag) for fault in get_args(AnyFault))


class FaultRules:
    """The active rules: the first that matches a request is applied, and removed after its last time."""

    def __init__(self) -> None:
        self._rules: list[FaultRule] = []

    def add(self, rule: FaultRule) -> None:
        """Append a rule."""
        self._rules.append(rule)

    def take(self, target: str) -> FaultRule | None:
        """Return the rule for a request and count its use; None if no rule matches."""
        for place, rule in enumerate(self._rules):
            if rule.match is None or rule.match in target:
                if rule.times is not None:
                    left = rule.times - 1
                    self._rules[place : place + 1] = [replace(rule, times=left)] if left else []
                return rule
        return None

    def all(self) -> tuple[FaultRule, ...]:
        """Return the active rules, each with its remaining times."""
        return tuple(self._rules)

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()


def read_fault_rule(value: Mapping[str, Any]) -> FaultRule:
    """Decode a fault rule.

    Raises:
        Fault: the fault or one of its parameters is unknown or invalid.
    """
    if (name := value.get("fault")) not in FAULTS:
        raise Fault(Code.INVALID_INPUT, f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    try:
        rule: FaultRule = msgspec.convert(value, AnyFault)
    except msgspec.ValidationError as error:
        raise Fault(Code.INVALID_INPUT, f"{name}: {error}") from None
    return rule


def follow_redirect(request: SandboxRequest) -> SandboxRequest | SandboxResponse | None:
    """Return the next redirect of a chain or loop, the original request at the end of a chain, or None."""
    if loop := LOOP.fullmatch(request.target):
        return _redirect(int(loop[1]), request.target)
    if hop := HOP.fullmatch(request.target):
        if left := int(hop[2]):
            return _redirect(int(hop[1]), f"/_hop/{hop[1]}/{left - 1}{hop[3]}")
        return replace(request, target=hop[3])
    return None


def _redirect(status: int, location: str | None) -> SandboxResponse:
    return SandboxResponse(status, type=None, headers={} if location is None else {"location": location})
