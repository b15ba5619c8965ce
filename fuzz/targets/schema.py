"""Schemas of somebody else's, and values checked against them."""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from fuzz.schema_grammar import hostile_schema, hostile_value
from fuzz.target import Run, Target, TooSlow, expect
from fuzz.watch import MIB, forget_peak, peak_memory
from signet.kernel.schemas import Contract
from signet.kernel.spending import THREAD_WORK, OverBudgetError

__all__ = ["TARGET"]

MAX_S = 0.05
"""The CPU time of one step on the event loop: to compile a schema, to check a value, or to find its places."""
SLACK = 2.5
"""The machine and the watch take time too."""
MAX_MIB = 64
MAX_VALUE_BYTES = 1 << 20
MAX_PLACES = 11
SEEDS = (
    ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
    ({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "minItems": 2}]}, [[[[1]]]]),
    ({"pattern": "^([a-z]{1,100}){1,100}$"}, "a" * 500),
)


class _Checks:
    """Checks pairs of a schema and a value, and remembers the longest step and the most memory."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.most_mib = 0

    def run(self, data: bytes) -> None:
        """Compile a schema and check a value, watched for paths; then again, with a look at time and memory."""
        try:
            schema, value, times = msgspec.json.decode(data, type=tuple[dict[str, Any] | bool, Any, int])
            if len(msgspec.json.encode(value)) * max(1, times) > MAX_VALUE_BYTES:
                return
            value = [value] * times if times > 1 else value
        except (ValueError, RecursionError):
            return
        watched = sys.gettrace()
        self._check(schema, value)
        sys.settrace(None)
        try:
            forget_peak()
            before = peak_memory()
            slow = self._check(schema, value)
            self.most_mib = max(self.most_mib, (peak_memory() - before) // MIB)
        finally:
            sys.settrace(watched)
        expect(peak_memory() - before <= MAX_MIB * MIB, "a check takes 64 MiB at most", (peak_memory() - before) // MIB)
        if slow:
            raise TooSlow(f"{slow}: one step takes {MAX_S * 1000:g} ms at most")

    def _check(self, schema: Any, value: Any) -> str:
        """Return the step that took too long, if one did."""
        start_s = time.thread_time()
        try:
            contract = Contract(schema, "")
        except (ValueError, RecursionError):
            return self._took("refusing", start_s)
        slow = self._took("compiling", start_s)
        start_s = time.thread_time()
        try:
            is_valid = contract.is_valid(value, 0)
        except OverBudgetError:
            # A thread goes on, part by part.
            slow = slow or self._took("measuring", start_s)
            if not contract.is_valid(value):
                _expect_places(contract, value, contract.places(value))
            return slow
        slow = slow or self._took("checking", start_s)
        if not is_valid:
            start_s = time.thread_time()
            places = contract.places(value)
            slow = slow or self._took("finding places", start_s)
            _expect_places(contract, value, places)
        return slow

    def _took(self, step: str, start_s: float) -> str:
        took_s = time.thread_time() - start_s
        if sys.gettrace() is not None:
            return ""
        self.longest_s = max(self.longest_s, took_s)
        return step if took_s > MAX_S * SLACK else ""

    def figures(self) -> dict[str, float]:
        """Return what the inputs so far took at most."""
        return {
            "longest step on the event loop, ms": round(self.longest_s * 1000, 1),
            "most memory, MiB": float(self.most_mib),
        }


def _expect_places(contract: Contract, value: object, places: list[Any]) -> None:
    # What was compiled for the first answer is there for the second one.
    is_told = places or contract.is_valid(value, THREAD_WORK)
    expect(is_told and len(places) <= MAX_PLACES, "a refused value has places", len(places))


CHECKS = _Checks()


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    yield CHECKS.run


def _generate(chance: random.Random) -> bytes:
    value, times = hostile_value(chance), 1
    if isinstance(value, list) and len(value) > 1 and all(one is value[0] for one in value):
        value, times = value[0], len(value)
    return json.dumps([hostile_schema(chance), value, times]).encode()[:100_000]


def _seeds() -> list[bytes]:
    return [json.dumps([schema, value, 1]).encode() for schema, value in SEEDS]


TARGET = Target(
    name="schema",
    about="schemas of somebody else's, recursive, branching and patterned, and values checked against them",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=(
        b'{"$ref":"#"}',
        b'"anyOf"',
        b'"allOf"',
        b'"items"',
        b'"uniqueItems":true',
        b'"pattern":"(a{9}){9}"',
        b"1e300",
    ),
    rooms=("kernel/schema", "kernel/parts", "kernel/places", "kernel/pattern_size"),
    # Each step is bounded by itself; there are six of them.
    base_s=6 * MAX_S * SLACK,
    per_byte_s=100e-6,
    figures=CHECKS.figures,
)
