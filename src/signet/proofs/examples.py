"""Values that keep a schema or break it, found in a child: for the commands, one question after the other.

All questions of a command share one child; each has its own time, and what is too hard counts as not found.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from signet.compatibility import satisfaction
from signet.compatibility.counterexample import compiled, counterexample
from signet.compatibility.verdict import parts_with_default
from signet.kernel.schema_budget import check_budget

from .asking import AnswerError, Function, TooHardError, WorkerAsker

__all__ = [
    "contradiction_in_child", "default_in_child", "example_in_child", "example_of", "is_contradiction", "keep",
    "kept_in_child", "outsider_in_child", "outsider_of", "wrong_default",
]  # fmt: skip

T = TypeVar("T")

QUESTION_S: Final = 5.0
MAX_CHARS: Final = 200
"""The part of a validator's message that is shown."""


_too_hard: Final = set[bytes]()
"""The digests of questions about a schema and values that were too hard, for whatever was asked."""


class _Question(msgspec.Struct, frozen=True):
    """A schema, and values to hold to it."""

    schema: Any
    values: list[Any] = []


class _Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value, if one was found."""

    value: Any | UnsetType = UNSET


class _Default(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error of a default."""

    wrong: str = ""
    unusable: str = ""


def example_of(schema: Any) -> Any:
    """Return a simple value that keeps a schema, or UNSET if none is found."""
    return _asked(example_in_child, _Question(schema), _Value()).value


def outsider_of(schema: Any) -> Any:
    """Return an object that breaks a schema, or UNSET if none is found."""
    return _asked(outsider_in_child, _Question(schema), _Value()).value


def is_contradiction(schema: Any) -> bool:
    """Return whether it is proven that no value keeps a schema."""
    return _asked(contradiction_in_child, _Question(schema), False)  # noqa: FBT003 - what holds without an answer


def keep(schema: Any, values: Sequence[Any]) -> list[bool]:
    """Return for each value whether it keeps a schema; nothing where that cannot be found out."""
    return _asked(kept_in_child, _Question(schema, list(values)), list[bool]())


def wrong_default(schema: Any) -> str:
    """Return why a default in a schema is not a value of its own type, the first one, or an empty text.

    Raises:
        ValueError: the part that states it is not usable.
    """
    found = _asked(default_in_child, _Question(schema), _Default())
    if found.unusable:
        raise ValueError(found.unusable)
    return found.wrong


def _asked(function: Function, question: _Question, otherwise: T) -> T:
    """Return what a child answers, or something else if the question is too hard or no JSON."""
    try:
        check_budget(question.schema, 0)
        asked = msgspec.json.encode(question)
        if (key := hashlib.sha256(asked).digest()) in _too_hard:
            return otherwise
        answer = _asker().ask(function, asked, QUESTION_S)
    except TooHardError:
        # It may be asked again, for another check of the same tool.
        _too_hard.add(key)
        return otherwise
    except (AnswerError, TypeError, ValueError, RecursionError):
        return otherwise
    return msgspec.json.decode(answer, type=type(otherwise))


@cache
def _asker() -> WorkerAsker:
    """Return what the questions of this command share."""
    asker = WorkerAsker()
    atexit.register(asker.close)
    return asker


def _read(question: bytes) -> _Question:
    return msgspec.json.decode(question, type=_Question)


def example_in_child(question: bytes) -> bytes:
    """Find a value that keeps a schema, in the child."""
    try:
        return msgspec.json.encode(_Value(satisfaction.example_of(_read(question).schema)))
    except ValueError:
        return msgspec.json.encode(_Value())


def outsider_in_child(question: bytes) -> bytes:
    """Find an object that breaks a schema, in the child."""
    return msgspec.json.encode(_Value(counterexample(({"type": "object"},), _read(question).schema)))


def contradiction_in_child(question: bytes) -> bytes:
    """Prove that no value keeps a schema, in the child."""
    return msgspec.json.encode(satisfaction.is_contradiction(_read(question).schema))


def kept_in_child(question: bytes) -> bytes:
    """Hold values to a schema, in the child."""
    asked = _read(question)
    is_valid = compiled(asked.schema, formats=False).is_valid
    return msgspec.json.encode([bool(is_valid(value)) for value in asked.values])


def default_in_child(question: bytes) -> bytes:
    """Hold each default to the part that states it, in the child."""
    from jsonschema_rs import ValidationError

    schema = _read(question).schema
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    for place, part in parts_with_default(schema):
        rules = {key: value for key, value in part.items() if key != "default"}
        try:
            compiled({**shared, **rules}, formats=False).validate(part["default"])
        except ValidationError as error:
            name, why = ".".join(place) or "the whole", error.message[:MAX_CHARS]
            wrong = f"the default of {name} is not of its own type ({why}): mend one of the two"
            return msgspec.json.encode(_Default(wrong))
        except ValueError as error:
            return msgspec.json.encode(_Default(unusable=str(error)))
    return msgspec.json.encode(_Default())
