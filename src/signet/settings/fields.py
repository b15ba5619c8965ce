"""A setting: one field of a settings struct, described beside its type, read from text, shown to people. Pure."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Hashable, Iterable
from enum import Enum
from functools import lru_cache
from types import SimpleNamespace
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT

from signet.system.secret_patterns import names_secret

__all__ = [
    "Given",
    "Setting",
    "bare",
    "expected",
    "join_list",
    "load",
    "members",
    "parsed",
    "setting",
    "setting_of",
    "settings_of",
    "shown_value",
    "split_list",
]

NO_SECRETS: Final = {int, float, bool}
"""The types whose values are no secrets by their names alone: `max_tokens` is a number."""
SWITCHES: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""What people write for true and false, beside 1 and 0."""
PLACES: Final = ("FILE", "DIR")
"""What stands for the path of a file or of a folder in `--help`."""
MAX_SHOWN_CHARS: Final = 50
MAX_SEARCHED_CHARS: Final = 1_000
"""The beginning of a value that is searched for secrets before a part of it is shown."""
WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
"""A whole number as people write it: with or without a sign and leading zeros."""
NEGATIVE_ZERO: Final = re.compile(r"-0+")
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


class Given(NamedTuple):
    """A value from outside, and the flag, the variable or the key of a file that gave it."""

    value: Any
    source: str
    line: int = 0
    """The line of the file; 0 where it is not known."""

    @property
    def place(self) -> str:
        """The source and the line."""
        return f"{self.source} (line {self.line})" if self.line else self.source


def setting(
    text: str,
    *,
    metavar: str = "",
    default_text: str = "",
    flag: bool = False,
    secret: bool | None = None,
    recorded: bool = False,
    in_header: bool = False,
    up_to: int = 0,
) -> msgspec.Meta:
    """Describe one field of a settings struct, as an annotation beside its type.

    Args:
        text: what the setting does, as `--help` and the reference page print it.
        metavar: what stands for the value in `--help`.
        default_text: the default in words, where the field's default does not say it.
        flag: whether `signet` has a flag for it; every setting has an environment variable.
        secret: whether the value must never be written anywhere; None for what the name of the field says.
        in_header: whether the value is sent in an HTTP header, without the blanks at its ends.
        recorded: whether the value decides which requests reach the upstream, so that a recording must keep it.
        up_to: a larger limit that is accepted too; values above the field's own limit count as that limit.
    """
    facts: dict[str, Any] = {"metavar": metavar, "default_text": default_text, "flag": flag}
    facts |= {"secret": secret, "recorded": recorded, "in_header": in_header, "up_to": up_to}
    return msgspec.Meta(description=text, extra=facts)


class Setting(NamedTuple):
    """One field of a settings struct: how it is written, read and shown."""

    name: str
    type: Any
    default: Any
    help: str = ""
    metavar: str = ""
    default_text: str = ""
    flag: bool = False
    secret: bool = False
    recorded: bool = False
    in_header: bool = False
    up_to: int = 0

    @property
    def shown_default(self) -> str:
        """The default as people read it; empty where there is none to show."""
        if self.default_text or self.default is None or self.is_switch or self.is_required or self.secret:
            return self.default_text
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is msgspec.NODEFAULT

    @property
    def is_switch(self) -> bool:
        """Whether it is true or false."""
        return members(self.type) == [bool]

    @property
    def is_path(self) -> bool:
        """Whether it names a file or a folder."""
        return self.metavar in PLACES

    def read(self, value: Any) -> Any:
        """Return the value of a text as people write it, or of a value that has a type already.

        Raises:
            ValueError: it cannot be used; the text says what to write, and repeats no secret.
        """
        if not isinstance(value, str):
            return self._convert(value)
        if self.secret and not value.strip():  # rule: 1.S1.2.blank/2
            return None
        if self.in_header:
            return _read_header(value)
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            # Bytes that are not UTF-8 become half surrogate pairs.
            raise ValueError("it is not UTF-8 text; write it in UTF-8")
        try:
            return load(self._normalise(value), self.type, strict=False)
        except ValueError:
            raise self._refusal(value) from None

    def _convert(self, value: Any) -> Any:
        """Return a value that has a type, within the limits that a text has."""
        if self.up_to and type(value) is int and 0 <= value <= self.up_to:
            value = min(value, _limits(self.type).le or self.up_to)
        try:
            return load(value, self.type)
        except ValueError:
            raise self._refusal(value) from None

    def _refusal(self, value: Any) -> ValueError:
        shown = "this" if self.secret else shown_value(value)
        return ValueError(f"{shown} cannot be used; write {self._expected(value)}")

    def _normalise(self, value: str) -> Any:
        """Return what msgspec reads leniently; empty where it would read what nobody should write (1e3, null)."""
        if self.is_switch:
            return SWITCHES.get(value.lower(), value)
        if members(self.type) != [int]:
            return parsed(value, self.type)
        if not WHOLE_NUMBER.fullmatch(value) or NEGATIVE_ZERO.fullmatch(value):
            return ""
        # One rule for all: 5, +5 and 005 are the same number.
        sign, digits = value[: value.startswith("-")], value.lstrip("+-").lstrip("0") or "0"
        if self.up_to and not sign and len(digits) <= len(str(self.up_to)) and int(digits) <= self.up_to:
            return min(int(digits), _limits(self.type).le or self.up_to)
        return sign + digits

    def _expected(self, value: Any) -> str:
        """Describe the values that the type allows, for one that it does not."""
        if self.is_switch:
            return "true or false"
        if members(self.type) == [str]:
            return "a text that is not empty" if isinstance(value, str) and not value.strip() else "a text in quotes"
        limits = _limits(self.type)
        if limits.le is None:
            return expected(self.type)
        if limits.ge is None:
            return f"a number above {limits.gt}, at most {limits.le}"
        number = "a whole number" if int in members(self.type) else "a number"
        return f"{number} from {limits.ge} to {self.up_to or limits.le}"


def _read_header(value: str) -> str:
    """Return what a header carries of a text: not the blanks at its ends.

    Raises:
        ValueError: no header can carry it; the text does not repeat it.
    """
    if not all(" " <= char <= "~" or char == "\t" for char in value.strip()):  # rule: 1.S1.2.illegal/2
        raise ValueError("the token has characters that no HTTP header can carry; write it in printable ASCII")
    return value.strip()


def settings_of(struct: type[Any]) -> tuple[Setting, ...]:
    """Return the fields of a settings struct, its own before inherited ones; one without a description has no page."""
    own = struct.__annotations__
    names = sorted(struct.__struct_fields__, key=lambda name: name not in own)
    return tuple(setting_of(struct, name) for name in names)


def setting_of(struct: type[Any], name: str) -> Setting:
    """Return one field of a settings struct; the types of the other fields are not looked at."""
    return _setting_of(cast("Hashable", struct), name)


@lru_cache(maxsize=512)
def _setting_of(struct: Any, name: str) -> Setting:
    hint = _hint_of(struct, name)
    defaults = struct.__struct_defaults__
    place = struct.__struct_fields__.index(name) - len(struct.__struct_fields__) + len(defaults)
    default = defaults[place] if place >= 0 else NODEFAULT
    facts: dict[str, Any] = {}
    text = ""
    for note in getattr(hint, "__metadata__", ()):
        if isinstance(note, msgspec.Meta) and note.description is not None:
            facts |= {fact: value for fact, value in (note.extra or {}).items() if fact in Setting._fields}
            text = note.description
            break
    if facts.get("secret") is None:
        # A text of that name is a secret, and so are those in a list.
        facts["secret"] = names_secret(name, "setting") and not NO_SECRETS.issuperset(members(hint))
    # A value that is made anew each time cannot be shown.
    return Setting(name, hint, None if hasattr(default, "factory") else default, text, **facts)


def _hint_of(struct: type[Any], name: str) -> Any:
    """Return the type of a field with its annotations; one that is written as a text is evaluated alone."""
    owner = next(base for base in struct.__mro__ if name in getattr(base, "__annotations__", ()))
    alone = SimpleNamespace(__annotations__={name: owner.__annotations__[name]})
    return get_type_hints(alone, vars(sys.modules[owner.__module__]), dict(vars(owner)), include_extras=True)[name]


def _limits(hint: Any) -> msgspec.Meta:
    """Return the annotation with a type's limits; an empty one where it has none."""
    if get_origin(hint) is Annotated:
        notes = [note for note in hint.__metadata__ if isinstance(note, msgspec.Meta) and note.le is not None]
        return notes[0] if notes else _limits(get_args(hint)[0])
    found = map(_limits, get_args(hint) if get_origin(hint) in {Union, types.UnionType} else ())
    return next((limits for limits in found if limits.le is not None), msgspec.Meta())


def shown_value(value: Any) -> str:
    """Return the beginning of a text in quotes; a number or a switch as a file has it, any other value by a word."""
    if isinstance(value, str):
        from signet.system.redaction import redact_secrets

        # It is cut afterwards: half a secret is not recognised.
        return repr(redact_secrets(value[:MAX_SEARCHED_CHARS])[:MAX_SHOWN_CHARS])
    if isinstance(value, bool):
        return str(value).lower()
    # Python refuses to write numbers of thousands of digits.
    is_number = isinstance(value, int | float) and not abs(value) >= 10**MAX_SHOWN_CHARS
    return str(value) if is_number else "this"


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
