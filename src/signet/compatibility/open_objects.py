"""Open objects: two readings of a schema that has no rule for undeclared properties. Pure.

JSON Schema admits any further property where a schema has no rule for them, so a new optional argument would reject
values that were admitted under its name. Clients do not send undeclared names; `without` excludes such values from the
old input. A removed argument is still admitted, and silently ignored; `closed` lets each object admit only the names
that it mentions, and so exposes what is ignored. An object with a rule of its own for other properties
(`additionalProperties`, even `true`, and similar keywords) is taken literally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["Schema", "closed", "declared_names", "named_parts", "resolve", "without"]

Schema = dict[str, Any] | bool

COMBINATOR_LISTS: Final = ("allOf", "anyOf", "oneOf")
CONDITIONALS: Final = ("if", "then", "else", "not")
RULES: Final = frozenset(("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"))
"""With one of these keywords a schema itself has a rule for other properties."""
PROPERTY_MAPS: Final = frozenset(("properties", "patternProperties"))
UNMOVABLE: Final = frozenset(("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$id"))
"""A part with one of these keywords cannot be moved: its schema is taken literally."""

MAX_INLINED: Final = 500
"""A document with more references than this is taken literally: inlining might not end."""
DIALECTS: Final = ("2020-12", "2019-09")
"""Earlier dialects ignore the keywords beside a reference."""

Rule = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns the keywords to add to a schema."""


def without(schema: Schema, names: frozenset[str]) -> tuple[Schema, ...]:
    """Return variants of the schema that reject `names` wherever they are undeclared properties.

    The first variant rejects them at the root alone, where no part has to be moved; the second in every object.
    """

    def rule(part: dict[str, Any]) -> dict[str, Any]:
        new_names = names - _mentioned_names(part, schema) if _is_open(part, schema) else ()
        return {"propertyNames": {"not": {"enum": sorted(new_names)}}} if new_names else {}

    if isinstance(schema, bool):
        return (schema,)
    return {**schema, **rule(schema)}, _Rewriter(schema, rule, descend=frozenset(("allOf", "anyOf"))).rewrite()


def closed(schema: Schema) -> Schema:
    """Return the schema with each object that declares properties closed to names that it does not mention."""

    def rule(part: dict[str, Any]) -> dict[str, Any]:
        if not _is_open(part, schema):
            return {}
        names = sorted(_mentioned_names(part, schema))
        return {"propertyNames": {"enum": names} if names else {"not": {}}}

    return _Rewriter(schema, rule, descend=frozenset(COMBINATOR_LISTS)).rewrite()


def declared_names(schema: object) -> frozenset[str]:
    """Return the name of every property that is declared anywhere in a schema."""
    return frozenset(name for part in named_parts(schema, "properties") if isinstance(part, dict) for name in part)


def named_parts(schema: object, *keywords: str) -> Iterator[Any]:
    """Return the values of these keywords at any depth."""
    return (part[keyword] for part in _dicts(schema) for keyword in keywords if keyword in part)


def resolve(reference: str, root: Schema) -> Schema | None:
    """Return the part of the document that a reference names, or None if it is elsewhere or missing."""
    if not reference.startswith("#"):
        return None
    target: Any = root
    if reference[1:2] not in {"", "/"}:
        anchored = (part for part in _dicts(root) if part.get("$anchor") == reference[1:])
        return next(anchored, None)
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            target = target[int(key)] if isinstance(target, list) else target[key]
        except (LookupError, ValueError, TypeError):
            return None
    return target if isinstance(target, dict | bool) else None


def _dicts(part: object) -> Iterator[dict[str, Any]]:
    """Yield every object within a value, the outer ones first."""
    if isinstance(part, dict):
        yield part
    if isinstance(part, dict | list | tuple):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _dicts(inner)


def _same_instance(part: object, root: Schema, seen: set[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas within it that apply to the same instance."""
    if not isinstance(part, dict):
        return
    yield part
    seen = set() if seen is None else seen
    inner = [schema for name in COMBINATOR_LISTS for schema in part.get(name, ())]
    inner += [part[name] for name in CONDITIONALS if name in part]
    inner += part.get("dependentSchemas", {}).values()
    reference = part.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        inner.append(resolve(reference, root))
    for schema in inner:
        yield from _same_instance(schema, root, seen)


def _mentioned_names(part: dict[str, Any], root: Schema) -> frozenset[str]:
    """Return the property names that a schema mentions in any keyword."""
    names: set[str] = set()
    for schema in _same_instance(part, root):
        for keyword in ("properties", "required", "dependentSchemas", "dependencies"):
            names.update(schema.get(keyword, ()))
        for name, needed in schema.get("dependentRequired", {}).items():
            names.update((name, *needed))
        for value in (*schema.get("enum", ()), schema.get("const")):
            names.update(value if isinstance(value, dict) else ())
    return frozenset(names)


def _is_open(part: dict[str, Any], root: Schema) -> bool:
    """Return True if a schema declares properties and has no rule for others; the root always declares."""
    schemas = list(_same_instance(part, root))
    declares = part is root or any("properties" in schema for schema in schemas)
    return declares and not any(RULES & set(schema) or _has_unresolved_reference(schema, root) for schema in schemas)


def _has_unresolved_reference(part: dict[str, Any], root: Schema) -> bool:
    """Return True if a schema continues where it cannot be followed; it may have any rule there."""
    reference = part.get("$ref")
    unresolved = isinstance(reference, str) and resolve(reference, root) is None
    return unresolved or "$dynamicRef" in part or "$recursiveRef" in part


class _Rewriter:
    """Adds keywords by a rule wherever a narrower part makes a narrower whole; other parts stay as they are."""

    def __init__(self, root: Schema, rule: Rule, descend: frozenset[str]) -> None:
        self.root = root
        self.rule = rule
        self.descend = descend
        self.inlined = 0

    def rewrite(self) -> Schema:
        if isinstance(self.root, bool) or not _is_movable(self.root):
            return self.root
        rewritten = self._instance(self.root, frozenset())
        # A reference that was not inlined must keep its meaning: only definitions are unchanged.
        references = (reference for reference in named_parts(rewritten, "$ref") if isinstance(reference, str))
        unchanged = all(reference.startswith(("#/$defs/", "#/definitions/")) for reference in references)
        return rewritten if unchanged and self.inlined < MAX_INLINED else self.root

    def _instance(self, part: Any, chain: frozenset[str]) -> Any:
        """Rewrite the schema of an instance of its own."""
        return {**self._parts(part, chain), **self.rule(part)} if isinstance(part, dict) else part

    def _parts(self, part: Any, chain: frozenset[str]) -> Any:
        """Rewrite the schemas within a schema, whether for the same instance or for one inside it."""
        if not isinstance(part, dict):
            return part
        new = {key: value for key, value in part.items() if key != "$anchor"}
        for key in PROPERTY_MAPS & set(part):
            new[key] = {name: self._instance(schema, chain) for name, schema in part[key].items()}
        for key in {"additionalProperties", "items"} & set(part):
            new[key] = self._instance(part[key], chain)
        if "prefixItems" in part:
            new["prefixItems"] = [self._instance(schema, chain) for schema in part["prefixItems"]]
        for key in self.descend & set(part):
            new[key] = [self._parts(schema, chain) for schema in part[key]]
        for key in {"then", "else"} & set(part):
            new[key] = self._parts(part[key], chain)
        return self._inline(new, chain)

    def _inline(self, part: dict[str, Any], chain: frozenset[str]) -> dict[str, Any]:
        """Replace a reference by its target, unless the target contains the reference."""
        reference = part.get("$ref")
        if not isinstance(reference, str) or reference in chain or self.inlined >= MAX_INLINED:
            return part
        self.inlined += 1
        target = resolve(reference, self.root)
        if target is None:
            return part
        rest = {key: value for key, value in part.items() if key != "$ref"}
        return {**rest, "allOf": [*rest.get("allOf", ()), self._parts(target, chain | {reference})]}


def _is_movable(root: dict[str, Any]) -> bool:
    """Return True if the parts of a document mean the same in another place of it."""
    inner = (part for part in _dicts(root) if part is not root)
    dialect = str(root.get("$schema", DIALECTS[0]))
    return any(known in dialect for known in DIALECTS) and not any(UNMOVABLE & set(part) for part in inner)
