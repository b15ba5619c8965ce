"""A service that tools ask over HTTP: `upstream = signet.Upstream("https://api.example", rate=2)`.

await upstream.get("/today") ── //api.example/today ── the upstream of the call's run: live, recorded or replayed

Outside of a call, in a script or a test that calls the function itself, each request has a connection of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from math import inf
from typing import Any, Final, Unpack

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.upstream.origin import parse_origin
from signet.upstream.switchboard import ServiceRequest, Switchboard, open_service

from .requests import Params, RequestOptions, fixed_headers, header_pairs, secrets_of, target_of
from .running import CURRENT

__all__ = ["Service", "ServiceResponse", "declared_secrets"]

NAME: Final = re.compile(r"[A-Za-z0-9._:\[\]-]+")
METHOD: Final = re.compile(r"[A-Z]+")
HTTP_OK: Final = 200

FromSettings = Callable[[Any], Any]
"""A function that is called with the settings of the toolset."""

_secrets: Final[set[str]] = set()


def declared_secrets() -> tuple[str, ...]:
    """Return what the services of this process were given to send and nobody may read."""
    return tuple(sorted(_secrets))


class ServiceResponse(msgspec.Struct, frozen=True):
    """What a service sent back."""

    status: int
    content_type: str = ""
    """The media type in lower case, with its parameters."""
    body: bytes = b""
    service: str = "the service"
    """The name of the service, for messages."""

    def json(self, type: Any = Any) -> Any:  # noqa: A002 - it is msgspec's word
        """Return the value of a JSON body, as an instance of a type where one is given; raise Fault if it is none."""
        try:
            return msgspec.json.decode(self.body, type=type)
        except (msgspec.DecodeError, RecursionError) as error:
            why = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
            shown = self.content_type or "without a type"
            raise _fault(f"{self.service} answered with status {self.status}, {shown}: {why}", "UNREADABLE") from None

    def text(self) -> str:
        """Return the body as text, by the charset of its type; bytes that cannot be read are replaced.

        The charsets are those of the WHATWG Encoding Standard; every other name is read as UTF-8.
        """
        from signet.kernel.charsets import decode_text

        return decode_text(self.body, self.content_type)


class _DecodedResponse(ServiceResponse, frozen=True):
    """A response whose text was decoded before, in steps: in one step, it would hold the event loop."""

    decoded: str = ""

    def text(self) -> str:
        """Return the text of the body."""
        return self.decoded


class Service:
    """A service that tools ask over HTTP; nothing is opened before the first request.

    Args:
        url: its address, which may have a path; or a function that returns it for the toolset's settings.
        name: what messages and recordings call it (default: the host). Two services of a toolset need two names.
        rate: the most requests in a second; 0 for any number.
        cache_s: the seconds for which a 200 to a GET is kept; equal requests at one time are then sent once.
        retries: how often a GET or HEAD is sent again after 429, 502, 503, 504 or a failure of the network.
        timeout_s: the seconds that one request may take.
        max_body_bytes: the longest answer; a longer one is a fault.
        token: the bearer token; or a function that returns it for the toolset's settings.
        headers: headers of every request.

    Raises:
        ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        url: str | FromSettings,
        *,
        name: str = "",
        rate: float = 0.0,
        cache_s: float = 0.0,
        retries: int = 2,
        timeout_s: float = 30.0,
        max_body_bytes: int = 1_048_576,
        token: str | FromSettings | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        _check_limits({"rate": rate, "cache_s": cache_s, "retries": retries}, at_least=True)
        _check_limits({"timeout_s": timeout_s, "max_body_bytes": max_body_bytes}, at_least=False)
        self.name = _checked_name(url, name)
        self._url = url
        self._token = token
        self._headers = header_pairs(headers)
        self._spec = UpstreamSpec(
            base_url=None,
            called=self.name,
            address_setting="the address that its signet.Upstream has",
            allows_path=True,
            timeout_s=timeout_s,
            max_body_bytes=max_body_bytes,
            gzip=True,
            interval_s=1 / rate if rate else 0.0,
            cache_s=cache_s,
            may_cache=_is_whole,
            retries=retries,
            coalesce=cache_s > 0,
        )
        _secrets.update(secrets_of(fixed_headers(self._headers, token if isinstance(token, str) else None)))

    def get(
        self, path: str, *, params: Params = None, headers: Mapping[str, str] | None = None
    ) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a GET and return the response, whatever its status; `await` it in a tool that is `async def`.

        Raises:
            Fault: the network failed, or the answer is too long or ended early.
        """
        return self.request("GET", path, params=params, headers=headers)

    def post(self, path: str, **given: Unpack[RequestOptions]) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a POST, with the arguments of `request`; it is sent once."""
        return self.request("POST", path, **given)

    def put(self, path: str, **given: Unpack[RequestOptions]) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a PUT, with the arguments of `request`; it is sent once."""
        return self.request("PUT", path, **given)

    def patch(self, path: str, **given: Unpack[RequestOptions]) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a PATCH, with the arguments of `request`; it is sent once."""
        return self.request("PATCH", path, **given)

    def delete(self, path: str, **given: Unpack[RequestOptions]) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a DELETE, with the arguments of `request`; it is sent once."""
        return self.request("DELETE", path, **given)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Params = None,
        json: Any = None,
        body: bytes | str = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Coroutine[Any, Any, ServiceResponse]:
        """Send a request and return the response, whatever its status.

        Args:
            method: the method, such as `GET`.
            path: the path below the address, and a query if `params` is not given.
            params: the query; a list is repeated, None is left out, true and false are written so.
            json: a value to send as JSON.
            body: what to send, where it is no JSON.
            headers: further headers of this request; its response is then not cached.

        Raises:
            Fault: the network failed, the answer is too long or ended early, or the path leads out of the address.
        """
        context = CURRENT.get(None)
        if context is not None and context.upstream is None:
            message = f"a plain function cannot wait for {self.name}: declare the tool with async def, and await"
            raise _fault(f"{message} upstream.{method.lower()}(…)", "ASYNC")
        if not METHOD.fullmatch(method):
            raise ValueError(f"{method!r} is no method of HTTP: write it in capital letters")
        pairs = header_pairs(headers)
        if json is not None:
            body = msgspec.json.encode(json, order="deterministic")
            if not any(name.lower() == "content-type" for name, _ in pairs):
                pairs = (("Content-Type", "application/json"), *pairs)
        sent = body.encode() if isinstance(body, str) else body
        return self._send(UpstreamRequest(target_of(self.name, path, params), method, pairs, sent))

    async def _send(self, request: UpstreamRequest) -> ServiceResponse:
        context = CURRENT.get(None)
        if context is None:
            response = await self._send_alone(self._addressed(request, None))
        else:
            try:
                response = await context.send(self._addressed(request, context.settings))
            except Fault as fault:
                # A model can act on it: ask again, or for something else.
                raise _fault(fault.message, fault.name) from None
        if response.cut:
            limit = f"{self._spec.max_body_bytes:,} bytes"
            message = f"the answer of {self.name} has more than {limit}: ask for less, or raise its max_body_bytes="
            raise _fault(message, "UPSTREAM_TOO_LARGE")
        if response.broken:
            raise _fault(f"the answer of {self.name} cannot be used: {response.broken}", "UPSTREAM_BROKEN")
        return await _read(response, self.name)

    def _addressed(self, request: UpstreamRequest, settings: Any) -> ServiceRequest:
        """Return a request with the address and the secrets of the service."""
        url, token = (_value(one, settings, self.name) for one in (self._url, self._token))
        spec = msgspec.structs.replace(self._spec, base_url=url)
        fixed = fixed_headers(self._headers, token)
        return ServiceRequest(
            request.target,
            request.method,
            request.headers,
            request.body,
            fixed_headers=fixed,
            spec=spec,
            secrets=secrets_of((*fixed, *request.headers)),
        )

    async def _send_alone(self, request: ServiceRequest) -> UpstreamResponse:
        """Send a request outside of a call, on a connection of its own."""
        switchboard = Switchboard(open_service, {})
        try:
            return await switchboard.send(request)
        finally:
            await switchboard.close()


async def _read(response: UpstreamResponse, name: str) -> ServiceResponse:
    """Return a response for a tool; the text of a large one is decoded here, where others get their turn."""
    kind, body = response.content_type, bytes(response.body)
    if "charset" in kind or kind.startswith("text/"):
        from signet.kernel.charsets import decode_in_turns, takes_turns

        if takes_turns(body, kind):
            return _DecodedResponse(response.status, kind, body, name, await decode_in_turns(body, kind))
    return ServiceResponse(response.status, kind, body, name)


def _value(given: Any, settings: Any, name: str) -> Any:
    """Return an argument that may be a function of the settings."""
    if not callable(given):
        return given
    if settings is None:
        message = f"{name} needs the settings of its toolset, which only a call has: call the tool through Signet"
        raise _fault(message, "NO_SETTINGS")
    return given(settings)


def _check_limits(given: Mapping[str, float], *, at_least: bool) -> None:
    """Raise ValueError for a number below 0, or for 0 itself unless it is allowed."""
    for name, number in given.items():
        if not (0 <= number < inf) or (number == 0 and not at_least):
            raise ValueError(f"{name}={number} cannot be used: write a number {'from' if at_least else 'above'} 0")


def _checked_name(url: str | FromSettings, name: str) -> str:
    """Return the name of a service: the host of its address, unless one is given."""
    if isinstance(url, str):
        authority = parse_origin(url, with_path=True).partition("://")[2].partition("/")[0]
        host = authority if authority.endswith("]") else authority.rpartition(":")[0] or authority
        name = name or host
    elif not name:
        raise ValueError("an upstream whose address comes from the settings needs a name=")
    if not NAME.fullmatch(name):
        raise ValueError(f"'{name[:100]}' cannot name an upstream: write letters, digits, . _ and -")
    return name


def _is_whole(_: UpstreamRequest, response: UpstreamResponse) -> bool:
    return response.status == HTTP_OK and not response.cut and not response.broken


def _fault(message: str, name: str) -> Fault:
    return Fault(Code.INTERNAL_ERROR, message, name=name, as_tool_result=True)
