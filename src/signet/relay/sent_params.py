"""The params of a request as they leave for a wrapped server: built from the members that were checked. Pure.

members that the method does not have ── left out
arguments ────────────────────────────── the bytes that were checked, unless a name stands twice in one object
members of a method that is not known ── passed on, unless two names could be taken for one
arguments with a name that a lenient server reads as one that is declared ── refused
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, NoReturn
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.equal_names import has_equal_names
from signet.kernel.errors import Code, Fault
from signet.kernel.headers import ParamHeader, headers_of, param_headers
from signet.kernel.wire import decode, encode
from signet.mcp.messages import HOP, members, text_of

from .folded_names import equal_when_folded, fold, fold_all

__all__ = [
    "REFERENCE",
    "DeclaredNames",
    "call_params",
    "check_answer",
    "check_prompt",
    "is_near_known",
    "prompt_arguments",
    "refuse_near",
    "sent_params",
]

Shape = Mapping[str, "Shape | None"]
"""The members that an object may have, and those of each of them where they are known."""

REFERENCE: Final[Shape] = dict.fromkeys(("type", "name", "uri", "title"))
NAMED: Final[Shape] = dict.fromkeys(("name", "arguments"))
ROUND: Final[Shape] = dict.fromkeys(("inputResponses", "requestState"))
PAGE: Final[Shape] = {"cursor": None}
RESOURCE: Final[Shape] = {"uri": None}
TASK: Final[Shape] = {"taskId": None}
KNOWN: Final[Mapping[str, Shape]] = {
    "tools/call": {**NAMED, **ROUND, "task": {"ttl": None}},
    "prompts/get": {**NAMED, **ROUND},
    "resources/read": {**RESOURCE, **ROUND},
    "resources/subscribe": RESOURCE,
    "resources/unsubscribe": RESOURCE,
    "completion/complete": {
        "ref": REFERENCE,
        "argument": dict.fromkeys(("name", "value")),
        "context": {"arguments": None},
    },
    "logging/setLevel": {"level": None},
    **dict.fromkeys(("prompts/list", "resources/list", "resources/templates/list", "tasks/list"), PAGE),
    **dict.fromkeys(("tasks/get", "tasks/result", "tasks/cancel"), TASK),
    "tasks/update": {**TASK, **ROUND},
}
"""The members of the params of each method, beside `_meta`."""
OTHERS: Final = ("initialize", "ping", "server/discover", "subscriptions/listen", "tools/list")
METHODS: Final = {fold(method): method for method in (*KNOWN, *OTHERS)}
"""The methods whose requests are not passed on as they are, by their folded names."""
SCALARS: Final = frozenset(bytes([one]) for one in b'"-0123456789tfn')
"""What a value begins with that has no names in it."""
META: Final = b'"_meta"'
TOKEN: Final = "progresstoken"  # noqa: S105 - the folded name of a member
MAX_STEPS: Final = 100_000
"""The schemas that are looked at for one call; arguments that need more count as near."""
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")
OF_ITEMS: Final = ("items", "prefixItems", "contains", "additionalItems", "unevaluatedItems")
OF_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
CONTAINERS: Final = (dict, list)
KINDS: Final = frozenset(CONTAINERS)


def is_near_known(method: str) -> bool:
    """Return whether some parser takes a method for another one, whose requests are checked."""
    return METHODS.get(fold(method), method) != method


def sent_params(method: str, raw: Raw, decoded: Any = None) -> Raw:
    """Return the params of a client's request as a server gets them; of a call, `decoded` are those that were checked.

    Raises:
        Fault: two names in one object are equal, or some parsers take them for one.
    """
    arguments = getattr(decoded, "arguments", UNSET)
    if method == "tools/call" and arguments:
        text, checked = bytes(raw), encode({"name": decoded.name, "arguments": arguments})
        is_spaced = len(text) > len(checked) and META not in text
        if text == checked or (is_spaced and msgspec.json.format(text, indent=-1) == checked):
            # What most clients write, with white space or without: what was checked is all that is there.
            return raw
    shape = KNOWN.get(method)
    if shape is None:
        if has_equal_names(raw):
            _refuse_equal("params")
        _check_folded("params", members(raw))
    parts = members(raw)
    sent: dict[str, Any] = {}
    for name, value in parts.items():
        if name == "_meta":
            meta = _sent_meta(value)
            sent |= {name: meta} if meta else {}
        elif shape is None:
            sent[name] = value
        elif name in shape:
            is_plain = bytes(value)[:1] in SCALARS
            decoded_part = arguments if name == "arguments" else UNSET
            sent[name] = value if is_plain else _sent_member(name, value, shape[name], decoded_part)
    return Raw(encode(sent))


def _sent_member(name: str, value: Raw, shape: Shape | None, decoded: Any) -> Any:
    if not _is_container(value):
        return value
    if has_equal_names(value, decoded):
        _refuse_equal(name)
    if name == "inputResponses":
        for key, answer in members(value).items():
            why = check_answer(answer)
            if why:
                raise _refused(f"{name}.{key}: {why}")
    if shape is None:
        return value
    return {key: part for key, part in members(value).items() if key in shape}


def _sent_meta(raw: Raw) -> dict[str, Raw]:
    """Return the members of `_meta` that are not of one hop alone."""
    kept = {key: value for key, value in members(raw).items() if not key.startswith(HOP) and key != "progressToken"}
    if not kept:
        return kept
    _check_folded("_meta", kept)
    for key, value in kept.items():
        if _is_container(value) and has_equal_names(value):
            _refuse_equal(f"_meta.{key}")
    return {key: value for key, value in kept.items() if fold(key) != TOKEN and not fold(key).startswith(HOP)}


def call_params(name: str, arguments: Any, written: Raw | None) -> Raw:
    """Return the params of a call through another door than MCP, with the arguments as they were written if possible.

    Where a name stands twice in one object, they are written anew: what was checked has it once.
    """
    is_same = False
    if written is not None:
        with suppress(ValueError):
            is_same = decode(bytes(written)) == arguments and not has_equal_names(written, arguments)
    return Raw(encode({"name": name, "arguments": written if is_same else arguments}))


def check_answer(answer: Raw) -> str:
    """Return why a client's answer to a question of a server cannot be passed on; empty if it can."""
    if not _is_container(answer):
        return ""
    if has_equal_names(answer):
        return "a name stands twice in one object"
    parts = members(answer)
    same = equal_when_folded(parts) or equal_when_folded(members(parts.get("content")))
    return f"the names {same[0]!r} and {same[1]!r} may be taken for one" if same is not None else ""


def refuse_near(name: str, declared: str) -> NoReturn:
    """Raise Fault for a name that may be taken for one that is declared; both are empty where that is not known."""
    if not declared:
        raise _refused("Invalid arguments: they have too many parts to find out which names a server could mistake")
    raise _refused(
        f"Invalid arguments: some servers take {name[:100]!r} for {declared[:100]!r}; "
        "write each name as the tool or prompt declares it"
    )


def prompt_arguments(method: str, params: Raw) -> dict[str, Raw]:
    """Return the arguments of a prompt that a request sends: those beside its name, or those of its context."""
    parts = members(params)
    return members((members(parts.get("context")) if method == "completion/complete" else parts).get("arguments"))


def check_prompt(entry: Raw | None, given: Mapping[str, Raw]) -> None:
    """Raise Fault if an argument may be taken for one that a prompt declares; None stands for an unknown prompt."""
    if entry is None:
        _check_folded("arguments", given)
        return
    try:
        listed = msgspec.json.decode(members(entry).get("arguments", b"[]"), type=list[dict[str, Raw]])
    except msgspec.DecodeError:
        listed = []
    names = {text_of(one.get("name")) for one in listed}
    near = DeclaredNames(encode({"properties": dict.fromkeys(names)})).near(dict.fromkeys(given))
    if near is not None:
        refuse_near(*near)


def _check_folded(place: str, names: Collection[str]) -> None:
    same = equal_when_folded(names) if len(names) > 1 else None
    if same is not None:
        first, second = (name[:100] for name in same)
        raise _refused(f"Invalid {place}: some servers take {first!r} and {second!r} for one name; send one of them")


def _refuse_equal(place: str) -> NoReturn:
    raise _refused(f"Invalid {place[:100]}: a name stands twice in one object; send each name once")


def _refused(message: str) -> Fault:
    return Fault(Code.INVALID_INPUT, message)


def _is_container(value: Raw) -> bool:
    return bytes(value).lstrip(b" \t\r\n")[:1] in {b"{", b"["}


class DeclaredNames:
    """The names that a schema declares; what is known of it is found out when it is first needed.

    all names of the schema together ── none of the arguments comes near ── the arguments may be sent
    one does ── the names that the schema declares at its place ── no such name there: a free map ── likewise
                                                                └─ the arguments are refused
    """

    def __init__(self, schema: Raw | bytes) -> None:
        self._raw = bytes(schema)

    def near(self, arguments: Any) -> tuple[str, str] | None:
        """Return a name in the arguments that is not declared, and the declared one that it may be read as, or None.

        Both are empty where that takes too many steps to find out.
        """
        names, folds, longest = self._all
        if not folds:
            return None  # nothing is declared that a name could be near
        is_flat = isinstance(arguments, dict) and KINDS.isdisjoint(map(type, arguments.values()))
        for value in (arguments,) if is_flat else _dicts(arguments):
            others = value.keys() - names
            if others and not folds.isdisjoint(dict(fold_all(others, longest)).values()):
                return _Search(self._schema).near(arguments)
        return None

    def headers(self, arguments: Any) -> tuple[tuple[str, str], ...]:
        """Return the headers that repeat arguments over HTTP; they are made of what was checked, never passed on."""
        return headers_of(self._headers, arguments) if self._headers else ()

    @cached_property
    def _headers(self) -> list[ParamHeader]:
        try:
            return param_headers(Raw(self._raw))
        except (ValueError, RecursionError):
            return []

    @cached_property
    def _schema(self) -> Any:
        try:
            return msgspec.json.decode(self._raw)
        except (ValueError, RecursionError):
            return {}

    @cached_property
    def _all(self) -> tuple[frozenset[str], frozenset[str], int]:
        """The names that are declared anywhere, their folded forms, and the length of the longest of these.

        Names that are folded alike are left out: which of them may stand at a place is found there.
        """
        folded = fold_all(frozenset(_all_names(self._schema)))
        counts = Counter(form for _, form in folded)
        names = frozenset(_all_names(self._schema)).difference(name for name, form in folded if counts[form] > 1)
        del self.__dict__["_schema"]  # most schemas are not needed again
        return names, frozenset(counts), max(map(len, counts), default=0)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a value."""
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            yield one
            waiting += [part for part in one.values() if isinstance(part, CONTAINERS)]
        elif isinstance(one, list):
            waiting += [part for part in one if isinstance(part, CONTAINERS)]


def _all_names(schema: Any) -> Iterator[str]:
    """Yield the names that a schema declares anywhere."""
    for one in _dicts(schema):
        yield from _names_of(one)


def _names_of(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the names that a schema itself declares."""
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        yield from properties
    if isinstance(required, list):
        yield from (name for name in required if isinstance(name, str))


class _OverBudgetError(Exception):
    """The search has taken too many steps."""


class _Place:
    """All schemas that may hold for a value, and the names that they declare."""

    def __init__(self, schemas: Collection[dict[str, Any]]) -> None:
        self.schemas = schemas
        self.names = frozenset(name for one in schemas for name in _names_of(one))
        self.folds = {folded: name for name, folded in fold_all(self.names)}
        """The declared names by their folded forms."""
        self.longest = max(map(len, self.folds), default=0)
        self.below: dict[str | None, _Place] = {}
        """What holds for its members: those that are declared by their names, all others below None."""


class _Search:
    """The search for a name that is near one that is declared at its place."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._anything = {"properties": dict.fromkeys(_all_names(schema), True)}
        """What a reference that cannot be followed stands for."""
        self._places: dict[frozenset[int], _Place] = {}
        self._named: dict[str, Any] | None = None
        self._steps = 0

    def near(self, arguments: Any) -> tuple[str, str] | None:
        waiting: list[tuple[Any, _Place]] = []
        try:
            waiting.append((arguments, self._place([self._root])))
            for value, place in waiting:
                found = self._near_here(value, place)
                if found is not None:
                    return found
                waiting += self._below(value, place)
        except _OverBudgetError:
            return "", ""
        return None

    def _near_here(self, value: Any, place: _Place) -> tuple[str, str] | None:
        if not isinstance(value, dict) or value.keys() <= place.names:
            return None
        others = [name for name in value if name not in place.names]
        for name, folded in fold_all(others, place.longest):
            if folded in place.folds:
                return name, place.folds[folded]
        return None

    def _below(self, value: Any, place: _Place) -> Iterator[tuple[Any, _Place]]:
        """Yield the objects and arrays in a value, with what holds for each."""
        if isinstance(value, list):
            parts = [part for part in value if isinstance(part, CONTAINERS)]
            if parts:
                of_items = self._place([one[key] for one in place.schemas for key in OF_ITEMS if key in one])
                yield from ((part, of_items) for part in parts)
            return
        for name, part in value.items():
            if isinstance(part, CONTAINERS):
                key = name if name in place.names else None
                if key not in place.below:
                    self._step(len(place.schemas))
                    place.below[key] = self._place([sub for one in place.schemas for sub in _of_member(one, key)])
                yield part, place.below[key]

    def _place(self, schemas: list[Any]) -> _Place:
        """Return what holds together, with all that it applies in place and refers to."""
        key = frozenset(map(id, schemas))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = _Place(self._closed(schemas))
            self._step(len(known.names))
        return known

    def _closed(self, schemas: list[Any]) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        waiting = [*schemas]
        while waiting:
            one = waiting.pop()
            self._step(1)
            if isinstance(one, list):
                waiting += one
            elif isinstance(one, dict) and id(one) not in found:
                found[id(one)] = one
                waiting += [self._referred(one[key]) for key in REFERENCES if key in one]
                waiting += [one[key] for key in IN_PLACE if key in one]
                by_name = [one[key] for key in IN_PLACE_BY_NAME if isinstance(one.get(key), dict)]
                waiting += [part for parts in by_name for part in parts.values()]
        return list(found.values())

    def _referred(self, reference: Any) -> Any:
        """Return the schema that a reference names; all names where it is not found."""
        if not isinstance(reference, str):
            return self._anything
        base, _, fragment = reference.partition("#")
        schema = self._by_name(base) if base else self._root
        if not fragment.startswith("/"):
            return self._by_name(f"#{fragment}") if fragment else schema
        for part in fragment[1:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            try:
                schema = schema[int(name)] if isinstance(schema, list) else schema[name]
            except (LookupError, ValueError, TypeError):
                return self._anything
        return schema

    def _by_name(self, name: str) -> Any:
        """Return the schema with an id or an anchor."""
        if self._named is None:
            self._named = {}
            for one in _dicts(self._root):
                self._step(1)
                for key, mark in (("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
                    if isinstance(one.get(key), str):
                        self._named.setdefault(mark + one[key], one)
        return self._named.get(name, self._anything)

    def _step(self, count: int) -> None:
        self._steps += count
        if self._steps > MAX_STEPS:
            raise _OverBudgetError


def _of_member(schema: dict[str, Any], name: str | None) -> Iterator[Any]:
    """Yield the schemas that may hold for a member; None stands for one that is not declared."""
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    is_named = isinstance(properties, dict) and name in properties
    if is_named and properties is not None:
        yield properties[name]
    if isinstance(patterns, dict):
        yield from patterns.values()
    if not is_named:
        yield from (schema[key] for key in OF_OTHERS if key in schema)
