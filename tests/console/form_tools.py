"""A tool whose form has every kind of field; served as the user's own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

import signet


class Line(Struct):
    item: Annotated[str, Meta(min_length=1)]
    count: Annotated[int, Meta(ge=1, le=99, description="How many")] = 1


class Address(Struct):
    street: Annotated[str, Meta(min_length=3, description="Street and number")]
    code: Annotated[str, Meta(pattern="^[0-9]{5}$")] = "00000"


class Cat(Struct, tag="cat"):
    lives: Annotated[int, Meta(ge=1, le=9)]


class Dog(Struct, tag="dog"):
    trick: str


class Node(Struct):
    name: str
    inner: list[Node] = []


@signet.tool(
    example={"lines": [{"item": "tea"}], "to": {"street": "Main 1"}, "pet": {"type": "cat", "lives": 9}, "weight": 2}
)
def order(
    lines: Annotated[list[Line], Meta(min_length=1, max_length=3)],
    to: Address,
    pet: Cat | Dog,
    weight: Annotated[float, Meta(gt=0, multiple_of=0.5)],
    discount: Annotated[int, Meta(ge=0)] | None = 5,
    gift: bool = False,
    size: Literal["small", "large"] = "small",
    bill: Address | None = None,
    mark: int | str = 3,
    notes: dict[str, int] | None = None,
    tree: Node | None = None,
) -> dict[str, object]:
    """Order things."""
    given = {"lines": lines, "to": to, "pet": pet, "weight": weight, "discount": discount, "gift": gift, "size": size}
    return {**given, "bill": bill, "mark": mark, "notes": notes, "tree": tree}
