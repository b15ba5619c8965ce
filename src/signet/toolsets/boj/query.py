"""What may be asked of the Bank of Japan: the tools' typed input, and the request that it becomes.

    …In ── check_… ──▶ the same in the Bank's spelling ── ask_… ──▶ Ask
              └─ the first broken rule ──▶ Fault

Pure. Rules are held in one fixed order, and what breaks one is not sent.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct, structs

from signet.kernel.upstream import UpstreamRequest

from . import validation

__all__ = [
    "DataCodeIn",
    "DataLayerIn",
    "MetadataIn",
    "Query",
    "ask_data_code",
    "ask_data_layer",
    "ask_metadata",
    "check_data_code",
    "check_data_layer",
    "check_metadata",
]

FORMATS: Final = ("json", "csv")
LANGUAGES: Final = ("jp", "en")

Position = Annotated[int, Meta(ge=0, le=validation.MAX_U32)]


class DataCodeIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Which series to read, by their codes."""

    db: str
    codes: tuple[str, ...]
    format: str | None = None
    lang: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: Position | None = None
    include_raw: bool = False
    frequency: str | None = None
    """Not looked at: a series has the frequency that it has."""


class DataLayerIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Which series to read, by their place in the database's tree."""

    db: str
    frequency: str
    layers: tuple[str, ...]
    format: str | None = None
    lang: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: Position | None = None
    include_raw: bool = False


class MetadataIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Which database to list the series of."""

    db: str
    format: str | None = None
    lang: str | None = None
    include_raw: bool = False
    frequency: str | None = None
    """Not looked at."""


Query = DataCodeIn | DataLayerIn | MetadataIn


def check_data_code(args: DataCodeIn) -> DataCodeIn:
    """Hold a question for series codes to the rules and give it in the Bank's spelling.

    Raises:
        Fault: naming the first rule that it breaks.
    """
    form, lang = _format(args.format), _lang(args.lang)
    db = validation.database(args.db)
    validation.codes(args.codes)
    validation.span(args.start_date, args.end_date, validation.ANY_SHAPE)
    validation.position(args.start_position)
    return structs.replace(args, db=db, format=form, lang=lang)


def check_data_layer(args: DataLayerIn) -> DataLayerIn:
    """Hold a question for layers to the rules and give it in the Bank's spelling.

    Raises:
        Fault: naming the first rule that it breaks.
    """
    frequency = validation.choice("FREQUENCY", args.frequency, tuple(validation.FREQUENCIES))
    form, lang = _format(args.format), _lang(args.lang)
    db = validation.database(args.db)
    layers = validation.layers(args.layers)
    validation.span(args.start_date, args.end_date, validation.FREQUENCIES[frequency])
    validation.position(args.start_position)
    return structs.replace(args, db=db, frequency=frequency, layers=layers, format=form, lang=lang)


def check_metadata(args: MetadataIn) -> MetadataIn:
    """Hold a question for a database's series to the rules and give it in the Bank's spelling.

    Raises:
        Fault: naming the first rule that it breaks.
    """
    form, lang = _format(args.format), _lang(args.lang)
    return structs.replace(args, db=validation.database(args.db), format=form, lang=lang)


def _format(value: str | None) -> str | None:
    return None if value is None else validation.choice("FORMAT", value, FORMATS)


def _lang(value: str | None) -> str | None:
    return None if value is None else validation.choice("LANG", value, LANGUAGES)


def ask_data_code(query: DataCodeIn) -> UpstreamRequest:
    """Write the request for a question that was checked."""
    return _ask(
        "getDataCode",
        ("format", query.format),
        ("lang", query.lang),
        ("db", query.db),
        ("startDate", query.start_date),
        ("endDate", query.end_date),
        ("code", ",".join(query.codes)),
        ("startPosition", query.start_position),
    )


def ask_data_layer(query: DataLayerIn) -> UpstreamRequest:
    """Write the request for a question that was checked."""
    return _ask(
        "getDataLayer",
        ("format", query.format),
        ("lang", query.lang),
        ("db", query.db),
        ("frequency", query.frequency),
        ("layer", ",".join(query.layers)),
        ("startDate", query.start_date),
        ("endDate", query.end_date),
        ("startPosition", query.start_position),
    )


def ask_metadata(query: MetadataIn) -> UpstreamRequest:
    """Write the request for a question that was checked."""
    return _ask("getMetadata", ("format", query.format), ("lang", query.lang), ("db", query.db))


def _ask(name: str, *pairs: tuple[str, str | int | None]) -> UpstreamRequest:
    """Write the pairs that are given, each value percent-encoded down to the unreserved characters."""
    from urllib.parse import quote

    query = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in pairs if value is not None)
    return UpstreamRequest(f"/api/v1/{name}?{query}")
