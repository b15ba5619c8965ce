"""One text for equal JSON values: the canonical form (RFC 8785) and its digest, and a quick form to compare. Pure.

In the canonical form, which files hold and other programs can compute, numbers are doubles. In the comparable form
each integer is exact; it is for one process, or for files that only Signet compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec

__all__ = ["canonical", "comparable", "decoded", "digest_of"]

HAS_FLOAT: Final = re.compile(rb"[0-9][.eE]")
UNUSUAL: Final = re.compile(rb"[:,\[]-?[0-9]+(?:[.eE]|(?<=[0-9]{16}))")
"""A number that may have to be written in another way; what looks like one in a string costs time alone."""
ASTRAL: Final = re.compile(rb"[\xf0-\xf4]")
"""A character beyond U+FFFF: the order of UTF-16 units may be another than that of code points."""
MAX_DIGITS: Final = 21
"""ECMAScript writes a number with at most so many digits before the point without an exponent."""
MIN_POINT: Final = -6
MAX_EXACT: Final = 2**53
_encode: Final = msgspec.json.Encoder(order="sorted").encode


def decoded(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, an object has a member twice, or it is nested too deeply.
    """
    try:
        value = msgspec.json.decode(text)
        bare, again = msgspec.json.format(text, indent=-1), msgspec.json.encode(value)  # rule: @decoded
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ValueError(f"it is not JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _members(bare) != _members(again):
        raise ValueError("an object in it has a member twice, or a name that ends with a backslash")
    return value


def _members(text: bytes) -> int:
    """Count the members of all objects in a text without blanks, but those whose key ends with a backslash.

    Inside of a string a quote is escaped. Of a text and of what `encode` makes of its value, the first leaves out no
    more members than the second: if both counts are equal, no member was lost.
    """
    return text.count(b'":') - text.count(b'\\":')


def digest_of(canonical_text: bytes) -> str:
    """Return the digest of a canonical text."""
    return f"sha256:{sha256(canonical_text).hexdigest()}"


def canonical(value: Any) -> bytes:
    """Return the canonical form of a JSON value.

    Raises:
        ValueError: a number is beyond the range of doubles, or the value is nested too deeply.
    """
    try:
        text = _encode(value)
        if ASTRAL.search(text) is None and UNUSUAL.search(b":" + text) is None:
            return text
        return b"".join(_parts(value))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except OverflowError:
        raise ValueError("it has a number beyond the range of doubles") from None


def comparable(value: Any) -> bytes:
    """Return a text that is equal for equal values: names are sorted, and 1.0 is written as 1."""
    text = _encode(value)
    return _encode(_integral(value)) if HAS_FLOAT.search(text) else text


def _integral(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_integral(one) for one in value]
    if isinstance(value, dict):
        return {name: _integral(one) for name, one in value.items()}
    return value


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        comma = b"{"
        for key in sorted(value, key=lambda name: name.encode("utf-16-be")):
            yield comma + msgspec.json.encode(key) + b":"
            yield from _parts(value[key])
            comma = b","
        yield b"}" if value else b"{}"
    elif isinstance(value, list):
        comma = b"["
        for item in value:
            yield comma
            yield from _parts(item)
            comma = b","
        yield b"]" if value else b"[]"
    elif isinstance(value, float) or (type(value) is int and abs(value) > MAX_EXACT):
        yield _number(float(value)).encode()
    else:
        yield msgspec.json.encode(value)


def _number(value: float) -> str:
    """Return a number as ECMAScript writes it."""
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= MAX_DIGITS:
        return sign + digits.ljust(point, "0")
    if 0 < point <= MAX_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if MIN_POINT < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
