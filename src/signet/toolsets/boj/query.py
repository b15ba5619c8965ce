"""The tools' typed input, its check against the rules, and the request to the Bank of Japan.

    …In ── check ──▶ the same query in the Bank's spelling ── request_of ──▶ UpstreamRequest
             └─ the first broken rule ──▶ Fault

Pure. Rules are checked in one fixed order; a query that breaks one is not sent.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, structs

from signet.kernel.upstream import UpstreamRequest

from . import validation

__all__ = ["DataCodeIn", "DataLayerIn", "MetadataIn", "Q", "Query", "check", "request_of"]

CHOICES: Final = {"format": ("json", "csv"), "lang": ("jp", "en")}

Position = Annotated[int, Meta(ge=0, le=validation.MAX_U32)]


class DataCodeIn(Struct, frozen=True):
    """The series to read, by code."""

    db: str
    codes: tuple[str, ...]
    format: str | None = None
    lang: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: Position | None = None
    include_raw: bool = False


class DataLayerIn(Struct, frozen=True):
    """The series to read, by their place in the tree of the database."""

    db: str
    frequency: str
    layers: tuple[str, ...]
    format: str | None = None
    lang: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: Position | None = None
    include_raw: bool = False


class MetadataIn(Struct, frozen=True):
    """The database whose series to list."""

    db: str
    format: str | None = None
    lang: str | None = None  # rule: 3.input.include-raw-default
    include_raw: bool = False


Query = DataCodeIn | DataLayerIn | MetadataIn


Q = TypeVar("Q", DataCodeIn, DataLayerIn, MetadataIn)

ENDPOINTS: Final[dict[type[Query], tuple[str, tuple[str, ...]]]] = {
    DataCodeIn: (
        "getDataCode",
        ("format", "lang", "db", "start_date", "end_date", "codes", "start_position"),  # rule: 3.request.exact
    ),
    DataLayerIn: (
        "getDataLayer",
        ("format", "lang", "db", "frequency", "layers", "start_date", "end_date", "start_position"),
    ),
    MetadataIn: ("getMetadata", ("format", "lang", "db")),
}
"""The endpoint of each query, and the arguments that are sent there, in this order."""


def check(query: Q) -> Q:
    """Return the query in the Bank's spelling; raise a Fault that names the first rule that it breaks."""
    changes: dict[str, Any] = {}
    shape = validation.ANY_SHAPE
    if isinstance(query, DataLayerIn):
        changes["frequency"] = validation.choice("frequency", query.frequency, tuple(validation.FREQUENCIES))
        shape = validation.FREQUENCIES[changes["frequency"]]
    for argument, options in CHOICES.items():
        value = getattr(query, argument)
        changes[argument] = None if value is None else validation.choice(argument, value, options)
    changes["db"] = validation.database(query.db)  # rule: 3.input.first-rule
    if isinstance(query, DataCodeIn):
        validation.codes(query.codes)
    if isinstance(query, DataLayerIn):
        changes["layers"] = validation.layers(query.layers)
    if not isinstance(query, MetadataIn):
        validation.span(query.start_date, query.end_date, shape)
        validation.position(query.start_position)
    return structs.replace(query, **changes)


def request_of(query: Query) -> UpstreamRequest:
    """Return the request for a checked query; values are percent-encoded down to the unreserved characters."""
    from urllib.parse import quote

    endpoint, arguments = ENDPOINTS[type(query)]
    values = ((argument, getattr(query, argument)) for argument in arguments)
    pairs = (
        f"{validation.PARAMETERS[argument]}={quote(_text(value), safe='')}"  # rule: 3.request.encoding
        for argument, value in values
        if value is not None
    )
    return UpstreamRequest(f"/api/v1/{endpoint}?{'&'.join(pairs)}")


def _text(value: str | int | tuple[str, ...]) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
