"""The types of settings: how the text of a variable becomes a value of one, and what people should write. Pure."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

__all__ = ["bare", "expected", "join_list", "load", "members", "parsed", "split_list"]

LISTS: Final = (list, tuple, set, frozenset)
SCALARS: Final = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
DATES: Final = {
    "datetime": "a date and time such as 2026-01-31T12:00:00Z",
    "date": "a date such as 2026-01-31",
    "time": "a time such as 12:30:00",
    "timedelta": "a span of time such as PT1H30M",
}


def members(hint: Any) -> list[Any]:
    """Return the types that a value may have, beside None, without their annotations."""
    if get_origin(hint) is Annotated:
        return members(get_args(hint)[0])
    if get_origin(hint) in {Union, types.UnionType}:
        return [one for part in get_args(hint) if part is not types.NoneType for one in members(part)]
    return [hint]


def bare(hint: Any) -> Any:
    """Return a type without its annotations and without None; of several, the first."""
    return next(iter(members(hint)), hint)


def load(value: Any, hint: Any, *, strict: bool = True) -> Any:
    """Return a value of a type; raise ValueError if it is none. A class of the author's is called with the value."""
    try:
        return msgspec.convert(value, hint, strict=strict, dec_hook=lambda kind, given: kind(given))
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def parsed(text: str, hint: Any) -> Any:
    """Return the parts of a text that stands for several values: JSON, or for a list also words between commas.

    Raises:
        ValueError: it is not JSON.
    """
    kind = bare(hint)
    is_list = (get_origin(kind) or kind) in LISTS
    if is_list and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    return msgspec.json.decode(text) if is_list or _is_object(kind) else text


def split_list(text: str) -> list[str]:
    r"""Return the words between commas; `\,` is a comma in a word, as a path may have one."""
    words = re.split(r"(?<!\\),", text)
    return [word.strip().replace("\\,", ",") for word in words if word.strip()]


def join_list(words: Iterable[str]) -> str:
    """Return a text that `split_list` takes apart into the same words."""
    return ",".join(word.replace(",", "\\,") for word in words)


def expected(hint: Any) -> str:
    """Describe the values of a type that has no limits."""
    return " or ".join(dict.fromkeys(map(_expected, members(hint))))


def _expected(kind: Any) -> str:
    name = getattr(kind, "__name__", str(kind))
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        choices = get_args(kind) or [member.value for member in kind]
        return " or ".join(filter(None, [", ".join(map(str, choices[:-1])), str(choices[-1])]))
    if (get_origin(kind) or kind) in LISTS:
        return "values with commas between them"
    if _is_object(kind):
        return "a JSON object"
    return SCALARS.get(kind) or DATES.get(name) or f"a value that is a {name}"


def _is_object(kind: Any) -> bool:
    if (get_origin(kind) or kind) is dict:
        return True
    marks = ("__struct_fields__", "__dataclass_fields__", "__required_keys__")
    return isinstance(kind, type) and any(hasattr(kind, mark) for mark in marks)
