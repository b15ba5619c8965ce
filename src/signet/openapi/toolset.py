"""A toolset made from an OpenAPI document: `open_toolset("petstore.yaml", name="petstore", environ=os.environ)`."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault
from signet.kernel.tools import Context, Tool
from signet.kernel.toolset import Toolset, UpstreamSpec
from signet.kernel.upstream import UpstreamResponse
from signet.system.logs import write_stderr
from signet.system.text import printable
from signet.upstream.origin import parse_origin
from signet.upstream.switchboard import ServiceRequest

from .cache import key_of, read_plan, write_plan
from .document import FROM_PUBLIC, Library
from .encoding import quoted
from .failure import DocumentError, shown
from .operation import plan_document
from .plan import DocumentPlan, OperationPlan
from .request import build_request, cookie_header
from .response import MAX_BODY_BYTES, result_of
from .security import Credentials, credentials, settings_struct
from .selection import FLAGS, Ways
from .servers import address_of, elsewhere_note, service_of

__all__ = ["PREFIX", "DocumentError", "name_of", "open_target", "open_toolset"]

PREFIX: Final = "openapi:"
"""How a target begins that is a document: `openapi:petstore.yaml#tag:pets&path:/users*`."""
NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
TIMEOUT_S: Final = 30.0
RETRIES: Final = 2
SMALL_BYTES: Final = 65_536
"""A body of this size is decoded at once, whatever its charset."""
NO_ADDRESS: Final = "UPSTREAM_ADDRESS"
ARGUMENTS: Final[Any] = dict[str, Any]


def open_target(target: str, environ: Mapping[str, str]) -> Toolset:
    """Return the toolset of a target: a document, and behind a # the operations to include."""
    source, _, chosen = target.removeprefix(PREFIX).partition("#")
    include = [one for one in chosen.split("&") if one]
    name = name_of(source)
    ways = Ways(f"{PREFIX}{shown(source)}#", f"{_variable(name)}_BASE_URL")
    return open_toolset(source, name=name, include=include, environ=environ, ways=ways)


def name_of(source: str) -> str:
    """Return the name of a document's toolset: that of its file, without the ending."""
    path = source.partition("?")[0].rstrip("/")
    stem = re.sub(r"\.(?:json|ya?ml)$", "", os.path.basename(path), flags=re.IGNORECASE)
    name = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")
    return name if name[:1].isalpha() else f"api_{name}".rstrip("_")


def open_toolset(
    source: str,
    *,
    name: str,
    include: Sequence[str] = (),
    base_url: str = "",
    environ: Mapping[str, str],
    note: Callable[[str], None] | None = None,
    ways: Ways = FLAGS,
) -> Toolset:
    """Return the toolset of a document; what of it cannot be used is told to `note`, or on stderr.

    Args:
        source: the path of a file, or a URL.
        name: the name of the toolset, and how its variables begin.
        include: which operations become tools (`tag:…`, `path:…`, `operation:…`); all, if there are not too many.
        base_url: the address of the service, where it is not the document's own.
        environ: the variables of the process: `<NAME>_BASE_URL` is the address where `base_url` is empty.
        note: called with each sentence about a part of the document that is not served.
        ways: how errors tell the user to choose operations and to write the address.

    Raises:
        DocumentError: the document, the choice or the address cannot be used; the text says what to do.
    """
    if not NAME.fullmatch(name):
        raise DocumentError(f"'{shown(name)}' cannot name a server: write small letters, digits, _ and -")
    library = Library(source)
    plan = _open_plan(library, source, name, include, ways)
    address = base_url or environ.get(f"{_variable(name)}_BASE_URL", "").strip()
    _check_address(address or address_of(plan.servers), plan, library, ways, is_given=bool(address))
    elsewhere = "" if address else elsewhere_note(plan, f"{_variable(name)}_BASE_URL")
    for text in (*plan.notes, *filter(None, [elsewhere])):
        (note or _tell)(f"{shown(source)}: {text}")
    return _toolset(plan, name, address, is_public=library.is_public)


def _toolset(plan: DocumentPlan, name: str, address: str, *, is_public: bool) -> Toolset:
    services = [_Service(plan, one, name, address, is_public=is_public) for one in plan.operations]
    tools = tuple([_tool(one, service) for one, service in zip(plan.operations, services, strict=True)])
    return Toolset(
        name=name,
        title=plan.title,
        tools=lambda: tools,
        settings=settings_struct(plan, name),
        bundles=lambda: {one.slug: bytes(one.bundle) for one in plan.operations},
        has_services=True,
        is_foreign=True,
    )


def _tell(text: str) -> None:
    write_stderr(f"signet: {printable(text)}\n")


def _open_plan(library: Library, source: str, name: str, include: Sequence[str], ways: Ways) -> DocumentPlan:
    """Return the plan of a document; raise DocumentError, which names the document."""
    try:
        return _plan(library, name, include, ways)
    except DocumentError as error:
        text = str(error)
        raise DocumentError(text if text.startswith(shown(source)) else f"{shown(source)}: {text}") from None
    except RecursionError:
        raise DocumentError(f"{shown(source)} is nested too deeply: it cannot be used") from None


def _plan(library: Library, name: str, include: Sequence[str], ways: Ways) -> DocumentPlan:
    key = key_of(library, name, include)
    plan = read_plan(key, library)
    if plan is None:
        plan = plan_document(library, name, include, ways)
        write_plan(key, plan)
    return plan


def _check_address(address: str, plan: DocumentPlan, library: Library, ways: Ways, *, is_given: bool) -> None:
    """Raise DocumentError for an address that cannot be used, or to which a public document may not lead."""
    try:
        if address:
            parse_origin(address, with_path=True)
    except ValueError as error:
        advice = "" if is_given else f": write the right one with {ways.base_url}"
        raise DocumentError(f"{error}{advice}") from None
    if is_given or not library.is_public:
        return
    from .fetching import is_private_address

    stated = [plan.servers, *(one.servers for one in plan.operations if one.servers)]
    for servers in stated:
        where = address_of(servers)
        if where and is_private_address(where):
            why = f"the document leads to {shown(where)}, which is not public"
            raise DocumentError(f"{why}: write it with {ways.base_url}")


def _variable(name: str) -> str:
    return name.replace("-", "_").upper()


class _Service:
    """How the service of one operation is reached."""

    def __init__(
        self, plan: DocumentPlan, operation: OperationPlan, name: str, address: str, *, is_public: bool
    ) -> None:
        self.name = name
        self._plan = plan
        self._operation = operation
        self._given = address
        own = operation.servers
        self._is_own = bool(own) and own != plan.servers
        self._stated, self._is_elsewhere = service_of(plan, operation)
        setting = f"{_variable(name)}_BASE_URL"
        self._only_public = f"{FROM_PUBLIC}: set {setting} if you mean this address" if is_public else ""
        names = dict.fromkeys(
            one for names in operation.security for scheme in names for one in plan.schemes[scheme].settings
        )
        self.no_address = f"the document has no address of the service: write --base-url URL or set {setting}"
        self._secrets = " or ".join(f"{_variable(name)}_{one.upper()}" for one in names)
        self._where = f"this operation states a server of its own, which gets no secrets unless {setting} is set"

    def request(self, arguments: Mapping[str, Any], settings: Any) -> ServiceRequest:
        """Return the request of a call, with the address and the secrets of the service."""
        request = build_request(self._operation, arguments)
        given = self._address_given(settings)
        has_secrets = given or not self._is_elsewhere
        carried = credentials(self._plan, self._operation.security, settings) if has_secrets else Credentials()
        called, address = self.name, given or self._stated
        if self._is_own and not given:
            # A recording and the rate limits know services by name.
            called = f"{self.name}.{address.partition('://')[2].replace('/', '.')}"
        if carried.cookies:
            request = _with_cookies(request, carried)
        return ServiceRequest(
            f"//{called}{request.target}",
            request.method,
            request.headers,
            request.body,
            fixed_headers=carried.headers,
            fixed_query="&".join(f"{quoted(one)}={quoted(text)}" for one, text in carried.query),
            spec=self._spec(called, address, "" if given else self._only_public),
            secrets=carried.secrets,
        )

    def advice(self, settings: Any) -> str:
        """Return what to do where the service wants to know its caller."""
        if self._is_elsewhere and not self._address_given(settings):
            return self._where if self._secrets else ""
        return f"set {self._secrets}" if self._secrets else ""

    def _address_given(self, settings: Any) -> str:
        """Return the address that the operator has configured."""
        return getattr(settings, "base_url", None) or self._given

    def _spec(self, called: str, address: str, only_public: str) -> UpstreamSpec:
        return UpstreamSpec(
            base_url=address,
            called=called,
            address_setting=f"--base-url or {_variable(self.name)}_BASE_URL",
            allows_path=True,
            timeout_s=TIMEOUT_S,
            max_body_bytes=MAX_BODY_BYTES,
            gzip=True,
            retries=RETRIES,
            only_public=only_public,
        )


def _with_cookies(request: Any, carried: Credentials) -> Any:
    """Return a request whose cookies are those of its arguments and those of its caller."""
    pairs = [(name, quoted(text)) for name, text in carried.cookies]
    others = [text for name, text in request.headers if name == "Cookie"]
    headers = [pair for pair in request.headers if pair[0] != "Cookie"]
    joined = "; ".join([*others, cookie_header(pairs)])
    return msgspec.structs.replace(request, headers=(*headers, ("Cookie", joined)))


def _tool(operation: OperationPlan, service: _Service) -> Tool:
    return Tool(
        name=operation.name,
        slug=operation.slug,
        title=operation.title,
        description=operation.description,
        args=ARGUMENTS,
        is_strict=True,
        run=_run(operation, service),
        has_example=False,
        keeps_nulls=frozenset(operation.keeps_nulls),
        annotations=operation.annotations,
        mode="shadow",
        is_foreign=True,
    )


def _run(operation: OperationPlan, service: _Service) -> Callable[[Any, Context], Awaitable[dict[str, Any]]]:
    async def run(arguments: Any, context: Context) -> dict[str, Any]:
        request = service.request(arguments, context.settings)
        try:
            response = await context.send(request)
        except Fault as fault:
            message = fault.message if request.spec.base_url or fault.name != NO_ADDRESS else service.no_address
            # A model can act on it: ask again, or for something else.
            raise Fault(fault.code, message, name=fault.name, as_tool_result=True) from None
        text = await _large_text(response) if len(response.body) > SMALL_BYTES else None
        return result_of(operation, response, service.name, service.advice(context.settings), text)

    return run


async def _large_text(response: UpstreamResponse) -> str | None:
    """Return the text of a large body, decoded where others get their turn; None where that takes one short step."""
    from signet.kernel.charsets import decode_in_turns, takes_turns

    body, kind = response.body, response.content_type
    return await decode_in_turns(body, kind) if takes_turns(body, kind) else None
