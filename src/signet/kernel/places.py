"""Places: where a value breaks its contract, found with work that grows no faster than the value.

    light value ── every error of the validator ────────────────────────────▶ path, message
    heavy value ── is it valid? ── its members and items, one by one ───────▶ the same, until there are enough
                                 └ none of them is wrong by itself ─────────▶ path, the beginning of the value

Pure. The validator collects all errors before it returns the first, each with a text that repeats the value: a million
wrong items take seconds. It also looks at every branch of a schema, and in a circle at every branch of each branch:
then a value of ten levels takes seconds. So it is asked for the errors of light values only, whose schema cannot branch
so often; of others, whether they are valid. All of that has a budget (`Spending`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Union

import msgspec

from signet.system.text import cut

from .parts import CALL_WORK, Parts, escaped, measured, plausible, pointer_of
from .schema_references import part_at
from .spending import MAX_WORK, OverBudgetError, Spending

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

    from .spending import ValueSize

__all__ = [
    "Mark",
    "Place",
    "Violation",
    "find_places",
    "find_violations",
    "marks_in_words",
    "place_of_type",
    "wrong_type",
]

Place = tuple[str, str]
"""The path at which a value breaks its contract, and the reason."""
Path = tuple[str | int, ...]

MAX_MARKS: Final = 3
"""The places that a sentence about a result names."""
MAX_PLACES: Final = 10
MAX_PLACE_CHARS: Final = 200
"""The limits of an error message, which may repeat hostile input: its places, and the characters of each."""

MAX_WEIGHT: Final = 1_000
"""The values, and KiB of text, whose errors the validator may collect for one message."""
ALWAYS_LIGHT: Final = 20
"""The weight of a value whose errors are collected even when that budget is spent."""
RUN_LENGTH: Final = 512
"""The items that are checked at once when wrong ones are searched for."""
SIZE_REASON: Final = re.compile(r" (?:is longer than \d+ characters?|has more than \d+ items?)\Z")
TYPE_PLACE: Final = re.compile(r"(?P<reason>.*) - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`", re.DOTALL)
INDEX: Final = re.compile(r"\[(\d+)\]")
MISSING: Final = " is a required property"
"""The end of the message about a property that is missing, behind its name in quotes."""
MAX_VALUE_CHARS: Final = 60
"""The beginning of a value that a message repeats before what must be written instead."""
PATTERN: Final = "pattern"
NO_LINE_BREAKS: Final = {PATTERN: "\\n"}
PATTERN_REASON: Final = re.compile(r""" matching regex ['"].*['"](?= - at `|\Z)""", re.DOTALL)
MAX_ERROR_WORK: Final = 1_000_000
"""The work for which the validator may collect errors."""
TOO_MUCH_WORK: Final = "is too large or nested too deeply to be checked: send less, or nest it less deeply"

Origin = Union["ValidationError", tuple[str, object]]
"""The validator's error, or the keyword that a value breaks and the value."""
Finding = tuple[Path, str, Origin]


class Violation(msgspec.Struct, frozen=True):
    """One place where a value breaks its contract, in full: nothing is cut."""

    path: str
    keyword: str
    """The keyword of the schema that is broken; empty where the search cannot tell."""
    value: Any
    message: str
    steps: Path = ()
    """The path step by step: a name may have a dot in it."""

    @property
    def place(self) -> Place:
        """The path and the reason, cut."""
        return _cut(self.path), _cut(self.message)

    @property
    def mark(self) -> Mark:
        """The path and the keyword, without the value; for a property that is missing, its name too."""
        missing = self.message.removesuffix(MISSING) if self.keyword == "required" else ""
        # The message about a value may repeat it.
        unknown = self.message if self.value is None else "schema"
        return Mark(self.steps, _cut(f"{self.keyword} {missing}".strip() or unknown))


class Mark(NamedTuple):
    """A place where a value breaks its contract, without the value."""

    steps: Path
    keyword: str
    """The keyword of the schema that is broken, or a word on what is wrong where the search finds none."""

    @property
    def text(self) -> str:
        """The place in words: `items.0.name (type)`."""
        return f"{_shown(self.steps) or 'the whole result'} ({self.keyword})"


def marks_in_words(marks: Sequence[Mark]) -> str:
    """Return the first places in one line, and the number of the others."""
    more = len(marks) - MAX_MARKS
    texts = [mark.text for mark in marks[:MAX_MARKS]]
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def find_places(parts: Parts, instance: object) -> list[Place]:
    """Return the places where a value breaks a schema, at most `MAX_PLACES`."""
    return [(_shown(path), _cut(message)) for path, message, _ in _findings(parts, instance)]


def find_violations(parts: Parts, instance: object) -> list[Violation]:
    """Return the same places with the keyword and the value of each."""
    found = []
    for path, message, origin in _findings(parts, instance):
        keyword, value = origin if isinstance(origin, tuple) else (origin.kind.name, origin.instance)
        found.append(Violation(".".join(map(str, path)), keyword, value, message, path))
    return found


def place_of_type(error: msgspec.ValidationError) -> Place:
    """Return the place of a value that is of the wrong type, in the form of all other places.

    msgspec writes it behind its reason: "Expected `int` - at `$.items[0].count`".
    """
    text = PATTERN_REASON.sub(" of another form", str(error))
    found = TYPE_PLACE.fullmatch(text)
    if found is None:
        return "", text
    path = INDEX.sub(r".\1", found["path"].replace("[...]", ".*")).strip(".")
    return path, f"{found['reason']} (a key)" if found["key"] else found["reason"]


def wrong_type(error: msgspec.ValidationError) -> str:
    """Return the place and the reason of a value of the wrong type as one text."""
    path, reason = place_of_type(error)
    return f"{path}: {reason}" if path else reason


def _findings(parts: Parts, instance: object) -> list[Finding]:
    found: list[Finding] = []
    try:
        for finding in _Search(parts).violations("", parts.schema, instance, ()):
            if len(found) == MAX_PLACES:
                found.append(((), "and more", ("", None)))
                break
            found.append(finding)
    except OverBudgetError:
        if not found:
            found.append(((), TOO_MUCH_WORK, ("", None)))
    except (ValueError, RecursionError):
        # No message can be written about a value that is nested too deeply.
        found.append(((), "nested too deeply", ("", None)))
    return found


class _Search:
    """One search for violations."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._spending = Spending(MAX_WORK)
        self._budget = MAX_WEIGHT

    def violations(self, pointer: str, schema: Any, instance: Any, path: Path) -> Iterator[Finding]:
        """Yield the violations of the schema at a JSON pointer; of a heavy value those that its parts show."""
        if self._parts.keeps(pointer, schema, instance, self._spending):
            return
        limit = max(self._budget, ALWAYS_LIGHT)
        self._spending.spend(CALL_WORK)
        size = measured(instance, self._spending, limit)
        if size.weight <= limit and self._error_work(schema, size) <= MAX_ERROR_WORK:
            self._budget -= size.weight
            validator = self._parts.validator(pointer, self._spending)
            yield from (
                ((*path, *error.instance_path), _words(error, self._parts.schema), error)
                for error in validator.iter_errors(instance)
            )
            return
        in_parts = False
        for violation in self._in_parts(pointer, schema, instance, path):
            in_parts = True
            yield violation
        if not in_parts:
            reason, keyword = _size_reason(schema, instance), ""
            if reason:
                keyword = "maxItems" if isinstance(instance, list) else "maxLength"
            yield path, msgspec.json.encode(instance).decode() + reason, (keyword, instance)

    def _error_work(self, schema: Any, size: ValueSize) -> int:
        return self._parts.budget_from(schema, self._spending).error_work(size)

    def _in_parts(self, pointer: str, schema: Any, instance: Any, path: Path) -> Iterator[Finding]:
        if not isinstance(schema, dict):
            return
        yield from self._in_branches(pointer, schema, instance, path)
        if isinstance(instance, dict):
            yield from self._in_members(pointer, schema, instance, path)
        elif _size_reason(schema, instance):
            # One reason is enough for a value that is too long.
            return
        elif isinstance(instance, list) and "items" in schema and "prefixItems" not in schema:
            yield from self._in_items(f"{pointer}/items", schema["items"], instance, path)

    def _in_branches(self, pointer: str, schema: dict[str, Any], instance: Any, path: Path) -> Iterator[Finding]:
        """Yield the violations of the schemas that look at the value itself; of a choice, where one branch is left."""
        if "$ref" in schema:
            target = pointer_of(schema["$ref"])
            yield from self.violations(target, part_at(self._parts.schema, target), instance, path)
        for at, one in enumerate(schema.get("allOf", ())):
            yield from self.violations(f"{pointer}/allOf/{at}", one, instance, path)
        # The validator names the choice itself; where it cannot be asked, the branch that was meant says more.
        for choice in ("anyOf", "oneOf") if self._parts.budget.loops > 1 else ():
            left = plausible(schema.get(choice, []), instance)
            if len(left) == 1:
                yield from self.violations(f"{pointer}/{choice}/{left[0]}", schema[choice][left[0]], instance, path)

    def _in_members(
        self, pointer: str, schema: dict[str, Any], instance: dict[str, Any], path: Path
    ) -> Iterator[Finding]:
        for name in schema.get("required", ()):
            if name not in instance:
                yield path, f'"{name}"{MISSING}', ("required", instance)
        members = schema.get("properties", {})
        for name, value in instance.items():
            if name in members:
                member_pointer = f"{pointer}/properties/{escaped(name)}"
                yield from self.violations(member_pointer, members[name], value, (*path, name))
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            # The message is cut before it has so many names.
            unknown = list(islice((name for name in instance if name not in members), MAX_PLACE_CHARS))
            if unknown:
                names = ", ".join(f"'{name}'" for name in unknown)
                verb = "was" if len(unknown) == 1 else "were"
                message = f"Additional properties are not allowed ({names} {verb} unexpected)"
                yield path, message, ("additionalProperties", instance)

    def _in_items(self, pointer: str, schema: Any, instance: list[Any], path: Path) -> Iterator[Finding]:
        for start in range(0, len(instance), RUN_LENGTH):
            run = instance[start : start + RUN_LENGTH]
            if not self._parts.keeps_all(pointer, schema, run, self._spending):
                for index, item in enumerate(run, start):
                    yield from self.violations(pointer, schema, item, (*path, index))


def _words(error: ValidationError, schema: object) -> str:
    """Return the message of the validator, or for a regular expression the words of the contract."""
    keyword, in_names = error.kind.name, "propertyNames" in error.schema_path
    if keyword not in {"pattern", "not"} and not (keyword == "propertyNames" and error.schema_path[-1] == "pattern"):
        return error.message
    part = _schema_at(schema, error.schema_path[:-1])
    forbidden = part.get("not")
    if keyword == "not" and not (isinstance(forbidden, dict) and PATTERN in forbidden):
        return error.message
    if keyword == "not" and forbidden == NO_LINE_BREAKS:
        return f"{_value(error.instance)} has a line break, and must have none"
    examples = part.get("examples")
    example = f", such as {_value(examples[0])}" if isinstance(examples, list) and examples else ""
    about = part.get("description")
    about = f" ({about})" if isinstance(about, str) and about else ""
    subject = "a name in it" if in_names else _value(error.instance)
    return f"{subject} does not have the form that it must have{example}{about}"


def _schema_at(schema: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """Return the part of a schema at a path; an empty one where it is in another document."""
    for step in path:
        try:
            schema = schema[step]
        except (LookupError, TypeError):
            return {}
    return schema if isinstance(schema, dict) else {}


def _value(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return cut(text, MAX_VALUE_CHARS)


def _size_reason(schema: Any, value: object) -> str:
    """Return the end of the validator's message for a list or a text that is longer than its schema allows."""
    if not isinstance(schema, dict):
        return ""
    if isinstance(value, list) and "maxItems" in schema and len(value) > schema["maxItems"]:
        return f" has more than {schema['maxItems']} items"
    if isinstance(value, str) and "maxLength" in schema and len(value) > schema["maxLength"]:
        return f" is longer than {schema['maxLength']} characters"
    return ""


def _shown(path: Path) -> str:
    return _cut(".".join(map(str, path)))


def _cut(text: str) -> str:
    if len(text) <= MAX_PLACE_CHARS:
        return text
    # How long a value may be is worth more than its rest.
    reason = SIZE_REASON.search(text, len(text) - MAX_PLACE_CHARS)
    return f"{text[:MAX_PLACE_CHARS]}…{reason[0] if reason else ''}"
