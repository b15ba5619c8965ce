"""The policy: the limits that a server's settings state, read and checked. Pure.

[limits]                           for each principal, else for each address
[limits.tools."plantuml.encode"]   for each caller of one tool, beside those above
[limits.principals.NAME]           in place of the first, for one principal
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from signet.settings.fields import shown_value

__all__ = ["TABLES", "Limit", "LimitError", "PlaceLimit", "Policy", "Rate", "parse_rate", "read_policy"]

PERIODS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0}
PERIOD_WORDS: Final = {"s": "second", "min": "minute", "h": "hour", "day": "day"}
MAX_COUNT: Final = 1_000_000
MAX_QUOTA: Final = 1_000_000_000
MAX_PLACES: Final = 100_000
DEFAULT_QUEUE: Final = 16
OFF: Final = "off"
"""What lifts a limit for one principal."""
TABLES: Final = ("tools", "principals")


class LimitError(ValueError):
    """A key of the limits cannot be used; the text says what to write."""

    def __init__(self, path: tuple[str, ...], why: str, known: Iterable[str] = ()) -> None:
        """Refuse the key at a path; `known` are the names that there are, where it is none of them."""
        super().__init__(why)
        self.path = path
        self.known = tuple(known)


class Rate(msgspec.Struct, frozen=True):
    """A number of calls in a period."""

    count: int
    period_s: float
    period: str
    """The period in a word."""


class Limit(msgspec.Struct, frozen=True):
    """What one caller may do."""

    rate: Rate | None = None
    burst: int = 0
    """The number of calls that may come at once; 0 stands for the rate's count."""
    quota: int = 0
    """The number of calls per UTC day; 0 stands for no limit."""
    denies: bool = False
    """Whether a call is refused while the store is away."""
    shared: bool = False
    """Whether all callers share the limit."""


class PlaceLimit(msgspec.Struct, frozen=True):
    """How many calls of one tool run at once in one process, and how many may wait."""

    concurrency: int
    queue: int = DEFAULT_QUEUE


class Policy(msgspec.Struct, frozen=True):
    """All limits of a server."""

    default: Limit = Limit()
    tools: Mapping[str, Limit] = msgspec.field(default_factory=dict)
    """The limits of tools, by slug or by name."""
    principals: Mapping[str, Limit] = msgspec.field(default_factory=dict)
    """What holds for some principals in place of the default."""
    default_places: PlaceLimit | None = None
    places: Mapping[str, PlaceLimit] = msgspec.field(default_factory=dict)
    breaker: int = 0
    """The number of failures in sequence after which an upstream is left alone; 0 stands for never."""

    @property
    def has_places(self) -> bool:
        """Return whether the calls of any tool are counted while they run."""
        return self.default_places is not None or bool(self.places)


def parse_rate(text: Any) -> Rate:
    """Return the rate of a text such as 60/min; raise ValueError, with what to write, for any other."""
    match = re.fullmatch(r"([0-9]{1,7})/(s|min|h|day)", text.replace(" ", "")) if isinstance(text, str) else None
    if match is None or not 0 < int(match[1]) <= MAX_COUNT:
        shown = shown_value(text) if isinstance(text, str) else "this"
        raise ValueError(f"{shown} cannot be used; write a rate such as 60/min (a number per s, min, h or day)")
    return Rate(int(match[1]), PERIODS[match[2]], PERIOD_WORDS[match[2]])


def read_policy(table: Mapping[str, Any], rate_limit: str | None = None) -> Policy:
    """Return the policy of a `[limits]` table; `rate_limit` takes the place of its rate.

    Raises:
        LimitError: a key is not known, or its value cannot be used.
    """
    own = _read(("limits",), {key: value for key, value in table.items() if key not in TABLES}, DEFAULT_KEYS)
    if rate_limit is not None:
        try:
            own["rate"] = parse_rate(rate_limit)
        except ValueError as error:
            raise LimitError(("rate_limit",), str(error)) from None
    _check_burst(("limits",), own)
    denies = own.get("denies", False)
    tools, places = {}, {}
    for name, limits in _tables(table, "tools"):
        read = _read(("limits", "tools", name), limits, TOOL_KEYS)
        _check_burst(("limits", "tools", name), read)
        _check_shared(("limits", "tools", name), read)
        tools[name] = _limit({"denies": denies} | read)
        if "concurrency" in read or "queue" in read:
            places[name] = _places(("limits", "tools", name), own | read)
    # A queue alone is that of the tools whose tables have a concurrency.
    has_places = "concurrency" in own or ("queue" in own and not places)
    default_places = _places(("limits",), own) if has_places else None
    principals = {}
    for name, limits in _tables(table, "principals"):
        read = _read(("limits", "principals", name), limits, PRINCIPAL_KEYS)
        _check_burst(("limits", "principals", name), read)
        # The default's burst belongs to the default's rate.
        principals[name] = _limit(own | ({"burst": 0} if "rate" in read else {}) | read)
    return Policy(_limit(own), tools, principals, default_places, places, own.get("breaker", 0))


def _limit(read: Mapping[str, Any]) -> Limit:
    return Limit(**{name: read[name] for name in Limit.__struct_fields__ if name in read})


def _places(path: tuple[str, ...], read: Mapping[str, Any]) -> PlaceLimit:
    if "concurrency" not in read:
        raise LimitError((*path, "queue"), "a queue needs a concurrency; write it too, such as concurrency = 4")
    return PlaceLimit(read["concurrency"], read.get("queue", DEFAULT_QUEUE))


def _check_burst(path: tuple[str, ...], read: Mapping[str, Any]) -> None:
    if "burst" in read and read.get("rate") is None:
        raise LimitError((*path, "burst"), 'a burst needs a rate; write it too, such as rate = "60/min"')


def _check_shared(path: tuple[str, ...], read: Mapping[str, Any]) -> None:
    if "shared" in read and "rate" not in read and "quota" not in read:
        raise LimitError(
            (*path, "shared"), 'there is nothing to share; write a rate or a quota too, such as rate = "5/s"'
        )


def _tables(table: Mapping[str, Any], kind: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Return the tables of tools or of principals by their names."""
    tables = table.get(kind, {})
    example = {"tools": '[limits.tools."plantuml.encode"]', "principals": "[limits.principals.alice]"}[kind]
    if not isinstance(tables, Mapping):
        raise LimitError(("limits", kind), f"write a table for each, such as {example}")
    for name, limits in tables.items():
        if not isinstance(limits, Mapping) or not name:
            raise LimitError(("limits", kind, name), f"write a table, such as {example}")
        yield name, limits


def _read(path: tuple[str, ...], table: Mapping[str, Any], keys: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Return the values of a table by the names that they have in structs."""
    read: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in keys:
            raise LimitError((*path, key), "there is no such limit", (*keys, *(TABLES if len(path) == 1 else ())))
        field = "denies" if name == "on_store_error" else name
        if field in read:
            raise LimitError((*path, key), "it is there twice, with a hyphen and with an underscore; write it once")
        try:
            read[field] = keys[name](value)
        except ValueError as error:
            raise LimitError((*path, key), str(error)) from None
    return read


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"write a whole number from {least} to {most}")
        return value

    return read


def _denies(value: Any) -> bool:
    if value not in ("allow", "deny"):
        raise ValueError('write "allow" or "deny": whether calls are let in while the store is away')
    return bool(value == "deny")


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("write true or false")  # noqa: TRY004 - it is the value of a file
    return value


def _quota(value: Any) -> int:
    if value == 0 and type(value) is int:
        raise ValueError(
            f"write a whole number from 1 to {MAX_QUOTA}: a limit is no switch; "
            "to keep callers from a tool, give them tokens whose scopes leave it out"
        )
    return _whole(1, MAX_QUOTA)(value)


RATES: Final[dict[str, Callable[[Any], Any]]] = {
    "rate": parse_rate,
    "burst": _whole(1, MAX_COUNT),
    "quota": _quota,
    "on_store_error": _denies,
}
PLACES: Final[dict[str, Callable[[Any], Any]]] = {
    "concurrency": _whole(1, MAX_PLACES),
    "queue": _whole(0, MAX_PLACES),
}
DEFAULT_KEYS: Final = RATES | PLACES | {"breaker": _whole(1, MAX_PLACES)}
TOOL_KEYS: Final = RATES | PLACES | {"shared": _switch}
PRINCIPAL_KEYS: Final = RATES | {
    "rate": lambda value: None if value == OFF else parse_rate(value),
    "quota": lambda value: 0 if value == OFF else _quota(value),
}
