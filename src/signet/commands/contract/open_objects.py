"""Open objects: what a schema says of properties that it does not name, and two ways of reading it.

JSON Schema admits any further property where nothing is said of them, so a new optional argument would refuse values
that were admitted under its name. Nobody sends what is not named; `without` leaves such values out of the old input.
In turn a removed argument is still admitted, and dropped in silence; `closed` takes each object to admit only the
names that it speaks of, and so shows what was dropped. An object with a rule of its own for other properties
(`additionalProperties`, even `true`, and its like) is taken at its word. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["Schema", "closed", "declared_names", "named_parts", "resolve", "without"]

Schema = dict[str, Any] | bool

LISTS: Final = ("allOf", "anyOf", "oneOf")
ONES: Final = ("if", "then", "else", "not")
RULES: Final = frozenset(("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"))
"""Where one of these stands, the schema says itself what other properties may be."""
MAPS: Final = frozenset(("properties", "patternProperties"))
UNMOVABLE: Final = frozenset(("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$id"))
"""What cannot be read in a part that was moved: a schema with one of these keeps its formal meaning."""

MOST_INLINED: Final = 500
"""A document that refers to itself more often than this keeps its formal meaning: written out, it might not end."""
DIALECTS: Final = ("2020-12", "2019-09")
"""Before these, what stands beside a reference was ignored."""

Rule = Callable[[dict[str, Any]], dict[str, Any]]


def without(schema: Schema, names: frozenset[str]) -> tuple[Schema, ...]:
    """Leave out the values with a property of these names where the schema does not speak of that name.

    First at the root alone, where nothing has to be moved, then wherever an object stands.
    """

    def rule(part: dict[str, Any]) -> dict[str, Any]:
        fresh = names - _names(part, schema) if _is_open(part, schema) else ()
        return {"propertyNames": {"not": {"enum": sorted(fresh)}}} if fresh else {}

    if isinstance(schema, bool):
        return (schema,)
    return {**schema, **rule(schema)}, _Reader(schema, rule, descend=frozenset(("allOf", "anyOf"))).read()


def closed(schema: Schema) -> Schema:
    """Give the schema with each object that declares properties closed to names that it does not speak of."""

    def rule(part: dict[str, Any]) -> dict[str, Any]:
        if not _is_open(part, schema):
            return {}
        names = sorted(_names(part, schema))
        return {"propertyNames": {"enum": names} if names else {"not": {}}}

    return _Reader(schema, rule, descend=frozenset(LISTS)).read()


def declared_names(schema: object) -> frozenset[str]:
    """Name every property that is declared anywhere in a schema."""
    return frozenset(name for part in named_parts(schema, "properties") if isinstance(part, dict) for name in part)


def named_parts(schema: object, *keywords: str) -> Iterator[Any]:
    """Give what stands under these keywords, however deep."""
    if isinstance(schema, dict):
        yield from (schema[keyword] for keyword in keywords if keyword in schema)
    if isinstance(schema, dict | list | tuple):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from named_parts(part, *keywords)


def resolve(reference: str, root: Schema) -> Schema | None:
    """Find the part of the document that a reference names; None for what is elsewhere or nowhere."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    if reference[1:2] not in {"", "/"}:
        anchored = (part for part in _dicts(root) if part.get("$anchor") == reference[1:])
        return next(anchored, None)
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (LookupError, ValueError, TypeError):
            return None
    return found if isinstance(found, dict | bool) else None


def _dicts(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    if isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _dicts(inner)


def _same_place(part: object, root: Schema, seen: set[str] | None = None) -> Iterator[dict[str, Any]]:
    """Give a schema and all inside it that speak of the same value."""
    if not isinstance(part, dict):
        return
    yield part
    seen = set() if seen is None else seen
    inner = [one for name in LISTS for one in part.get(name, ())]
    inner += [part[name] for name in ONES if name in part]
    inner += part.get("dependentSchemas", {}).values()
    reference = part.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        inner.append(resolve(reference, root))
    for one in inner:
        yield from _same_place(one, root, seen)


def _names(part: dict[str, Any], root: Schema) -> frozenset[str]:
    """Name the properties that a schema speaks of, in whatever keyword."""
    names: set[str] = set()
    for one in _same_place(part, root):
        for keyword in ("properties", "required", "dependentSchemas", "dependencies"):
            names.update(one.get(keyword, ()))
        for name, needed in one.get("dependentRequired", {}).items():
            names.update((name, *needed))
        for value in (*one.get("enum", ()), one.get("const")):
            names.update(value if isinstance(value, dict) else ())
    return frozenset(names)


def _is_open(part: dict[str, Any], root: Schema) -> bool:
    """Tell whether a schema declares properties and has no rule for others; the root always declares."""
    places = list(_same_place(part, root))
    declares = part is root or any("properties" in one for one in places)
    return declares and not any(RULES & set(one) or _leads_away(one, root) for one in places)


def _leads_away(part: dict[str, Any], root: Schema) -> bool:
    """Tell whether a schema goes on where it cannot be followed, and may say anything there."""
    reference = part.get("$ref")
    lost = isinstance(reference, str) and resolve(reference, root) is None
    return lost or "$dynamicRef" in part or "$recursiveRef" in part


class _Reader:
    """Rewrites a schema by a rule, wherever a smaller part makes a smaller whole; elsewhere it stays as it is."""

    def __init__(self, root: Schema, rule: Rule, descend: frozenset[str]) -> None:
        self.root = root
        self.rule = rule
        self.descend = descend
        self.inlined = 0

    def read(self) -> Schema:
        if isinstance(self.root, bool) or not _is_movable(self.root):
            return self.root
        written = self._place(self.root, frozenset())
        # A reference that could not be put in place must go on meaning what it meant: only definitions are untouched.
        left = (one for one in named_parts(written, "$ref") if isinstance(one, str))
        settled = all(one.startswith(("#/$defs/", "#/definitions/")) for one in left)
        return written if settled and self.inlined < MOST_INLINED else self.root

    def _place(self, part: Any, chain: frozenset[str]) -> Any:
        """Rewrite a schema of a value of its own."""
        return {**self._parts(part, chain), **self.rule(part)} if isinstance(part, dict) else part

    def _parts(self, part: Any, chain: frozenset[str]) -> Any:
        """Rewrite what is inside a schema, whether it speaks of the same value or of one within."""
        if not isinstance(part, dict):
            return part
        new = {key: value for key, value in part.items() if key != "$anchor"}
        for key in MAPS & set(part):
            new[key] = {name: self._place(one, chain) for name, one in part[key].items()}
        for key in {"additionalProperties", "items"} & set(part):
            new[key] = self._place(part[key], chain)
        if "prefixItems" in part:
            new["prefixItems"] = [self._place(one, chain) for one in part["prefixItems"]]
        for key in self.descend & set(part):
            new[key] = [self._parts(one, chain) for one in part[key]]
        for key in {"then", "else"} & set(part):
            new[key] = self._parts(part[key], chain)
        return self._inline(new, chain)

    def _inline(self, part: dict[str, Any], chain: frozenset[str]) -> dict[str, Any]:
        """Put in place what a reference names, unless it names what it stands in."""
        reference = part.get("$ref")
        if not isinstance(reference, str) or reference in chain or self.inlined >= MOST_INLINED:
            return part
        self.inlined += 1
        target = resolve(reference, self.root)
        if target is None:
            return part
        rest = {key: value for key, value in part.items() if key != "$ref"}
        return {**rest, "allOf": [*rest.get("allOf", ()), self._parts(target, chain | {reference})]}


def _is_movable(root: dict[str, Any]) -> bool:
    """Tell whether parts of a document mean the same in another place of it."""
    inner = (part for part in _dicts(root) if part is not root)
    dialect = str(root.get("$schema", DIALECTS[0]))
    return any(known in dialect for known in DIALECTS) and not any(UNMOVABLE & set(part) for part in inner)
