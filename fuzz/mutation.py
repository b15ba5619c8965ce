"""Mutations: an input changed by bytes, by tokens, by lines, or by the tree of the JSON in it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from .odd_values import json_text, json_value, number, text

__all__ = ["MAX_BYTES", "mutate"]

MAX_BYTES = 8_192
"""The size up to which inputs grow; only `_repeat` makes larger ones."""
LARGE_BYTES = 60_000
BYTES = b"\0\x01\n\r\t \"'\\/<>&{}[]:,;=.-+0129aAzZ%#@\x7f\x80\xc3\xe3\xf0\xff\xfe"


def mutate(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    """Return an input that differs in a few places; `pool` has other inputs to take parts from."""
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        operator = chance.choice(OPERATORS)
        data = operator(chance, data, tokens, pool)
    if len(data) > LARGE_BYTES:
        return data[:LARGE_BYTES]
    return data


def _span(chance: random.Random, data: bytes) -> tuple[int, int]:
    """Return the ends of a part, which is short for the most part."""
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((0, 1, 2, 4, 16, 64, 512)))


def _set_byte(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    del tokens, pool
    place = chance.randrange(len(data) + 1)
    one = bytes([chance.choice(BYTES) if chance.random() < 0.7 else chance.randrange(256)])
    return data[:place] + one + data[place + chance.randrange(2) :]


def _remove(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    del tokens, pool
    start, end = _span(chance, data)
    return data[:start] + data[end:]


def _put_token(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    del pool
    start, end = _span(chance, data)
    return data[:start] + chance.choice(tokens) + data[end if chance.random() < 0.3 else start :]


def _copy(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    del tokens
    other = chance.choice(pool) if pool else data
    start, end = _span(chance, other)
    place = chance.randrange(len(data) + 1)
    return data[:place] + other[start:end] + data[place:]


def _splice(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    del tokens
    other = chance.choice(pool) if pool else data
    return (data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :])[:MAX_BYTES]


def _repeat(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    """Repeat a part many times: work that is more than linear shows."""
    del pool
    start, end = _span(chance, data)
    part = data[start:end] if chance.random() < 0.5 else chance.choice(tokens)
    often = chance.choice((2, 3, 10, 100)) if chance.random() < 0.9 else LARGE_BYTES // max(1, len(part))
    return data[:start] + part * often + data[start:]


def _lines(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    """Remove, repeat or move a line, or take one from another input."""
    del tokens
    lines = data.split(b"\n")
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(4)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif pool:
        lines.insert(place, chance.choice(chance.choice(pool).split(b"\n")))
    return b"\n".join(lines)


def _tree(chance: random.Random, data: bytes, tokens: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    """Change the JSON of the input, or of one line of it."""
    del tokens, pool
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    for start, end in ((0, len(lines)), (place, place + 1), (place, len(lines))):
        try:
            value = json.loads(b"\n".join(lines[start:end]))
        except (ValueError, RecursionError):
            continue
        written = json_text(_changed(chance, value), chance).encode("utf-8", "surrogatepass")
        return b"\n".join([*lines[:start], written, *lines[end:]])
    return data


def _changed(chance: random.Random, value: Any) -> Any:
    holder = {"": value}
    spots = _spots(holder)
    parent, key = chance.choice(spots)
    kind = chance.randrange(7)
    old = parent[key]
    if kind == 0:
        parent[key] = json_value(chance)
    elif kind == 1 and parent is not holder:
        del parent[key]
    elif kind == 2:
        giver, place = chance.choice(spots)
        parent[key] = json.loads(json.dumps(giver[place])) if giver is not holder else old
    elif kind == 3:
        parent[key] = chance.choice(([old], {"a": old}, [], {}, [old, old]))
    elif kind == 4 and isinstance(old, dict):
        old[text(chance)] = json_value(chance, 1)
    elif isinstance(old, str):
        place = chance.randrange(len(old) + 1)
        parent[key] = old[:place] + text(chance) + old[place + chance.randrange(2) :]
    else:
        parent[key] = number(chance)
    return holder[""]


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a value: its holder, and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys if isinstance(one[key], dict | list)]
    return found


Operator = Callable[[random.Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]
OPERATORS: tuple[Operator, ...] = (
    _set_byte, _set_byte, _remove, _put_token, _put_token, _copy, _splice, _lines, _tree, _tree, _tree, _repeat,
)  # fmt: skip
