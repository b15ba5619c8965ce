"""The PlantUML tool, with the rules, codes and texts of spec 4."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import NULL_CONTEXT, Context, tool

from .encoding import encode_bytes

__all__ = ["TOOLS"]

MAX_CODE_BYTES: Final = 51_200  # rule: 4.invocation.too-large
"""The 50 KB of spec 4, measured on the code as it was sent, in UTF-8."""

OFFLOAD_BYTES: Final = 32_768
"""The size from which code is encoded in a thread: it takes 0.5 ms of common text, and 3 ms of the worst text."""

NOT_ENCODED: Final = "Failed to encode PlantUML code"
VIEWER: Final = "https://www.plantuml.com/plantuml/svg/"  # rule: 4.output.url

BLANK: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters that the `trim` of spec 4 removes; `str.strip()` removes others."""


class EncodeIn(Struct, frozen=True, rename="camel"):  # rule: 4.models.request
    """The diagram to encode."""

    plantuml_code: Annotated[  # rule: 4.validation.type
        # rule: 4.validation.required
        str, Meta(description="Valid PlantUML diagram code (must start with @startuml and end with @enduml)")
    ]


class EncodeOut(Struct, frozen=True):
    """The diagram's link."""

    url: str
    encoded: str
    format: Literal["svg"] = "svg"


def _empty() -> Fault:
    # rule: 4.invocation.empty
    return Fault(Code.INVALID_INPUT, "plantumlCode is required and cannot be empty", name="EMPTY_CODE")


def _too_large() -> Fault:
    # rule: 4.errors.code-too-large
    return Fault(Code.INVALID_INPUT, "PlantUML code exceeds maximum size of 50KB", name="CODE_TOO_LARGE", status=413)


def _not_encodable() -> Fault:
    # rule: 4.invocation.encoding-failed
    return Fault(Code.INVALID_INPUT, NOT_ENCODED, name="ENCODING_FAILED", status=500)


def _unexpected() -> Fault:
    return Fault(Code.INTERNAL_ERROR, "Internal server error")


def _failed(cause: BaseException) -> Fault:
    fault = Fault(Code.INTERNAL_ERROR, NOT_ENCODED, name="ENCODING_FAILED")  # rule: 4.invocation.encoding-failed/2
    fault.__cause__ = cause
    return fault


def _spec_4(fault: Fault) -> Fault:
    """Return a fault of the pipeline or of a door with the code and text of spec 4."""
    if fault.code is Code.INTERNAL_ERROR and fault.__cause__ is not None:
        # A bug of the tool, which only encodes.
        return _failed(fault.__cause__)
    own_faults = {
        Code.INVALID_INPUT.value: _empty,  # rule: 5.wire.bad-arguments/2
        "REQUEST_TOO_LARGE": _too_large,  # rule: 4.errors.code-too-large/2
        "NOT_UNICODE": _not_encodable,  # rule: 4.validation.utf8
        "NOT_JSON": _unexpected,  # rule: 4.errors.internal-error
    }
    own_fault = own_faults.get(fault.name)
    return own_fault() if own_fault else fault


def _explain(args: EncodeIn) -> None:
    """Raise the fault of the first rule that the code breaks; its size comes before its UTF-8."""
    encode_plantuml.run(args, NULL_CONTEXT)


@tool(
    name="encodePlantUML",
    slug="plantuml.encode",
    title="Encode a PlantUML diagram",
    example={"plantumlCode": "@startuml\nA --> B\n@enduml"},
    public=True,
    adapt_fault=_spec_4,
    explain=_explain,
    rest_errors=(("EMPTY_CODE", 400), ("CODE_TOO_LARGE", 413), ("ENCODING_FAILED", 500), ("INTERNAL_ERROR", 500)),
)
def encode_plantuml(args: EncodeIn, ctx: Context) -> EncodeOut | Awaitable[EncodeOut]:
    """Encodes PlantUML diagram code into a shareable URL for viewing on plantuml.com"""
    if not args.plantuml_code.strip(BLANK):  # rule: 4.validation.type/2
        raise _empty()
    data = args.plantuml_code.encode()  # rule: 4.encoding.utf8
    if len(data) > MAX_CODE_BYTES:  # rule: 4.validation.size
        raise _too_large()
    return _link(data) if len(data) < OFFLOAD_BYTES else ctx.offload(_link, data)


def _link(data: bytes) -> EncodeOut:
    encoded = encode_bytes(data)  # rule: 4.security.injection
    return EncodeOut(VIEWER + encoded, encoded)  # rule: 4.output.non-empty


TOOLS: Final = (encode_plantuml,)
