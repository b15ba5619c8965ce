"""YAML as OpenAPI has it: the values of JSON, keys that are texts, no key twice, and aliases with a bound. Pure.

The value is built from the events of the parser, in one loop: a composer of nodes would follow a hostile document into
any depth, and ends the process there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from .failure import DocumentError, shown

__all__ = ["parse_yaml"]

MAX_VALUES: Final = 3_000_000
"""The most values that a document has when every alias is written out."""
MAX_DEPTH: Final = 300

NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
SWITCHES: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")
NUMBER: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
NUMERIC: Final = frozenset("-+.0123456789")
TAGS: Final = tuple([f"tag:yaml.org,2002:{word}" for word in ("null", "bool", "int", "float")])
TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")
PLAIN_TAGS: Final = (*TAGS, *TEXT_TAGS, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
MERGE: Final = "<<"


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML document; raise DocumentError if it cannot be used."""
    try:
        import yaml
    except ImportError:
        from signet.system.advice import advise

        install = advise("extra", install="openapi")
        message = f"{name} is YAML, and PyYAML is not installed; type: {install}, or give it as JSON"
        raise DocumentError(message) from None
    builder = _Builder()
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return builder.build(yaml.parse(text, loader))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        why = f"{shown(problem or 'it cannot be parsed')}{place}"
    except (_BadValueError, RecursionError) as error:
        place = f" (line {builder.line})" if isinstance(error, _BadValueError) else ""
        why = f"{error if isinstance(error, _BadValueError) else 'it is nested too deeply'}{place}"
    raise DocumentError(f"{name} is no YAML that can be used: {why}")


class _BadValueError(Exception):
    """A value of the document cannot be used."""


class _Open(msgspec.Struct):
    """A list or an object of which the end has not come yet."""

    value: Any
    anchor: str | None
    before: int
    """The number of values before it."""
    key: str | None = None
    merged: list[Any] = []


class _Builder:
    """Builds one value from events."""

    def __init__(self) -> None:
        self.line = 0
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        """The values that have a name, each with the number of values in it."""
        self._count = 0
        self._result: list[Any] = []

    def build(self, events: Iterable[Any]) -> Any:
        """Return the value of the one document that events describe."""
        for event in events:
            kind = type(event).__name__
            if kind in STEPS:
                self.line = event.start_mark.line + 1
                STEPS[kind](self, event)
        if not self._result:
            raise _BadValueError("it is empty")
        return self._result[0]

    def scalar(self, event: Any) -> None:
        """Add a text, or what a text without quotes stands for; the keys of an object are texts."""
        if event.tag is not None and event.tag not in PLAIN_TAGS:
            raise _BadValueError(f"{shown(event.tag)} is no value of JSON")
        top = self._stack[-1] if self._stack else None
        if top is not None and type(top.value) is dict and top.key is None:
            top.key = event.value
            return
        is_text = not event.implicit[0] and event.tag not in TAGS
        self._add(event.value if is_text else _plain(event.value), event.anchor, 1)

    def begin(self, event: Any, value: Any) -> None:
        """Begin a list or an object."""
        if len(self._stack) >= MAX_DEPTH:
            raise _BadValueError(f"it is nested more than {MAX_DEPTH} deep")
        if event.tag is not None and event.tag not in PLAIN_TAGS:
            raise _BadValueError(f"{shown(event.tag)} is no value of JSON")
        self._check_key()
        self._stack.append(_Open(value, event.anchor, self._count))

    def end(self, _: Any) -> None:
        """End the list or the object that was begun last."""
        done = self._stack.pop()
        for merged in done.merged:
            self._grow(len(merged))
            done.value = {**merged, **done.value}
        self._add(done.value, done.anchor, self._count - done.before + 1, is_counted=True)

    def alias(self, event: Any) -> None:
        """Add a value that has a name, as often as it is written."""
        self._check_key()
        if event.anchor not in self._anchors:
            raise _BadValueError(f"*{shown(event.anchor)} is a part of itself, or of nothing")
        value, count = self._anchors[event.anchor]
        self._add(value, None, count)

    def _check_key(self) -> None:
        top = self._stack[-1] if self._stack else None
        if top is not None and type(top.value) is dict and top.key is None:
            raise _BadValueError("a key is no text")

    def _grow(self, count: int) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise _BadValueError(f"it has more than {MAX_VALUES:,} values, aliases written out")

    def _add(self, value: Any, anchor: str | None, count: int, *, is_counted: bool = False) -> None:
        self._grow(1 if is_counted else count)
        if anchor is not None:
            self._anchors[anchor] = (value, count)
        if not self._stack:
            if self._result:
                raise _BadValueError("it has more than one document")
            self._result.append(value)
            return
        top = self._stack[-1]
        if type(top.value) is list:
            top.value.append(value)
        elif top.key == MERGE:
            top.merged += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
            top.key = None
        elif top.key in top.value:
            raise _BadValueError(f"the key {shown(top.key)!r} stands twice")
        else:
            top.value[top.key] = value
            top.key = None


STEPS: Final = {
    "ScalarEvent": _Builder.scalar,
    "SequenceStartEvent": lambda builder, event: builder.begin(event, []),
    "MappingStartEvent": lambda builder, event: builder.begin(event, {}),
    "SequenceEndEvent": _Builder.end,
    "MappingEndEvent": _Builder.end,
    "AliasEvent": _Builder.alias,
}


def _plain(text: str) -> Any:
    """Return what a text without quotes stands for, by the JSON values of YAML 1.2: `on` and dates are texts."""
    if text[:1] in NUMERIC and text:
        if INTEGER.fullmatch(text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text) and abs(float(text)) != float("inf") else text
    return None if text in NULLS else SWITCHES.get(text, text)
