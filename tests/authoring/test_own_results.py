"""The results of one's own tools: what is sent is what the contract says, and null stands for no other value."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable
from math import inf, nan
from typing import Any

import msgspec
import pydantic
import pytest

from own_toolsets import call, declared
from signet import Code
from signet.authoring.contract import DerivedContract, derive
from signet.authoring.declaration import declared as declaration_of
from signet.authoring.declaration import tool


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(alias="fullName")
    height_m: float | None = None

    @pydantic.computed_field
    @property
    def height_cm(self) -> float | None:
        return None if self.height_m is None else self.height_m * 100


class Huge(pydantic.BaseModel):
    size: int = 1

    @pydantic.computed_field
    @property
    def ratio(self) -> float | None:
        return inf


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    size: int = 1


class Node(pydantic.BaseModel):
    below: list[Node] = []


@dataclasses.dataclass(slots=True)
class Slotted:
    x: float | None


@dataclasses.dataclass
class Parent:
    below: list[Slotted]


def _cyclic() -> Node:
    node = Node()
    node.below.append(node)
    return node


def giving(hint: Any, value: Callable[[], Any]) -> Callable[..., Any]:
    """Return a tool whose result is of some type."""

    def give():
        """Give a value."""
        return value()

    give.__annotations__ = {"return": hint}
    return give


def contract(function: Callable[..., Any]) -> DerivedContract:
    declaration = declaration_of(tool(function))
    assert declaration is not None
    return derive(declaration)


def test_a_model_is_published_as_it_is_written() -> None:
    give = giving(Person, lambda: Person(fullName="Ann", height_m=1.5))

    with declared(give) as toolset:
        outcome = call(toolset, ("give", {}))

    assert outcome.result == {"fullName": "Ann", "height_m": 1.5, "height_cm": 150.0}
    assert contract(give).output["properties"].keys() == {"fullName", "height_m", "height_cm"}


def test_a_model_is_read_by_its_aliases() -> None:
    def greet(person: Person) -> str:
        """Greet."""
        return person.name

    with declared(greet) as toolset:
        outcome = call(toolset, ("greet", {"person": {"fullName": "Ann"}}))

    assert outcome.result == {"result": "Ann"}
    assert contract(greet).input["properties"]["person"]["properties"].keys() == {"fullName", "height_m"}


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Slotted, lambda: Slotted(nan)),
        (Parent, lambda: Parent([Slotted(1.0), Slotted(inf)])),
        (Huge, Huge),
        (list[Huge], lambda: [Huge()]),
        (Open, lambda: Open(extra=nan)),
        (Person, lambda: Person(fullName="Ann", height_m=nan)),
        (dict[str, object], lambda: {"a": [nan]}),
        (Node, _cyclic),
    ],
)
def test_what_json_has_no_word_for_breaks_the_contract(hint: Any, value: Callable[[], Any]) -> None:
    with declared(giving(hint, value)) as toolset:
        outcome = call(toolset, ("give", {}))

    assert outcome.fault.code is Code.INVALID_OUTPUT


def test_a_default_that_json_has_no_word_for_is_not_published() -> None:
    class Limits(msgspec.Struct):
        most: float = inf
        least: float = 0.0

    class Bounds(pydantic.BaseModel):
        most: float = inf

    def take(limits, bounds, most: float = nan) -> None:
        """Take."""

    take.__annotations__ |= {"limits": Limits, "bounds": Bounds}
    properties = contract(take).input["properties"]

    assert "default" not in properties["most"]
    assert "default" not in properties["limits"]["properties"]["most"]
    assert "default" not in properties["bounds"]["properties"]["most"]
    assert properties["limits"]["properties"]["least"]["default"] == 0.0


@pytest.mark.parametrize(("hint", "same"), [(dict[str, object], dict[str, Any]), (list[object], list[Any])])
def test_object_stands_for_anything(hint: Any, same: Any) -> None:
    value = {"a": 1} if hint == dict[str, object] else [1, "a"]

    with declared(giving(hint, lambda: value)) as toolset:
        outcome = call(toolset, ("give", {}))

    assert contract(giving(hint, dict)).output == contract(giving(same, dict)).output
    assert outcome.result in (value, {"result": value})


def test_object_stands_for_anything_in_a_struct_and_in_a_parameter() -> None:
    class Box(msgspec.Struct):
        held: list[object]

    def take(box, more: dict[str, object]) -> str:
        """Take."""
        return f"{box.held} {more}"

    take.__annotations__["box"] = Box

    with declared(take) as toolset:
        outcome = call(toolset, ("take", {"box": {"held": [1, "a"]}, "more": {"b": None}}))

    assert outcome.result == {"result": "[1, 'a'] {'b': None}"}
    assert contract(take).input["properties"]["box"]["properties"]["held"] == {"type": "array"}


def _passing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(function(*args, **kwargs))

    return wrapper


@pytest.mark.parametrize("decorator", [_passing_on, _waiting])
def test_an_async_function_may_stand_below_a_plain_decorator(decorator: Callable[..., Any]) -> None:
    @decorator
    async def double(number: int) -> int:
        """Double."""
        await asyncio.sleep(0)
        if number < 0:
            raise SystemExit(3)
        return number * 2

    with declared(double) as toolset:
        served = call(toolset, ("double", {"number": 4}))
        failed = call(toolset, ("double", {"number": -1}))

    assert served.result == {"result": 8}
    assert failed.fault.code is Code.INTERNAL_ERROR
