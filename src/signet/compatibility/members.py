"""Members of a schema: its named properties at any depth, and which of them differ between two schemas. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from signet.system.text import fit

__all__ = ["INNER", "LISTED", "NAMED", "changed_members", "parts_of"]

NAMED: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
"""Keywords whose value maps names of the author's choice to schemas."""
LISTED: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
INNER: Final = frozenset(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"))
APART: Final = NAMED | {"default", "required"}
"""Keywords reported by themselves, not as a change of the member that holds them."""
MAX_SHOWN: Final = 5
MAX_NAME_CHARS: Final = 60
WHOLE: Final = "the whole"

Place = tuple[tuple[str, str], ...]
"""The steps that lead to a part: each a keyword, and the name or number below it."""


def parts_of(schema: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield every part of a schema that is a schema itself, with its place; the whole is the first."""
    stack: list[tuple[Place, Any]] = [((), schema)]
    while stack:
        place, part = stack.pop()
        if not isinstance(part, dict):
            continue
        yield place, part
        stack += [((*place, step), inner) for step, inner in reversed(list(_inner(part)))]


def _inner(part: dict[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the schemas that stand directly in a schema, each with its step."""
    for key, value in part.items():
        if key in NAMED and isinstance(value, dict):
            yield from (((key, name), inner) for name, inner in value.items())
        elif key in LISTED and isinstance(value, list):
            yield from (((key, str(number)), inner) for number, inner in enumerate(value))
        elif key in INNER:
            yield (key, key), value


def changed_members(old: Any, new: Any) -> str:
    """Return the names of the members that differ, and how: `c is new, b is optional now, a changed`.

    Defaults are left out: the verdict names them by themselves.
    """
    before, after = _members(old), _members(new)
    texts = [f"{_shown(name)} is new" for name in after if name not in before]
    texts += [f"{_shown(name)} is gone" for name in before if name not in after]
    for name, (needed, rules) in before.items():
        if name in after and needed != after[name][0]:
            texts.append(f"{_shown(name)} is {'required' if after[name][0] else 'optional'} now")
        elif name in after and rules != after[name][1]:
            texts.append(f"{_shown(name)} changed")
    more = [f"and {len(texts) - MAX_SHOWN} more"] if len(texts) > MAX_SHOWN else []
    return ", ".join([*texts[:MAX_SHOWN], *more])


def _members(schema: Any) -> dict[tuple[str, ...], tuple[bool, list[Any]]]:
    """Return the members of a schema by their names: whether one is required, and its rules in each place."""
    members: dict[tuple[str, ...], tuple[bool, list[Any]]] = {(): (False, [])}
    required: dict[Place, Any] = {}
    for place, part in parts_of(schema):
        required[place] = part.get("required")
        name = tuple([name for key, name in place if key in NAMED])
        if place and place[-1][0] not in NAMED:
            # A branch or an item is a rule of the member around it, which holds it already.
            continue
        needed = required[place[:-1]] if place else None
        is_needed = isinstance(needed, list) and place[-1][1] in needed
        known = members.setdefault(name, (is_needed, []))
        known[1].append(_own_rules(part))
    return members


def _own_rules(part: Any) -> Any:
    """Return a schema without the members in it."""
    if isinstance(part, list):
        return [_own_rules(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: _own_rules(value) for key, value in part.items() if key not in APART}


def _shown(name: tuple[str, ...]) -> str:
    text = ".".join(name) or WHOLE
    return fit(text, MAX_NAME_CHARS)
