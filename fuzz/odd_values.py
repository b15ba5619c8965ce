"""Odd values: JSON, texts and numbers of the kinds at which readers break, and JSON as clumsy writers write it."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["Verbatim", "json_text", "json_value", "number", "text"]

TEXTS = (
    "", " ", "\0", "a", "é", "日本", "\U0001f600", "\ud800", "\udc00x", "\ufeff", "\u2028", "\x85", "\x1b[31m", "\\",
    '"', "'", "\n", "\r\n",
    "null", "true", "0", "-1", "NaN", "1e5", "/", "..", "../../etc/passwd", "%00", "%2e%2e", "<script>", "</pre>",
    "{}", "[]", "$ref", "#/",
    "__proto__", "constructor", "id", "a" * 130, "x" * 4000, "٣", "½", "＜", "ﬁ", "İ", "ß", "\u202e",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "1", "-1", "0.0", "-0.0", "1.0", "0.1", "1e2", "1E+2", "1e-2", "2147483648", "9007199254740993",
    "9223372036854775808",
    "18446744073709551616", "-9223372036854775809", "1e308", "1e309", "-1e400", "1e-400",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827", "1" + "0" * 400, "9" * 4400, "1." + "3" * 900, "-", "01", "1.", ".5",
    "+1", "NaN", "Infinity",
)  # fmt: skip
KEYS = ("id", "name", "type", "value", "a", "", "__proto__", "\ud800", "é", "method", "params", "x" * 300)


class Verbatim(str):
    """A piece of JSON text that is written as it is."""

    __slots__ = ()


def text(chance: random.Random) -> str:
    """Return a text: an odd one, or a few characters of any kind."""
    if chance.random() < 0.5:
        return chance.choice(TEXTS)
    return "".join(
        chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x3000)))) for _ in range(chance.randrange(20))
    )


def number(chance: random.Random) -> Verbatim:
    """Return a number as it may be written; some are no JSON."""
    return Verbatim(chance.choice(NUMBERS))


def json_value(chance: random.Random, depth: int = 3) -> Any:
    """Return a JSON value, with numbers as they may be written."""
    kind = chance.randrange(9 if depth else 6)
    if kind < 2:
        return text(chance)
    if kind < 4:
        return number(chance) if chance.random() < 0.5 else chance.randrange(-5, 300)
    if kind < 6:
        return chance.choice((None, True, False))
    if kind == 6:
        return [json_value(chance, depth - 1) for _ in range(chance.randrange(5))]
    names = [chance.choice(KEYS) if chance.random() < 0.6 else text(chance) for _ in range(chance.randrange(5))]
    return {name: json_value(chance, depth - 1) for name in names}


def json_text(value: Any, chance: random.Random | None = None) -> str:
    """Write a value as JSON; with `chance`, sometimes with white space, escapes and members twice."""
    if isinstance(value, Verbatim):
        return str(value)
    blank = chance.choice(("", "", "", " ", "\n\t")) if chance is not None else ""
    if isinstance(value, dict):
        members = [f"{blank}{_string(name, chance)}:{blank}{json_text(one, chance)}" for name, one in value.items()]
        if chance is not None and members and chance.random() < 0.02:
            members.append(chance.choice(members))
        return "{" + ",".join(members) + blank + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(json_text(one, chance) for one in value) + blank + "]"
    return _string(value, chance) if isinstance(value, str) else json.dumps(value)


def _string(value: str, chance: random.Random | None) -> str:
    plain = chance is not None and chance.random() < 0.7 and not any("\ud800" <= sign <= "\udfff" for sign in value)
    return json.dumps(value, ensure_ascii=not plain)
