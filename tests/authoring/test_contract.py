"""Contracts derived from types: what each kind of parameter and result publishes, and what cannot be a contract."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from jsonschema_rs import Draft202012Validator
from msgspec import Meta

import signet
from signet.authoring.contract import ContractTypeError, DerivedContract, derive
from signet.authoring.declaration import declared


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Line(msgspec.Struct):
    item: str
    count: Annotated[int, Meta(ge=1, description="how many")] = 1


class Order(msgspec.Struct):
    lines: list[Line]
    colour: Colour = Colour.RED


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    tricks: list[str]


class Untagged(msgspec.Struct):
    lives: int


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Address(TypedDict):
    street: str
    floor: NotRequired[int]


class User(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=2, description="full name")
    age: int | None = None


class Team(pydantic.BaseModel):
    lead: User
    members: list[User] = []


def contract(function: Callable[..., Any]) -> DerivedContract:
    declaration = declared(signet.tool(function))
    assert declaration is not None
    return derive(declaration)


def test_each_parameter_is_a_property_and_a_plain_result_stands_below_result() -> None:
    def add(a: int, b: int = 0) -> int:
        """Add two integers."""
        return a + b

    derived = contract(add)

    assert derived.input == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 0}},
        "required": ["a"],
    }
    assert derived.output == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    assert derived.description == "Add two integers."


INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
NULL = {"type": "null"}
LINE = {
    "title": "Line",
    "type": "object",
    "properties": {
        "item": TEXT,
        "count": {"type": "integer", "minimum": 1, "description": "how many", "default": 1},
    },
    "required": ["item"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, INTEGER),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, NULL),
        (list[str], {"type": "array", "items": TEXT}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (int | None, {"anyOf": [INTEGER, NULL]}),
        (int | str, {"anyOf": [INTEGER, TEXT]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"enum": [1, 2]}),
        (Colour, {"title": "Colour", "type": "string", "enum": ["blue", "red"]}),
        (Annotated[str, Meta(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
        (Line, LINE),
        (dt.date, {"type": "string", "format": "date"}),
        (Any, {}),
        (
            Address,
            {
                "title": "Address",
                "type": "object",
                "properties": {"street": TEXT, "floor": INTEGER},
                "required": ["street"],
            },
        ),
        (
            Point,
            {
                "title": "Point",
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
                "required": ["x"],
            },
        ),
    ],
)
def test_the_schema_of_a_parameter(hint: Any, schema: dict[str, Any]) -> None:
    def take(value) -> None:
        """Take a value."""

    take.__annotations__ = {"value": hint, "return": None}

    assert contract(take).input["properties"] == {"value": schema}


def test_nothing_is_flattened_and_references_are_written_out() -> None:
    def place(order: Order) -> Order:
        """Place an order."""
        return order

    derived = contract(place)

    assert derived.input["required"] == ["order"]
    assert derived.input["properties"]["order"]["properties"]["lines"] == {"type": "array", "items": LINE}
    assert "$ref" not in msgspec.json.encode([derived.input, derived.output]).decode()
    assert derived.output["properties"].keys() == {"lines", "colour"}, "a result that is an object stands as it is"


def test_a_type_that_contains_itself_keeps_its_reference() -> None:
    def grow(tree: Tree, forest: list[Tree]) -> list[Tree]:
        """Grow."""
        return [tree, *forest]

    derived = contract(grow)
    compiled = Draft202012Validator(derived.input)

    assert compiled.is_valid({"tree": {"name": "a", "children": [{"name": "b"}]}, "forest": []})
    assert not compiled.is_valid({"tree": {"name": "a", "children": [{"name": 1}]}, "forest": []})
    assert derived.output["$defs"].keys() == {"Tree"}
    assert derived.input["properties"]["tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert derived.input["$defs"].keys() == {"Tree"}


def test_two_types_of_one_name_stay_two() -> None:
    """Pydantic names its definitions by the class alone."""

    class Node(pydantic.BaseModel):
        below: list[Node] = []
        weight: int

    first = Node

    class Node(pydantic.BaseModel):  # type: ignore[no-redef]
        below: list[Node] = []
        label: str

    def join(one, other) -> None:
        """Join."""

    first.model_rebuild(_types_namespace={"Node": first})
    Node.model_rebuild(_types_namespace={"Node": Node})
    join.__annotations__ = {"one": first, "other": Node, "return": None}
    compiled = Draft202012Validator(contract(join).input)

    assert compiled.is_valid({"one": {"weight": 1, "below": [{"weight": 2}]}, "other": {"label": "a"}})
    assert not compiled.is_valid({"one": {"weight": 1, "below": [{"label": "b"}]}, "other": {"label": "a"}})


def test_types_that_share_types_do_not_grow_without_bound() -> None:
    below: Any = Line
    for depth in range(24):
        below = msgspec.defstruct(f"Level{depth}", [("left", below), ("right", below)])

    def take(value) -> None:
        """Take a value."""

    take.__annotations__ = {"value": below, "return": None}

    assert len(msgspec.json.encode(contract(take).input)) < 1_000_000


def test_a_single_struct_named_args_is_the_whole_input() -> None:
    def place(args: Order, context: signet.Context) -> str:
        """Place an order."""
        return str(len(args.lines) + bool(context))

    derived = contract(place)

    assert derived.input["properties"].keys() == {"lines", "colour"}
    assert derived.args is Order


def test_a_dataclass_of_pydantic_named_args_keeps_its_limits() -> None:
    @pydantic.dataclasses.dataclass
    class Limited:
        count: Annotated[int, pydantic.Field(ge=5)]

    def take(args) -> int:
        """Take."""
        return args.count

    take.__annotations__ = {"args": Limited, "return": int}

    assert contract(take).input["properties"]["args"]["properties"]["count"]["minimum"] == 5


def test_tagged_structs_can_be_told_apart_in_a_union() -> None:
    def feed(pet: Cat | Dog) -> str:
        """Feed a pet."""
        return type(pet).__name__

    derived = contract(feed)
    args = msgspec.convert({"pet": {"type": "Dog", "tricks": []}}, derived.args)

    assert len(derived.input["properties"]["pet"]["anyOf"]) == 2
    assert feed(**derived.bind(args)) == "Dog"


def test_a_model_of_pydantic_is_published_read_and_written_by_pydantic() -> None:
    def promote(user: User, team: Team | None = None) -> list[User]:
        """Promote."""
        return [user, *(team.members if team else [])]

    derived = contract(promote)
    args = msgspec.convert({"user": {"name": "Ann"}, "team": {"lead": {"name": "Bo"}}}, derived.args)
    bound = derived.bind(args)

    assert derived.input["properties"]["user"]["properties"]["name"]["minLength"] == 2
    assert "$ref" not in msgspec.json.encode(derived.input).decode()
    assert isinstance(bound["user"], User)
    assert derived.shape([bound["user"]]) == {"result": [{"name": "Ann", "age": None}]}


def test_what_pydantic_refuses_beyond_the_schema_is_the_callers_fault_with_its_place() -> None:
    class Even(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("it is odd")
            return value

    def halve(even) -> int:
        """Halve."""
        return even.number // 2

    halve.__annotations__ = {"even": Even, "return": int}
    derived = contract(halve)

    with pytest.raises(signet.Fault) as caught:
        derived.bind(msgspec.convert({"even": {"number": 3}}, derived.args))

    assert caught.value.code is signet.Code.INVALID_INPUT
    assert caught.value.message == "Invalid arguments for halve: even.number: Value error, it is odd"


def test_fields_of_pydantic_can_describe_plain_types() -> None:
    def take(count: Annotated[int, pydantic.Field(ge=3, description="how many")] = 3) -> int:
        """Take some."""
        return count

    derived = contract(take)

    assert derived.input["properties"]["count"] == {
        "type": "integer",
        "minimum": 3,
        "description": "how many",
        "default": 3,
    }


def test_the_docstring_describes_the_tool_and_its_parameters() -> None:
    def search(query: str, limit: Annotated[int, Meta(description="at most")] = 5) -> list[str]:
        """Search the archive
        for words.

        Use it before anything else.

        Args:
            query: the words,
                in any order
            limit: not this text

        Returns:
            Titles.
        """
        return [query] * limit

    derived = contract(search)

    assert derived.description == "Search the archive for words.\n\nUse it before anything else."
    assert derived.input["properties"]["query"]["description"] == "the words, in any order"
    assert derived.input["properties"]["limit"]["description"] == "at most"


def test_an_optional_value_is_described_in_its_branch_too() -> None:
    def search(query: str | None = None) -> str:
        """Search.

        Args:
            query: the words
        """
        return query or ""

    assert contract(search).input["properties"]["query"] == {
        "anyOf": [{"type": "string", "description": "the words"}, {"type": "null"}],
        "description": "the words",
        "default": None,
    }


def test_the_fields_of_sphinx_are_read_too() -> None:
    def search(query: str) -> str:
        """Search.

        :param query: the words
        :returns: a title
        """
        return query

    derived = contract(search)

    assert derived.description == "Search."
    assert derived.input["properties"]["query"]["description"] == "the words"


def test_a_default_that_json_cannot_write_is_left_to_the_function() -> None:
    nothing = object()

    def take(value: int | None = nothing, words: list[str] = ["a"]) -> str:  # type: ignore[assignment]  # noqa: B006
        """Take a value."""
        return f"{value is nothing} {words}"

    derived = contract(take)
    args = msgspec.convert({}, derived.args)

    assert "default" not in derived.input["properties"]["value"]
    assert derived.input["properties"]["words"]["default"] == ["a"]
    assert take(**derived.bind(args)) == "True ['a']"


def _untyped(value) -> int:
    """Take."""
    return value


def _silent(value: int):
    """Take."""
    return value


def _many(*values: int) -> int:
    """Take."""
    return len(values)


def _any(**values: int) -> int:
    """Take."""
    return len(values)


def _positional(value: int, /) -> int:
    """Take."""
    return value


def _complex(value: complex) -> int:
    """Take."""
    return int(value.real)


def _unknown(value: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Take."""
    return value


def _either(value: Untagged | Line) -> int:
    """Take."""
    return 0


def _limited(value: Annotated[int | None, Meta(ge=1)]) -> int:
    """Take."""
    return 0


def _callback() -> Callable[[], int]:
    """Give."""
    return int


def _generator() -> list[int]:
    """Give."""
    yield 1


class Row(msgspec.Struct, array_like=True):
    number: int


def _row(args: Row) -> int:
    """Take."""
    return args.number


@dataclasses.dataclass
class HalfDataclass:
    value: Nowhere  # type: ignore[name-defined]  # noqa: F821


class HalfStruct(msgspec.Struct):
    value: Nowhere  # type: ignore[name-defined]  # noqa: F821


class HalfModel(pydantic.BaseModel):
    value: Nowhere  # type: ignore[name-defined]  # noqa: F821


class CallbackModel(pydantic.BaseModel):
    value: Callable[[], int]


def _half_dataclass(value: HalfDataclass) -> int:
    """Take."""
    return 0


def _half_struct(value: HalfStruct) -> int:
    """Take."""
    return 0


def _half_model(value: HalfModel) -> int:
    """Take."""
    return 0


def _callback_model() -> CallbackModel:
    """Give."""
    return CallbackModel(value=int)


def _method(self, value: int) -> int:
    """Take."""
    return value


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_untyped, "value has no type: write value: int"),
        (_silent, "its result has no type: write ->"),
        (_many, "*values takes anything: write a parameter for each value"),
        (_any, "**values takes anything: write a parameter for each value"),
        (_positional, "take the / out of the parameters"),
        (_complex, "value: complex cannot be a contract; JSON has no such value: use int, float"),
        (_unknown, "its types cannot be read (name 'Nowhere' is not defined): import or define what they name"),
        (_either, "class A(msgspec.Struct, tag=True)"),
        (_limited, "write Annotated[int, Meta(ge=…)] | None"),
        (_callback, "the result: collections.abc.Callable[[], int] cannot be a contract"),
        (_generator, "it is a generator: return a list"),
        (_row, "args: Row is no object in JSON: take array_like out of it"),
        (_half_dataclass, "value: the types of HalfDataclass cannot be read (name 'Nowhere' is not defined): import"),
        (_half_struct, "value: the types of HalfStruct cannot be read (name 'Nowhere' is not defined): import"),
        (_half_model, "value: the types of HalfModel cannot be read (a name in them is not defined): import or define"),
        (_callback_model, "the result: CallbackModel cannot be a contract; Cannot generate a JsonSchema"),
        (_method, "it is a method: decorate a function outside of a class"),
    ],
)
def test_what_cannot_be_a_contract_is_named_with_what_to_write(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(ContractTypeError) as caught:
        contract(function)

    assert words in str(caught.value)


@pytest.mark.parametrize("misuse", ["add", 5, int])
def test_the_decorator_is_for_functions(misuse: Any) -> None:
    with pytest.raises(TypeError, match="@signet"):
        signet.tool(misuse)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"name": 5}, "name= of @signet.tool takes a text, not int"),
        ({"title": b"a"}, "title= of @signet.tool takes a text, not bytes"),
        ({"inline": "yes"}, "inline= of @signet.tool takes True or False, not str"),
        ({"example": [1]}, "example= of @signet.tool takes valid arguments by their names"),
        ({"annotations": {"readOnlyHint": "yes"}}, "annotations= of @signet.tool takes hints that are True or False"),
        ({"annotations": {"readOnlyHint": object()}}, "annotations= of @signet.tool takes hints"),
    ],
)
def test_the_words_of_the_decorator_are_checked(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        signet.tool(**facts)(_untyped)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"name": 5, "tools": []}, "name= of signet.Toolset takes a text, not int"),
        ({"name": "a", "tools": [], "title": None}, "title= of signet.Toolset takes a text, not NoneType"),
        ({"name": "a", "tools": [], "version": 3}, "version= of signet.Toolset takes a text, not int"),
        ({"name": "a", "tools": None}, "tools= of signet.Toolset takes a list of functions"),
    ],
)
def test_the_words_of_a_toolset_are_checked(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        signet.Toolset(**facts)
