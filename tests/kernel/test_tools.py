"""Tools: made of typed functions, found by name, slug or canonical id, given what they need in a context."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from signet.kernel.tools import NULL_CONTEXT, Context, Tool, Toolbox, tool
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting


class Arguments(msgspec.Struct, frozen=True):
    n: int


@tool(name="addOne", slug="math.add-one", title="Add one")
def add_one(args: Arguments, ctx: Context) -> Any:
    """Adds one to a number,
    and gives the sum.
    """
    return {"n": args.n + 1}


def made(name: str, slug: str) -> Tool:
    return Tool(name=name, slug=slug, title=name, description=name, args=Arguments, run=lambda *_: None)


# --- the decorator


def test_a_decorated_function_is_a_tool_with_its_docstring_on_one_line_as_description() -> None:
    assert isinstance(add_one, Tool)
    assert (add_one.name, add_one.slug, add_one.title) == ("addOne", "math.add-one", "Add one")
    assert add_one.description == "Adds one to a number, and gives the sum"
    assert add_one.args is Arguments
    assert add_one.run(Arguments(1), NULL_CONTEXT) == {"n": 2}


def test_a_description_may_be_given_beside_the_docstring() -> None:
    @tool(name="x", slug="x", title="x", description="Another sentence.")
    def run(args: Arguments, ctx: Context) -> None:
        """The docstring."""

    assert run.description == "Another sentence."


def test_a_function_whose_arguments_have_no_type_is_no_tool() -> None:
    with pytest.raises(KeyError, match="args"):

        @tool(name="x", slug="x", title="x")
        def run(args, ctx):  # type: ignore[no-untyped-def]
            """Has no types."""


def test_a_tool_is_read_only_private_and_bounded_unless_it_says_otherwise() -> None:
    assert add_one.annotations == {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    assert (add_one.public, add_one.max_result_bytes, add_one.validate_in_thread) == (False, 2 * 1024 * 1024, False)


def test_the_annotations_of_one_tool_are_not_those_of_another() -> None:
    first, second = made("a", "a"), made("b", "b")

    first.annotations["readOnlyHint"] = False  # type: ignore[index]

    assert second.annotations["readOnlyHint"] is True


def test_the_canonical_id_is_the_slug_behind_its_prefix() -> None:
    assert add_one.id == "mcp.tool:math.add-one"


# --- the toolbox


def test_a_toolbox_lists_its_tools_in_their_order() -> None:
    tools = (made("b", "b.b"), made("a", "a.a"), add_one)

    assert tuple(Toolbox(tools)) == tools


def test_the_tools_of_several_toolsets_are_listed_one_toolset_after_the_other() -> None:
    first, second = (made("b", "b.b"),), (made("a", "a.a"), add_one)

    toolbox = Toolbox(first, second)

    assert (tuple(toolbox), toolbox.groups) == ((*first, *second), (first, second))
    assert toolbox.slugs == ["b.b", "a.a", "math.add-one"]


@pytest.mark.parametrize("key", ["addOne", "math.add-one", "mcp.tool:math.add-one"])
def test_a_tool_is_found_by_name_slug_and_canonical_id(key: str) -> None:
    assert Toolbox((add_one,)).find(key) is add_one


@pytest.mark.parametrize("key", ["addone", "math.add-one ", "", "mcp.tool:addOne", "add_one"])
def test_nothing_is_found_by_anything_else(key: str) -> None:
    assert Toolbox((add_one,)).find(key) is None


def test_by_its_published_name_alone_a_tool_is_found_under_no_other_key() -> None:
    toolbox = Toolbox((add_one,))

    assert toolbox.named("addOne") is add_one
    assert [toolbox.named(key) for key in ("math.add-one", "mcp.tool:math.add-one")] == [None, None]


def test_a_tool_whose_name_is_its_slug_is_one_tool() -> None:
    same = made("same", "same")

    assert Toolbox((same,)).find("same") is same


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a", "x"), ("a", "y")), (("a", "x"), ("b", "x")), (("a", "b"), ("b", "c")), (("a", "x"), ("mcp.tool:x", "y"))],
    ids=["one name", "one slug", "a name that is a slug", "a name that is an id"],
)
def test_two_tools_that_answer_to_one_key_are_refused(first: tuple[str, str], second: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="two enabled tools answer to"):
        Toolbox((made(*first), made(*second)))


# --- the context


class Echo:
    """An upstream that answers with the target it is asked for."""

    origin = "https://echo.example"
    has_token = False

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        return UpstreamResponse(200, "text/plain", request.target.encode())


def test_a_context_hands_a_request_to_its_upstream() -> None:
    context = msgspec.structs.replace(NULL_CONTEXT, upstream=Echo())

    response = asyncio.run(context.send(UpstreamRequest("/a")))  # type: ignore[arg-type]

    assert response.body == b"/a"


def test_a_context_without_an_upstream_says_so() -> None:
    with pytest.raises(RuntimeError, match="no upstream"):
        NULL_CONTEXT.send(UpstreamRequest("/a"))


def test_the_null_context_takes_progress_and_does_nothing() -> None:
    assert NULL_CONTEXT.progress(1.0, None, "half") is None
    assert (NULL_CONTEXT.capabilities, NULL_CONTEXT.upstream, NULL_CONTEXT.settings) == ({}, None, None)


# --- arguments that were refused at first


REFUSED = "Expected `int`, got `str` - at `$.n`"


@pytest.mark.parametrize(
    ("given", "is_lax", "found"),
    [
        (10.0, False, Arguments(10)),
        (10.0, True, Arguments(10)),
        ("10", False, REFUSED),
        ("10", True, Arguments(10)),
        ("ten", False, REFUSED),
        ("ten", True, REFUSED),
    ],
)
def test_a_strict_tool_takes_whole_numbers_and_texts_of_numbers_only_where_no_contract_is_enforced(
    given: object, is_lax: bool, found: object
) -> None:
    strict = Tool(name="x", slug="x", title="x", description="x", args=Arguments, run=print, is_strict=True)

    read = strict.read_again({"n": given}, msgspec.ValidationError("before"), is_lax=is_lax)

    assert (str(read) if isinstance(read, msgspec.ValidationError) else read) == found


def test_a_tool_that_is_not_strict_reads_its_arguments_once() -> None:
    error = msgspec.ValidationError("before")

    assert made("x", "x").read_again({"n": 10.0}, error, is_lax=True) is error
