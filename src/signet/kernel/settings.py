"""A setting: one field of a settings struct, described beside its type, read from text, shown to people. Pure."""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Hashable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT

from signet.system.secret_names import names_secret

from .setting_types import expected, load, members, parsed

__all__ = ["PREFIX", "Given", "Setting", "is_address", "merge", "setting", "settings_of", "shown_value"]

PREFIX: Final = "SIGNET_"
"""How the variables of the process begin."""

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
        recorded: whether the value decides which requests reach the upstream, so that a cassette must keep it.
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
        if self.secret and not value.strip():
            return None
        if self.in_header:
            return _read_header(value)
        if any("\ud800" <= char <= "\udfff" for char in value):
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


def merge(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    file: Mapping[str, Given],
    *,
    names: Collection[str],
    bare: Collection[str],
    flag_prefix: str = "",
) -> dict[str, Given]:
    """Return the value that holds for each name: a flag wins over a variable, and that over the file.

    Args:
        environ: the variables, which begin with the prefix; those that are set to nothing are passed over.
        flags: the values of flags by their names; None stands for one that is not given.
        file: the values of a file by their names.
        names: the names that variables may have.
        bare: the names whose variables may lack the prefix.
        flag_prefix: a part of the names that the flags leave out.
    """
    # An unset variable of a container's configuration is set to nothing: it counts as not set.
    given = dict(file)
    for name in bare:
        value = environ.get(name.upper(), "")
        if value.strip():
            given[name] = Given(value, name.upper())
    for variable, value in environ.items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name in names and value.strip() and not is_address(name, value):
            given[name] = Given(value, PREFIX + name.upper())
    for name, value in flags.items():
        if value is not None:
            flag = name.removeprefix(flag_prefix).replace("_", "-")
            given[name] = Given(value, f"--no-{flag}" if value is False else f"--{flag}")
    return given


def is_address(name: str, value: str) -> bool:
    """Return True for SIGNET_PORT=tcp://10.0.0.1:8080: Kubernetes sets it where a service is called signet."""
    return name == "port" and "://" in value


def _read_header(value: str) -> str:
    """Return what a header carries of a text: not the blanks at its ends.

    Raises:
        ValueError: no header can carry it; the text does not repeat it.
    """
    if not all(" " <= char <= "~" or char == "\t" for char in value.strip()):
        raise ValueError("the token has characters that no HTTP header can carry; write it in printable ASCII")
    return value.strip()


def settings_of(struct: type[Any]) -> tuple[Setting, ...]:
    """Return the fields of a settings struct, its own before inherited ones; one without a description has no page."""
    return _settings_of(cast("Hashable", struct))


@lru_cache(maxsize=64)  # a start asks for the same ones four times
def _settings_of(struct: Any) -> tuple[Setting, ...]:
    own = hints = struct.__annotations__
    if any(isinstance(hint, str) for hint in hints.values()) or not hints.keys() >= set(struct.__struct_fields__):
        hints = get_type_hints(struct, include_extras=True)
    defaults = dict(zip(reversed(struct.__struct_fields__), reversed(struct.__struct_defaults__), strict=False))
    names = sorted(struct.__struct_fields__, key=lambda name: name not in own)
    return tuple(_setting(name, hints[name], defaults.get(name, NODEFAULT)) for name in names)


def _setting(name: str, hint: Any, default: Any) -> Setting:
    # What is made anew each time cannot be shown.
    default = None if hasattr(default, "factory") else default
    facts: dict[str, Any] = {}
    text = ""
    for note in getattr(hint, "__metadata__", ()):
        if isinstance(note, msgspec.Meta) and note.description is not None:
            facts |= {fact: value for fact, value in (note.extra or {}).items() if fact in Setting._fields}
            text = note.description
            break
    if facts.get("secret") is None:
        # Nobody said so, but a text of that name is one, and so are those in a list.
        is_number = NO_SECRETS.issuperset(members(hint))
        facts["secret"] = names_secret(name, "setting") and not is_number
    return Setting(name, hint, default, text, **facts)


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
