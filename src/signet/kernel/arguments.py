"""Arguments: the names that a tool takes, the names beside them, and the nulls that count as absent. Pure.

given names ── known ─────────────────────────────▶ checked against the contract
            └─ unknown ── near miss of a known one ──▶ refused, with the right name
                        └─ any other ────────────────▶ ignored, and named in the result
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import msgspec

from signet.system.text import cut

__all__ = ["ArgumentNames", "names_in", "plain_view", "whole_numbers", "without_nulls", "without_unknown"]

MAX_NAMES: Final = 20
MAX_NAME_CHARS: Final = 64
"""The limits of what is said and compared of unknown names, which may be hostile: their number, and their length."""

ONE_SLIP_CHARS: Final = 4
TWO_SLIPS_CHARS: Final = 8
"""The length from which a name may differ from a known one by one slip, and by two, to count as a near miss."""

FREE_NAMES: Final = frozenset(
    ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties", "propertyNames",
     "unevaluatedProperties")
)  # fmt: skip
"""Keywords by which an input takes names beside its properties, or gives them a meaning."""

NULL: Final = {"type": "null"}
ANNOTATIONS: Final = frozenset(("default", "deprecated", "description", "examples", "title"))


class ArgumentNames(msgspec.Struct, frozen=True):
    """The names of the arguments that an input contract describes."""

    known: frozenset[str]
    optional: frozenset[str]
    ordered: tuple[str, ...]
    """The known names, in the order of the contract."""

    def unknown(self, arguments: dict[str, Any]) -> list[str]:
        """Return the first unknown names; they are no more than `MAX_NAMES`."""
        return list(islice((name for name in arguments if name not in self.known), MAX_NAMES))

    def near_miss(self, arguments: dict[str, Any]) -> tuple[str, str] | None:
        """Return the first unknown name that is close to an argument that is absent, and that argument's name."""
        absent = [name for name in self.ordered if arguments.get(name) is None]
        for name in self.unknown(arguments):
            if len(name) <= MAX_NAME_CHARS:
                near = [(slips, known) for known in absent if (slips := _slips(name, known)) is not None]
                if near:  # rule: 2.common.unknown
                    return name, min(near, key=_first)[1]
        return None

    def ignored(self, arguments: dict[str, Any], refused: str | None = None) -> tuple[str, ...]:
        """Return what to say of the unknown names, all but the refused one: their beginnings, and how many more."""
        names = [cut(name, MAX_NAME_CHARS) for name in self.unknown(arguments) if name != refused]
        more = sum(name not in self.known for name in arguments) - len(names) - (refused is not None)
        return (*names, f"… and {more} more") if more > 0 else tuple(names)


def names_in(schema: Any) -> ArgumentNames | None:
    """Return the names of an input contract, or None if it takes further names under rules of its own."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or FREE_NAMES & set(schema) or schema.get("additionalProperties"):
        return None
    ordered = tuple(properties)
    return ArgumentNames(frozenset(ordered), frozenset(ordered) - set(schema.get("required", ())), ordered)


def without_nulls(arguments: Any, names: frozenset[str] | None = None) -> Any:
    """Return the arguments without those that are null: all of them, or those with one of some names."""
    if not isinstance(arguments, dict) or None not in arguments.values():
        return arguments
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or (names is not None and name not in names)
    }


def plain_view(schema: Any) -> tuple[Any, frozenset[str]]:
    """Return a schema whose properties do not say that they may be null, and the names of those that did.

    A message about a value then names the rule that it breaks, and not that it is neither this nor null.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return schema, frozenset()
    plain = {name: branch for name, part in properties.items() if (branch := _not_null(part)) is not None}
    return ({**schema, "properties": {**properties, **plain}} if plain else schema), frozenset(plain)


def _not_null(part: Any) -> dict[str, Any] | None:
    """Return the other branch of a schema for a value or null, or None for any other schema."""
    branches = part.get("anyOf") if isinstance(part, dict) else None
    if not isinstance(branches, list) or NULL not in branches:
        return None
    if not all(key == "anyOf" or key in ANNOTATIONS or key.startswith("x-") for key in part):
        return None
    others = [branch for branch in branches if branch != NULL]
    return others[0] if len(others) == 1 and isinstance(others[0], dict) else None


def _slips(name: str, known: str) -> int | None:
    """Return the slips between a name and a known one, or None for too many; case and separators do not count."""
    name, known = _letters(name), _letters(known)
    allowed = (len(known) >= ONE_SLIP_CHARS) + (len(known) >= TWO_SLIPS_CHARS)
    if name == known:
        return 0
    if not name or abs(len(name) - len(known)) > allowed:
        return None
    slips = _distance(name, known)
    return slips if slips <= allowed else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _distance(one: str, other: str) -> int:
    """Return the least number of letters inserted, left out, changed or swapped with the next one."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        above, row = rows[-1], [i]
        for j, wanted in enumerate(other, 1):
            slips = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and wanted == one[i - 2]:
                slips = min(slips, rows[-2][j - 2] + 1)
            row.append(slips)
        rows.append(row)
    return rows[-1][-1]


def _first(pair: tuple[int, str]) -> int:
    return pair[0]


def without_unknown(arguments: Any, struct: Any) -> Any:
    """Return the arguments that the tool's struct has fields for."""
    names = getattr(struct, "__struct_encode_fields__", None)
    if names is None or not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if name in names}


def whole_numbers(value: Any) -> Any:
    """Return a value in which 10.0 is 10, as it is to JSON Schema."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [whole_numbers(part) for part in value]
    if isinstance(value, dict):
        return {name: whole_numbers(part) for name, part in value.items()}
    return value
