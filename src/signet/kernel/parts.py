"""Parts: a value that is too large to be checked in one step, checked member by member and item by item. Pure.

    the whole ── work within a step ──▶ the validator
              └─ more ── its own keywords, then each member and item by the schema for it ──▶ the same again

The validator works in one step that nothing can interrupt. The work of all steps together has a budget too; a value
that passes it is refused, never let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from .schema_budget import SchemaBudget, pattern_work
from .schema_references import part_at
from .schema_work import measure_value
from .spending import MAX_WORK, STEP_WORK, OverBudgetError, Spending, ValueSize

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, Registry

__all__ = [
    "CALL_WORK",
    "Parts",
    "escaped",
    "measured",
    "plausible",
    "pointer_of",
]

CALL_WORK: Final = 400
"""The work of looking at one part of a value without the validator."""
MEASURE_WORK: Final = 8
"""The work of measuring one part of a value."""
PATTERN_WORK: Final = 5_000
"""The work of compiling one pattern of names."""
COUNT_WORK: Final = 500
"""The work of counting what one part of a schema costs."""
COMPILED_PER_WORK: Final = 8
"""The bytes of a compiled schema that take one unit of work to be made."""
UNIQUE_WORK: Final = 100
"""The work of writing one part of an item in the one way that all equal items are written in."""
RUN_LENGTH: Final = 4_096
"""The most items that are measured and checked at once."""
WHOLE: Final = "urn:signet:whole-contract"
KEPT_BYTES: Final = 64 << 20
"""The memory of the compiled parts of all schemas together; those of the schema used longest ago are dropped first."""

OWN: Final = frozenset(
    ("type", "required", "minItems", "maxItems", "minProperties", "maxProperties", "dependentRequired")
)
"""The keywords that cost the same however large an array or an object is."""
LOOKING: Final = frozenset(
    ("enum", "const", "contains", "minContains", "maxContains", "propertyNames", "dependentSchemas",
     "dependencies", "additionalItems", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
     "extends", "disallow")
)  # fmt: skip
"""The keywords that look at all of an array or object at once."""
LONE_REFERENCE: Final = ("draft-04", "draft-06", "draft-07")
"""The drafts in which a reference has no keywords beside it."""


_kept: Final[dict[Parts, int]] = {}
"""The memory of the compiled parts of each schema; the one used last comes last.

Values are checked in several threads, so each step is a single operation of the dict.
"""


class Parts:
    """The parts of one schema, each compiled when it is first needed."""

    def __init__(self, schema: Any, draft: Callable[..., Draft202012Validator], whole: Any) -> None:
        """Take a schema, the class of its draft, and its validator."""
        self.schema = schema
        self.budget = SchemaBudget(schema)
        self._draft = draft
        self._registry: Registry | None = None
        self._validators: dict[str, Any] = {"": whole}
        named = schema.get("$schema") if isinstance(schema, dict) else None
        self._lone = isinstance(named, str) and any(draft in named for draft in LONE_REFERENCE)

    def keeps(self, pointer: str, part: Any, value: Any, spending: Spending) -> bool:
        """Return whether a value keeps the part of the schema at a JSON pointer.

        Raises:
            OverBudgetError: that takes too much work.
        """
        try:
            return self._keeps(pointer, part, value, spending)
        except RecursionError:
            raise OverBudgetError from None

    def keeps_all(self, pointer: str, part: Any, items: list[Any], spending: Spending) -> bool:
        """Return whether each of some items keeps the part of the schema at a JSON pointer."""
        try:
            return all(self._keeps(*one, spending) for one in self._runs(pointer, part, items, spending))
        except RecursionError:
            raise OverBudgetError from None

    def validator(self, pointer: str, spending: Spending, *, of_items: bool = False) -> Draft202012Validator:
        """Return the validator of the part at a JSON pointer, or of arrays whose items keep that part."""
        key = f"[]{pointer}" if of_items else pointer
        found = self._validators.get(key)
        if found is None:
            if self._registry is None:
                from jsonschema_rs import Registry

                self._registry = Registry([(WHOLE, self.schema)])
            # A reference, so that references within the schema lead to where they led in the whole.
            part: dict[str, Any] = {"$ref": f"{WHOLE}#{pointer}"}
            found = self._compiled(key, {"items": part} if of_items else part, spending, registry=self._registry)
        return cast("Draft202012Validator", found)

    def budget_from(self, part: dict[str, Any], spending: Spending) -> SchemaBudget:
        """Return the budget of the schema for a validator that begins with a part of it."""
        is_known = self.budget.knows(part)
        budget = self.budget.from_part(part)
        if not is_known:
            spending.spend(budget.counted * COUNT_WORK)
        return budget

    def _own(self, pointer: str, part: dict[str, Any], spending: Spending) -> Draft202012Validator:
        """Return the validator of the keywords of a part that do not look into arrays and objects."""
        key = f"={pointer}"
        found = self._validators.get(key)
        if found is None:
            found = self._compiled(key, {name: part[name] for name in part.keys() & OWN}, spending)
        return cast("Draft202012Validator", found)

    def _compiled(self, key: str, schema: dict[str, Any], spending: Spending, **more: Any) -> Any:
        """Compile a schema, and keep it for as long as there is room."""
        size = self.budget.compiled_bytes
        spending.spend(size // COMPILED_PER_WORK)
        try:
            validator = self._draft(schema, **more)
        except ValueError:
            # A reference that leads nowhere if the validator begins here: nothing can be said about the value.
            raise OverBudgetError from None
        _kept[self] = _kept.pop(self, 0) + size
        self._validators[key] = validator
        for oldest in list(_kept):
            if sum(list(_kept.values())) <= KEPT_BYTES:
                break
            _kept.pop(oldest, None)
            oldest.forget()
        return validator

    def forget(self) -> None:
        """Drop all validators but that of the whole."""
        self._validators = {"": self._validators[""]}

    def _keeps(
        self, pointer: str, part: Any, value: Any, spending: Spending, known_size: ValueSize | None = None
    ) -> bool:
        if not isinstance(part, dict):
            return part is not False
        spending.spend(CALL_WORK)
        size = known_size or measured(value, spending)
        work = self.budget_from(part, spending).work_of(size)
        is_lone = "$ref" in part and self._lone
        is_text = isinstance(value, str)
        if is_text and not is_lone and len(value) > part.get("maxLength", len(value)):
            return False
        if work <= (MAX_WORK if is_text else STEP_WORK):
            spending.spend(work)
            return self.validator(pointer, spending).is_valid(value)
        if not isinstance(value, list | dict) or part.keys() & LOOKING:
            raise OverBudgetError
        if is_lone:
            return self._keeps_branches(pointer, part, value, spending, size)
        return (
            self._own(pointer, part, spending).is_valid(value)
            and (part.get("uniqueItems") is not True or _are_unique(value, size, spending))
            and self._keeps_branches(pointer, part, value, spending, size)
            and all(self._keeps(*one, spending) for one in self._inside(pointer, part, value, spending))
        )

    def _keeps_branches(
        self, pointer: str, part: dict[str, Any], value: Any, spending: Spending, size: ValueSize
    ) -> bool:
        """Return whether a value keeps the schemas of a part that look at the value itself."""

        def keeps(*steps: str | int) -> bool:
            where: str = pointer
            one: Any = part
            for step in steps:
                where, one = f"{where}/{step}", one[step]
            return self._keeps(where, one, value, spending, size)

        if "$ref" in part:
            target = pointer_of(part["$ref"])
            if not self._keeps(target, part_at(self.schema, target), value, spending, size):
                return False
        if not all(keeps("allOf", at) for at in range(len(part.get("allOf", ())))):
            return False
        if "anyOf" in part and not any(keeps("anyOf", at) for at in plausible(part["anyOf"], value)):
            return False
        if "oneOf" in part and sum(keeps("oneOf", at) for at in plausible(part["oneOf"], value)) != 1:
            return False
        if "not" in part and keeps("not"):
            return False
        if "if" in part:
            then = "then" if keeps("if") else "else"
            return then not in part or keeps(then)
        return True

    def _inside(
        self, pointer: str, part: dict[str, Any], value: Any, spending: Spending
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield each member or run of items of a value, with the schema for it and where that is."""
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from ((where, one, inner) for where, one in self.members(pointer, part, name, spending))
            return
        first = part.get("prefixItems", part["items"] if isinstance(part.get("items"), list) else ())
        where = "prefixItems" if "prefixItems" in part else "items"
        for at, one in enumerate(first[: len(value)]):
            yield f"{pointer}/{where}/{at}", one, value[at]
        if isinstance(part.get("items"), dict | bool):
            yield from self._runs(f"{pointer}/items", part["items"], value[len(first) :], spending)

    def _runs(self, pointer: str, part: Any, items: list[Any], spending: Spending) -> Iterator[tuple[str, Any, Any]]:
        """Check items in runs of one step each; yield those that are too large for one."""
        if not isinstance(part, dict):
            yield from ((pointer, part, item) for item in items[: 0 if part else 1])
            return
        for start in range(0, len(items), RUN_LENGTH):
            yield from self._run(pointer, part, items[start : start + RUN_LENGTH], spending)

    def _run(self, pointer: str, part: Any, run: list[Any], spending: Spending) -> Iterator[tuple[str, Any, Any]]:
        work = self.budget_from(part, spending).work_of(measured(run, spending))
        if work <= STEP_WORK:
            spending.spend(work)
            if not self.validator(pointer, spending, of_items=True).is_valid(run):
                # Nothing keeps False.
                yield pointer, False, None
        elif len(run) == 1:
            yield pointer, part, run[0]
        else:
            for half in (run[: len(run) // 2], run[len(run) // 2 :]):
                yield from self._run(pointer, part, half, spending)

    def members(self, pointer: str, part: dict[str, Any], name: str, spending: Spending) -> Iterator[tuple[str, Any]]:
        """Yield the schemas for the member of a name, and where they are."""
        is_known = False
        if name in part.get("properties", ()):
            is_known = True
            yield f"{pointer}/properties/{escaped(name)}", part["properties"][name]
        for pattern, one in part.get("patternProperties", {}).items():
            if self._matches(pattern, name, spending):
                is_known = True
                yield f"{pointer}/patternProperties/{escaped(pattern)}", one
        if not is_known and "additionalProperties" in part:
            yield f"{pointer}/additionalProperties", part["additionalProperties"]

    def _matches(self, pattern: str, name: str, spending: Spending) -> bool:
        key = f"~{pattern}"
        found = self._validators.get(key)
        if found is None:
            spending.spend(PATTERN_WORK)
            found = self._validators[key] = self._draft({"pattern": pattern})
        spending.spend(CALL_WORK + pattern_work(pattern).of(ValueSize(1, len(name), 1, 0, 1, 1)))
        return cast("bool", found.is_valid(name))


def _are_unique(value: Any, size: ValueSize, spending: Spending) -> bool:
    """Return whether no two items of an array are equal.

    The validator compares the items that share a hash with each other, and others can choose which do.
    """
    if not isinstance(value, list):
        return True
    spending.spend(size.values * UNIQUE_WORK)
    seen = {msgspec.json.encode(_in_one_way(item), order="sorted") for item in value}
    return len(seen) == len(value)


def _in_one_way(value: Any) -> Any:
    """Return a value in which each number that is whole is an integer."""
    if isinstance(value, list):
        return [_in_one_way(item) for item in value]
    if isinstance(value, dict):
        return {name: _in_one_way(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def measured(value: Any, spending: Spending, most: int = STEP_WORK) -> ValueSize:
    """Return the size of a value, and count what it took to measure it."""
    last = spending.measured
    if last is not None and last[0] is value:
        return last[1]
    size = measure_value(value, most)
    if most >= STEP_WORK:
        spending.measured = value, size
    spending.spend(size.effort * MEASURE_WORK)
    return size


def pointer_of(reference: Any) -> str:
    """Return the JSON pointer of a reference to a part of the same schema; raise OverBudgetError for another one."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise OverBudgetError
    return reference[1:]


def plausible(branches: list[Any], value: Any) -> list[int]:
    """Return the places of the branches that a value may keep, by their types and by the constants of their members."""
    return [at for at, branch in enumerate(branches) if _is_plausible(branch, value)]


def _is_plausible(branch: Any, value: Any) -> bool:
    if not isinstance(branch, dict):
        return branch is not False
    kind = branch.get("type")
    wanted = "object" if isinstance(value, dict) else "array"
    if kind is not None and wanted not in (kind if isinstance(kind, list) else [kind]):
        return False
    if not isinstance(value, dict):
        return True
    members = branch.get("properties")
    for name, one in members.items() if isinstance(members, dict) else ():
        if isinstance(one, dict) and name in value and isinstance(value[name], str):
            known = one.get("enum", [one["const"]] if "const" in one else None)
            if known is not None and value[name] not in known:
                return False
    return not any(name not in value for name in branch.get("required", ()))


def escaped(name: str) -> str:
    """Return a name as a step of a JSON pointer in a URI."""
    from urllib.parse import quote

    return quote(name.replace("~", "~0").replace("/", "~1"))
