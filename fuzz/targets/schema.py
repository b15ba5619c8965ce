"""Schemas of somebody else's, and values checked against them."""

from __future__ import annotations

import contextlib
import gc
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
"""The machine takes time too."""
TRIES = 3
"""A step that takes longer than it may is measured again: the machine may have been held for a moment."""
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
        _check(schema, value)
        sys.settrace(None)
        # The garbage collector looks at what the check makes, and not at all that the fuzzer keeps.
        gc.freeze()
        try:
            forget_peak()
            before = peak_memory()
            took = _fastest(schema, value)
            self.most_mib = max(self.most_mib, (peak_memory() - before) // MIB)
        finally:
            gc.unfreeze()
            sys.settrace(watched)
        expect(peak_memory() - before <= MAX_MIB * MIB, "a check takes 64 MiB at most", (peak_memory() - before) // MIB)
        self.longest_s = max(self.longest_s, *took.values())
        slow = [step for step, took_s in took.items() if took_s > MAX_S * SLACK]
        if slow:
            raise TooSlow(f"{slow[0]}: one step takes {MAX_S * 1000:g} ms at most")

    def figures(self) -> dict[str, float]:
        """Return what the inputs so far took at most."""
        return {
            "longest step on the event loop, ms": round(self.longest_s * 1000, 1),
            "most memory, MiB": float(self.most_mib),
        }


def _fastest(schema: Any, value: Any) -> dict[str, float]:
    """Return the CPU seconds of each step, measured again while one of them takes too long."""
    took = _check(schema, value)
    for _ in range(TRIES - 1):
        if max(took.values()) <= MAX_S:
            break
        again = _check(schema, value)
        took = {step: min(took_s, again.get(step, took_s)) for step, took_s in took.items()}
    return took


def _check(schema: Any, value: Any) -> dict[str, float]:
    """Compile a schema, check a value and find its places; return the CPU seconds of each step on the event loop."""
    took: dict[str, float] = {}
    start_s = time.thread_time()
    try:
        contract = Contract(schema, "")
    except (ValueError, RecursionError):
        return {"refusing": time.thread_time() - start_s}
    took["compiling"] = time.thread_time() - start_s
    start_s = time.thread_time()
    try:
        is_valid = contract.is_valid(value, 0)
    except OverBudgetError:
        # A thread goes on, part by part.
        took["measuring"] = time.thread_time() - start_s
        if not contract.is_valid(value):
            _expect_places(contract, value, contract.places(value))
        return took
    took["checking"] = time.thread_time() - start_s
    if not is_valid:
        start_s = time.thread_time()
        places = contract.places(value)
        took["finding places"] = time.thread_time() - start_s
        _expect_places(contract, value, places)
    return took


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
