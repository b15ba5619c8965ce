"""Parameters that pydantic describes, by a `Field` or a type such as `HttpUrl`, and defaults of a wrong type."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType

import msgspec
import pydantic
import pytest
from msgspec import Meta
from typing_extensions import TypedDict

import signet
from commands_in_process import signet_here
from own_toolsets import call, declared
from processes import PATIENCE_S, SIGNET, clean_env
from signet.authoring.contract import ContractTypeError, DerivedContract, derive
from signet.authoring.declaration import declared as declaration_of

FIELDS = '''
import signet
from pydantic import Field


@signet.tool(example={"x": 2})
def three(x: int = Field(default=3, description="how many", ge=1)) -> int:
    """Give back a number."""
    return x
'''


def contract(function: Callable[..., Any]) -> DerivedContract:
    declaration = declaration_of(signet.tool(function))
    assert declaration is not None
    return derive(declaration)


def take(hint: Any, *default: Any) -> Callable[..., Any]:
    """Return a tool that shows its one parameter."""

    def show(value) -> str:
        """Show a value."""
        return repr(value)

    show.__annotations__ = {"value": hint, "return": str}
    show.__defaults__ = default or None
    return show


def test_a_field_as_the_default_is_published_and_served(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FIELDS)

    def signet_call(*arguments: str) -> Any:
        command = [SIGNET, "call", "--toolsets", "tools.py", "three", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=False
        )
        return json.loads(done.stdout)

    shown = signet_here(tmp_path, "tools", "tools.py", "three").stdout.decode()

    assert signet_call() == {"result": 3}
    assert signet_call("x=5") == {"result": 5}
    assert signet_call("x=0")["error"]["code"] == "INVALID_INPUT"
    assert "how many" in shown
    assert signet_here(tmp_path, "check", "tools.py").returncode == 0


@pytest.mark.parametrize(
    ("function", "schema", "is_required"),
    [
        (
            take(int, pydantic.Field(default=3, ge=1, description="how many")),
            {"type": "integer", "minimum": 1, "description": "how many", "default": 3},
            False,
        ),
        (
            take(int, pydantic.Field(ge=1, title="Number")),
            {"type": "integer", "minimum": 1, "title": "Number"},
            True,
        ),
        (take(int, pydantic.Field(..., le=9)), {"type": "integer", "maximum": 9}, True),
        (
            take(list[str], pydantic.Field(default_factory=list, max_length=3)),
            {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            False,
        ),
        (
            take(Annotated[int, pydantic.Field(default=3, le=9)]),
            {"type": "integer", "maximum": 9, "default": 3},
            False,
        ),
        (
            take(Annotated[int, pydantic.Field(default=3, le=9)], 4),
            {"type": "integer", "maximum": 9, "default": 4},
            False,
        ),
        (
            take(Annotated[int, "not this text"], pydantic.Field(default=3, description="how many")),
            {"type": "integer", "description": "how many", "default": 3},
            False,
        ),
        (take(Annotated[int, "how many"]), {"type": "integer", "description": "how many"}, True),
        (
            take(Annotated[int, "how many", pydantic.Field(ge=1)], 1),
            {"type": "integer", "minimum": 1, "description": "how many", "default": 1},
            False,
        ),
    ],
)
def test_what_a_parameter_publishes(function: Callable[..., Any], schema: dict[str, Any], is_required: bool) -> None:
    derived = contract(function)

    assert derived.input["properties"] == {"value": schema}
    assert derived.input.get("required", []) == (["value"] if is_required else [])


def test_each_call_gets_a_default_of_its_own() -> None:
    def collect(words, more) -> int:
        """Collect words."""
        words.append("a")
        more.append("a")
        return len(words) + len(more)

    collect.__annotations__ = {"words": list[str], "more": list[str], "return": int}
    collect.__defaults__ = (pydantic.Field(default_factory=list), pydantic.Field([]))

    with declared(collect) as toolset:
        call(toolset, ("collect", {}))
        outcome = call(toolset, ("collect", {}))

    assert outcome.result == {"result": 2}


def test_a_text_beside_the_type_of_a_result_describes_it() -> None:
    def add(a: int) -> Annotated[int, "the sum"]:
        """Add."""
        return a

    assert contract(add).output["properties"] == {"result": {"type": "integer", "description": "the sum"}}


class Limited(msgspec.Struct):
    count: int = 1


class Address(msgspec.Struct):
    home: pydantic.HttpUrl


@dataclasses.dataclass
class Bounded:
    count: Annotated[int, pydantic.Field(ge=1)] = 3


@dataclasses.dataclass
class BoundedByDefault:
    count: int = pydantic.Field(default=3, ge=1)


class BoundedPair(NamedTuple):
    count: Annotated[int, pydantic.Field(ge=1)] = 3


class BoundedDict(TypedDict):
    count: Annotated[int, pydantic.Field(ge=1)]


Count = NewType("Count", Annotated[int, pydantic.Field(ge=1)])  # type: ignore[valid-newtype]


class BoundedStruct(msgspec.Struct):
    count: Annotated[int, pydantic.Field(ge=1)] = 3


class StructWithField(msgspec.Struct):
    count: int = pydantic.Field(default=3, ge=1)


class StructWithType(msgspec.Struct):
    counts: list[pydantic.PositiveInt]


@dataclasses.dataclass
class Both:
    home: pydantic.HttpUrl
    count: Annotated[int, Meta(ge=1)] = 3


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Owner(pydantic.BaseModel):
    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
    friends: list[Owner] = []


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, "x"),
        (int, None),
        (int, ...),
        (int, dataclasses.field(default=3)),
        (int, msgspec.field(default=3)),
        (Annotated[int, Meta(ge=1)], 0),
        (Limited, {"count": "x"}),
        (Annotated[int, pydantic.Field(ge=1)], 0),
        (Annotated[int, pydantic.Field(ge=1)], "3"),
        (int, pydantic.Field(default="x")),
        (int, pydantic.Field(default=0, ge=1)),
    ],
)
def test_a_default_that_its_type_refuses_stops_the_start(hint: Any, default: Any) -> None:
    with pytest.raises(ContractTypeError, match=r"^value: the default .* is not of type .*: "):
        contract(take(hint, default))


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (float, 1),
        (float, float("nan")),
        (int | None, None),
        (int, object()),
        (Any, object()),
        (tuple[int, ...], (1, 2)),
        (Limited, Limited(2)),
        (pydantic.HttpUrl, "https://example.com/"),
        (pydantic.HttpUrl | None, None),
        (Owner, Owner(pet=Cat(kind="cat"))),
        (Annotated[float, pydantic.Field(ge=0)], 1),
    ],
)
def test_a_default_of_its_type_is_taken(hint: Any, default: Any) -> None:
    assert contract(take(hint, default)).input.get("required", []) == []


@pytest.mark.parametrize("kind", ["Wrong", "WrongModel"])
def test_a_wrong_default_within_a_type_fails_the_check(tmp_path: Path, kind: str) -> None:
    code = f"""
import msgspec
import pydantic
import signet


class Wrong(msgspec.Struct):
    count: int = "many"


class WrongModel(pydantic.BaseModel):
    count: int = "many"


@signet.tool(example={{"value": {{"count": 1}}}})
def count(value: {kind}) -> int:
    '''Count.'''
    return value.count
"""
    (tmp_path / "tools.py").write_text(code)

    done = signet_here(tmp_path, "check", "tools.py", "--format", "json")

    assert done.returncode == 1
    failed = [one for one in json.loads(done.stdout)["results"] if one["state"] == "failed"]
    assert [one["check"] for one in failed] == ["contract"]
    assert "the default of value.count is not of its own type" in failed[0]["message"]


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (pydantic.HttpUrl, "https://example.com/a", "HttpUrl('https://example.com/a')"),
        (list[pydantic.HttpUrl], ["https://example.com/"], "[HttpUrl('https://example.com/')]"),
        (pydantic.SecretStr, "hush", "SecretStr('**********')"),
        (pydantic.PositiveInt, 3, "3"),
        (pydantic.AwareDatetime | None, None, "None"),
    ],
)
def test_a_type_of_pydantic_is_read_by_pydantic(hint: Any, value: Any, got: str) -> None:
    with declared(take(hint)) as toolset:
        outcome = call(toolset, ("show", {"value": value}))

    assert outcome.result == {"result": got}


def test_an_address_that_pydantic_refuses_is_a_wrong_argument() -> None:
    with declared(take(pydantic.HttpUrl)) as toolset:
        outcome = call(toolset, ("show", {"value": "nowhere"}))

    assert outcome.fault.code is signet.Code.INVALID_INPUT
    assert outcome.fault.message.startswith("Invalid arguments for show: value: ")


def test_an_address_is_written_as_text() -> None:
    def home() -> pydantic.HttpUrl:
        """Give an address."""
        return pydantic.HttpUrl("https://example.com/a")

    with declared(home) as toolset:
        outcome = call(toolset, ("home", {}))

    assert outcome.result == {"result": "https://example.com/a"}


@pytest.mark.parametrize(
    ("hint", "default", "words"),
    [
        (Path, (), "JSON has no paths: write str instead of Path, and Path(value) in the function"),
        (list[Path] | None, (), "write str instead of Path, and Path(value) in the function"),
        (Address, (), "only pydantic reads HttpUrl: write a pydantic model instead of the class that holds it"),
        (pydantic.EmailStr, (), "email-validator is not installed"),
        (BoundedStruct, (), "a struct of msgspec applies no limits of pydantic: write Meta(…) in it"),
        (list[StructWithField] | None, (), "a struct of msgspec applies no limits of pydantic"),
        (StructWithType, (), "a struct of msgspec applies no limits of pydantic"),
        (Both, (), "applies no Meta of msgspec: write Field(…) instead of Meta(…)"),
        (Annotated[int, Meta(ge=1)], (pydantic.Field(default=3),), "value: int cannot be a contract; pydantic reads"),
        (int, (pydantic.Field(alias="from"),), "alias= is for the fields of a model: name the parameter itself so"),
        (int, (pydantic.Field(default_factory=len),), "default_factory of pydantic that takes other values"),
    ],
)
def test_what_pydantic_cannot_do_for_a_parameter_is_named_with_what_to_write(
    hint: Any, default: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ContractTypeError) as caught:
        contract(take(hint, *default))

    assert words in str(caught.value)


@pytest.mark.parametrize("hint", [Bounded, BoundedByDefault, list[Bounded], BoundedPair, BoundedDict, Count])
def test_the_limits_of_a_field_hold_within_a_type(hint: Any) -> None:
    zero: Any = 0 if hint is Count else [0] if hint is BoundedPair else {"count": 0}

    with declared(take(hint)) as toolset:
        outcome = call(toolset, ("show", {"value": [zero] if hint == list[Bounded] else zero}))

    assert outcome.fault.code is signet.Code.INVALID_INPUT
    assert "0 is less than the minimum of 1" in outcome.fault.message


def test_a_member_that_is_left_out_has_the_default_of_its_field() -> None:
    with declared(take(BoundedByDefault)) as toolset:
        outcome = call(toolset, ("show", {"value": {}}))

    assert outcome.result == {"result": "BoundedByDefault(count=3)"}


def test_a_whole_input_applies_the_limits_of_its_struct_or_is_refused() -> None:
    def place(args: BoundedStruct) -> int:
        """Place."""
        return args.count

    with pytest.raises(ContractTypeError, match="args: BoundedStruct cannot be a contract; a struct of msgspec"):
        contract(place)


def test_a_default_that_a_factory_makes_is_held_to_the_type() -> None:
    with declared(take(int, pydantic.Field(default_factory=lambda: "x"))) as toolset:
        outcome = call(toolset, ("show", {}))

    assert outcome.fault.code is signet.Code.INTERNAL_ERROR


def test_a_whole_input_takes_no_field() -> None:
    def place(args: Limited) -> int:
        """Place."""
        return args.count

    place.__defaults__ = (pydantic.Field(description="what"),)

    with pytest.raises(ContractTypeError, match="args: the whole input takes no Field: write its limits in Limited"):
        contract(place)


def test_a_union_with_a_discriminator_names_no_definition_that_is_not_there() -> None:
    def greet(owner: Owner, pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]) -> Owner:
        """Greet."""
        return owner

    derived = contract(greet)
    text = json.dumps([derived.input, derived.output])

    assert "mapping" not in text
    assert derived.input["properties"]["pet"].keys() == {"oneOf"}
    assert [one["properties"]["kind"]["const"] for one in derived.input["properties"]["pet"]["oneOf"]] == ["cat", "dog"]
