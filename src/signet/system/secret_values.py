"""Secrets in the values of settings: which names mean one, the texts that must be written nowhere, and the rest. Pure.

A value is a secret as a whole, by its setting, or has some inside: below a name, before the host of a URL, or of a
well-known shape.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from enum import Enum
from typing import Any

import msgspec

from .redaction import REDACTED, redact_shapes, redact_user_info
from .secret_patterns import names_secret, secret_spans, user_info

__all__ = ["hide_secrets", "plain", "secrets_inside", "texts_of"]


def plain(value: Any) -> Any:
    """Return a value as JSON has it; an object that is unknown by its text."""
    try:
        return msgspec.to_builtins(value, enc_hook=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def hide_secrets(value: Any, *, is_secret: bool = False) -> Any:
    """Return a plain value without the secrets inside; numbers and switches are none."""
    if isinstance(value, str):
        return REDACTED if is_secret and value else redact_shapes(redact_user_info(value))
    if isinstance(value, list | tuple):
        return [hide_secrets(one, is_secret=is_secret) for one in value]
    if isinstance(value, dict):
        return {key: hide_secrets(one, is_secret=is_secret or _is_secret(key)) for key, one in value.items()}
    return value


def secrets_inside(value: Any, *, is_secret: bool = False) -> Iterator[str]:
    """Yield what `hide_secrets` hides."""
    if isinstance(value, str):
        yield from (
            [value] if is_secret else (*_passwords(value), *(value[start:end] for start, end in secret_spans(value)))
        )
    elif isinstance(value, list | tuple):
        for one in value:
            yield from secrets_inside(one, is_secret=is_secret)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from secrets_inside(one, is_secret=is_secret or _is_secret(key))


def _is_secret(key: Any) -> bool:
    return names_secret(str(key), "setting")


def _passwords(text: str) -> Iterator[str]:
    """Yield the user info of URLs, and the password in it."""
    for info in user_info().findall(text):
        yield info
        yield info.partition(":")[2]


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts in a value that is a secret as a whole, whatever its type."""
    yield from _texts(value, set())


def _texts(value: Any, above: set[int]) -> Iterator[str]:
    if value is None or isinstance(value, bool) or id(value) in above:
        return
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield value.decode(errors="replace")
        yield base64.b64encode(value).decode()
    elif parts := _parts_of(value):
        above.add(id(value))
        for one in parts:
            yield from _texts(one, above)
        above.discard(id(value))
    elif not isinstance(value, list | tuple | set | frozenset | dict):
        yield str(value)


def _parts_of(value: Any) -> list[Any]:
    """Return the values in a collection, or in the fields of an object; none where its text is all there is."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    kind: Any = type(value)
    fields = [*getattr(kind, "__struct_fields__", ()), *getattr(kind, "__dataclass_fields__", ())]
    if not fields and kind.__str__ is object.__str__:
        fields = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    # A class that hides its value in its text, as those for secrets do, has it in an attribute.
    own = {} if hasattr(value, "__fspath__") else getattr(value, "__dict__", {})
    return [*(getattr(value, name, None) for name in fields), *own.values()]
