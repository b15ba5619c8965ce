"""Faults that tests can order: the ways in which an upstream can fail its client, by name.

A fault is a function of this module or of `body_faults`. Its keyword arguments are the parameters of a fault rule,
`{"fault": name, "match": part of the raw target or null, "times": n or null}` with the parameters beside them. The
normal response is the response without a fault.

A redirect chain and a loop carry their state in their targets (`/_hop/…`, `/_loop/…`), to which no rule applies.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import signature
from typing import Annotated, Any, Final, get_type_hints

import msgspec
from msgspec.structs import replace

from signet.kernel.errors import Code, Fault
from signet.kernel.places import wrong_type

from .body_faults import BODY_FAULTS, Status
from .exchange import ResponseWriter
from .message import SandboxRequest, SandboxResponse, problem_response

__all__ = ["FAULTS", "FaultRule", "follow_redirect", "read_fault_rule", "take_rule"]

GARBAGE: Final = b"\x16\x03\x01\x00\x2a\x02 this is not HTTP \xff\xfe\x00\r\n\r\n"
PAGE: Final = (
    "<!DOCTYPE html><html><head><title>{0}</title></head><body><h1>{0}</h1>"
    "<p>The sandbox was told to send this page.</p></body></html>"
)
HOP: Final = re.compile(r"/_hop/(3\d\d)/(\d{1,3})(/.*)")
LOOP: Final = re.compile(r"/_loop/(3\d\d)/.*")
NO_HEADERS: Final[dict[str, str]] = {}

Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
RedirectStatus = Annotated[int, msgspec.Meta(ge=300, le=399)]
Hops = Annotated[int, msgspec.Meta(ge=1, le=999)]


async def slow(writer: ResponseWriter, *, delay_s: Seconds = 1.0) -> None:
    """Send the normal response, that many seconds later."""
    await writer.pause(delay_s)
    await writer.send(writer.normal())


async def drip(writer: ResponseWriter, *, rate: Rate = 1.0) -> None:
    """Send the head at once, then that many bytes of the body a second, one by one."""
    response = writer.normal()
    await writer.begin(replace(response, chunked=False), len(response.body))
    for offset in range(len(response.body)):
        await writer.pause(1 / rate)
        await writer.write(response.body[offset : offset + 1])


async def hang(writer: ResponseWriter) -> None:
    """Send nothing until the client leaves."""
    await writer.pause(None)


async def status(
    writer: ResponseWriter,
    *,
    status: Status = 500,
    detail: str = "the sandbox was told to fail",
    headers: dict[str, str] = NO_HEADERS,
) -> None:
    """Send an RFC 7807 problem with that status."""
    await writer.send(problem_response(status, detail, headers))


async def html(writer: ResponseWriter, *, status: Status = 502) -> None:
    """Send a text/html page, also with status 200 if ordered."""
    page = PAGE.format(f"Sandbox says {status}").encode()
    await writer.send(SandboxResponse(status, page, "text/html; charset=utf-8"))


async def answer(
    writer: ResponseWriter,
    *,
    status: Status = 200,
    content_type: str | None = "application/json",
    body: str = "",
    headers: dict[str, str] = NO_HEADERS,
) -> None:
    """Send exactly the response that the rule holds; a type of null sends none."""
    await writer.send(SandboxResponse(status, body.encode(), content_type, headers))


async def redirect(writer: ResponseWriter, *, status: RedirectStatus = 302, hops: Hops = 1) -> None:
    """Send that many redirects at this origin, then the normal response."""
    await writer.send(_redirect(status, f"/_hop/{status}/{hops - 1}{writer.request.target}"))


async def redirect_loop(writer: ResponseWriter, *, status: RedirectStatus = 302) -> None:
    """Send redirects at this origin without end."""
    await writer.send(_redirect(status, f"/_loop/{status}{writer.request.target}"))


async def redirect_to(writer: ResponseWriter, *, location: str, status: RedirectStatus = 302) -> None:
    """Send a redirect to that URL."""
    await writer.send(_redirect(status, location))


async def no_location(writer: ResponseWriter, *, status: RedirectStatus = 302) -> None:
    """Send a redirect without a Location header."""
    await writer.send(SandboxResponse(status, type=None))


async def reset(writer: ResponseWriter) -> None:
    """End the connection with an RST."""
    writer.reset()


async def close(writer: ResponseWriter) -> None:
    """Close the connection without a response."""
    writer.keep_alive = False


async def garbage(writer: ResponseWriter) -> None:
    """Send bytes that are not HTTP, then close."""
    writer.keep_alive = False
    await writer.write_raw(GARBAGE)


_FAULTS: Final = (
    slow, drip, hang, status, html, answer, *BODY_FAULTS,
    redirect, redirect_loop, redirect_to, no_location, reset, close, garbage,
)  # fmt: skip
FAULTS: Final[Mapping[str, Callable[..., Awaitable[None]]]] = {fault.__name__: fault for fault in _FAULTS}


class FaultRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="fault"):
    """A fault for every request whose raw target contains `match`, `times` times or until cleared.

    Each fault has a subclass, whose further fields are its parameters.
    """

    match: str | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None

    @property
    def name(self) -> str:
        """The name of the fault."""
        return str(self.__struct_config__.tag)

    async def apply(self, writer: ResponseWriter) -> None:
        """Respond as the fault describes."""
        names = self.__struct_fields__[len(FaultRule.__struct_fields__) :]
        await FAULTS[self.name](writer, **{name: getattr(self, name) for name in names})


def _rule_type(name: str) -> Any:
    """Return the subclass of `FaultRule` for a fault, with its keyword arguments as fields."""
    types = get_type_hints(FAULTS[name], include_extras=True)
    _, *parameters = signature(FAULTS[name]).parameters.values()
    fields = [
        (it.name, types[it.name], msgspec.NODEFAULT if it.default is it.empty else it.default) for it in parameters
    ]
    rename = {"content_type": "type"}
    return msgspec.defstruct(name, fields, bases=(FaultRule,), tag=name, rename=rename, frozen=True, kw_only=True)


_RULE_TYPES: Final = {name: _rule_type(name) for name in FAULTS}


def read_fault_rule(value: Mapping[str, Any]) -> FaultRule:
    """Decode a fault rule; raise Fault if the fault or one of its parameters is unknown or invalid."""
    name = value.get("fault")
    if not isinstance(name, str) or name not in FAULTS:
        raise Fault(Code.INVALID_INPUT, f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    try:
        rule: FaultRule = msgspec.convert(value, _RULE_TYPES[name])
    except msgspec.ValidationError as error:
        raise Fault(Code.INVALID_INPUT, f"{name}: {wrong_type(error)}") from None
    return rule


def take_rule(rules: list[FaultRule], target: str) -> FaultRule | None:
    """Return the first rule that matches a request, or None; count its use, and remove it after its last time."""
    for place, rule in enumerate(rules):
        if rule.match is None or rule.match in target:
            if rule.times is not None:
                left = rule.times - 1
                rules[place : place + 1] = [replace(rule, times=left)] if left else []
            return rule
    return None


def follow_redirect(request: SandboxRequest) -> SandboxRequest | SandboxResponse | None:
    """Return the next redirect of a chain or loop, the original request at the end of a chain, or None."""
    if loop := LOOP.fullmatch(request.target):
        return _redirect(int(loop[1]), request.target)
    if hop := HOP.fullmatch(request.target):
        if left := int(hop[2]):
            return _redirect(int(hop[1]), f"/_hop/{hop[1]}/{left - 1}{hop[3]}")
        return replace(request, target=hop[3])
    return None


def _redirect(status: int, location: str) -> SandboxResponse:
    return SandboxResponse(status, type=None, headers={"location": location})
