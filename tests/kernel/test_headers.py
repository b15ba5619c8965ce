"""The header ladder, held against the official SDK's: the same requests are refused, but for the listed differences."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp.shared.inbound import (
    InboundLadderRejection,
    classify_inbound_request,
    encode_header_value,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from msgspec import UNSET, Raw
from starlette.datastructures import Headers as TheirHeaders

from signet.kernel.headers import ParamHeader, check_param_headers, check_routing, param_headers
from signet.kernel.wire import Headers, ProtocolError

VERSION, METHOD, NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
HEADER_MISMATCH = -32020

Pairs = tuple[tuple[str, str], ...]

MODERN: Final = "2026-07-28"
PREFIX: Final = "mcp-param-"
BROKEN: Final = "=?base64?!!?="
OVERLAPPING: Final = "=?base64?="
"""It begins and ends as a wrapped value does, but by sharing a character."""


def wrapped(value: str) -> str:
    """Wrap a value in base64, whether it needs it or not."""
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def refusal(check: Callable[[], None]) -> int | None:
    """Give the code that a check refuses with."""
    try:
        check()
    except ProtocolError as refused:
        return refused.code
    return None


# --- Headers ----------------------------------------------------------------------------------


def test_headers_that_come_once_are_a_plain_mapping() -> None:
    headers = Headers(["a", "b"], ["1", "2"])

    assert (headers, headers.repeated) == ({"a": "1", "b": "2"}, set())


def test_of_a_header_that_comes_twice_the_last_is_kept_and_its_name_remembered() -> None:
    headers = Headers(["a", "b", "a"], ["1", "2", "1"])

    assert (headers, headers.repeated) == ({"a": "1", "b": "2"}, {"a"})


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.text(max_size=3))))
def test_repeated_names_exactly_the_headers_that_come_more_than_once(pairs: list[tuple[str, str]]) -> None:
    counted = Counter(name for name, _ in pairs)

    headers = Headers([name for name, _ in pairs], [value for _, value in pairs])

    assert headers == dict(pairs)
    assert headers.repeated == {name for name, times in counted.items() if times > 1}


def headers_of(pairs: Pairs) -> Headers:
    return Headers([name for name, _ in pairs], [value for _, value in pairs])


# --- the three routing headers ----------------------------------------------------------------


class Routed(NamedTuple):
    """What a modern request says of itself in its body and in its headers."""

    pairs: Pairs
    method: str = "tools/list"
    name: Any = UNSET
    version: str = MODERN


def our_routing(case: Routed) -> int | None:
    return refusal(lambda: check_routing(headers_of(case.pairs), case.method, case.name, case.version))


def their_routing(case: Routed) -> int | None:
    """Ask the SDK; a version that is not served is another rung's business."""
    if find_duplicated_routing_header(case.pairs) is not None:
        return HEADER_MISMATCH
    named = {} if case.name is UNSET else {"resources/read": {"uri": case.name}}.get(case.method, {"name": case.name})
    params = {"_meta": {VERSION_KEY: case.version, CAPABILITIES_KEY: {}}, **named}
    verdict = classify_inbound_request({"method": case.method, "params": params}, headers=dict(case.pairs))
    refused = isinstance(verdict, InboundLadderRejection) and verdict.code == HEADER_MISMATCH
    return HEADER_MISMATCH if refused else None


RIGHT: Final = ((VERSION, MODERN), (METHOD, "tools/call"), (NAME, "add"))


@pytest.mark.parametrize(
    "case",
    [
        Routed(((VERSION, MODERN), (METHOD, "tools/list"))),
        Routed(((VERSION, "1999-01-01"), (METHOD, "no/such")), "no/such", version="1999-01-01"),
        Routed(RIGHT, "tools/call", "add"),
        Routed(((NAME, wrapped("add")), *RIGHT[:2]), "tools/call", "add"),
        Routed(RIGHT[:2], "tools/call"),
        Routed(((NAME, "any"), (VERSION, MODERN), (METHOD, "tools/list"))),
    ],
    ids=["list", "any version", "call", "wrapped name", "no name in the body", "name not needed"],
)
def test_headers_that_say_what_the_body_says_are_let_through(case: Routed) -> None:
    assert (our_routing(case), their_routing(case)) == (None, None)


@pytest.mark.parametrize(
    "case",
    [
        Routed((), "tools/call", "add"),
        Routed(RIGHT[1:], "tools/call", "add"),
        Routed((RIGHT[0], RIGHT[2]), "tools/call", "add"),
        Routed(RIGHT[:2], "tools/call", "add"),
        Routed(((VERSION, "2025-11-25"), *RIGHT[1:]), "tools/call", "add"),
        Routed(((METHOD, "tools/list"), RIGHT[0], RIGHT[2]), "tools/call", "add"),
        Routed(((METHOD, "Tools/Call"), RIGHT[0], RIGHT[2]), "tools/call", "add"),
        Routed(((NAME, "Add"), *RIGHT[:2]), "tools/call", "add"),
        Routed(((NAME, BROKEN), *RIGHT[:2]), "tools/call", "add"),
        Routed((*RIGHT, (NAME, "add")), "tools/call", "add"),
        Routed((*RIGHT, (METHOD, "tools/call")), "tools/call", "add"),
        Routed((*RIGHT, (VERSION, MODERN)), "tools/call", "add"),
        Routed(RIGHT, "tools/call", 5),
        Routed(((VERSION, MODERN), (METHOD, wrapped("tools/list")))),
        Routed(((VERSION, wrapped(MODERN)), (METHOD, "tools/list"))),
        Routed(((VERSION, MODERN), (METHOD, "tools/list"), (NAME, "x"), (NAME, "x"))),
        Routed((*RIGHT, (NAME, "add")), "tools/call"),
    ],
)
def test_headers_that_say_something_else_or_nothing_or_it_twice_are_refused(case: Routed) -> None:
    assert (our_routing(case), their_routing(case)) == (HEADER_MISMATCH, HEADER_MISMATCH)


ROUTING_DIFFERENCES: Final[dict[str, tuple[Callable[[Routed], bool], Routed, bool, bool]]] = {
    "no prompts and no resources are served, so their names are looked at by nobody": (
        lambda case: case.method in {"prompts/get", "resources/read"},
        Routed(((VERSION, MODERN), (METHOD, "prompts/get")), "prompts/get", "x"),
        False,
        True,
    ),
    "a name that is null is refused here, by the SDK with the other params": (
        lambda case: case.name is None,
        Routed(RIGHT[:2], "tools/call", None),
        True,
        False,
    ),
    "what begins and ends as a wrapped value is one, by the specification's letter": (
        lambda case: any(value == OVERLAPPING for _, value in case.pairs),
        Routed(((NAME, OVERLAPPING), *RIGHT[:2]), "tools/call", OVERLAPPING),
        True,
        False,
    ),
}
"""By reason: which cases are meant, one of them, and whether we and whether the SDK refuse it."""


@pytest.mark.parametrize("why", ROUTING_DIFFERENCES)
def test_the_routing_ladders_differ_where_it_is_listed(why: str) -> None:
    meant, case, we_refuse, they_refuse = ROUTING_DIFFERENCES[why]

    assert meant(case)
    assert (our_routing(case) is not None, their_routing(case) is not None) == (we_refuse, they_refuse)


_latin = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=8).map(
    lambda text: text.strip(" \t")
)
"""What can stand in a header: Latin-1, no blanks or tabs around it."""
_methods = st.sampled_from([*["tools/call"] * 4, "tools/list", "tools/list", "server/discover", "x", "prompts/get"])
_versions = st.sampled_from([MODERN, "2025-11-25", "2030-01-01"])
_names = st.sampled_from(["add", "", " add", "é", "日本", "=?base64?YWRk?=", UNSET, None, 5, True]) | st.text(
    max_size=5
)


@st.composite
def routed(draw: st.DrawFn) -> Routed:
    """Requests whose headers are right, nearly right, or anything."""
    method, version, name = draw(_methods), draw(_versions), draw(_names)
    told = name if isinstance(name, str) else "add"
    right = {VERSION: version, METHOD: method, NAME: encode_header_value(told)}
    wrong = {
        VERSION: _versions | st.just(wrapped(version)),
        METHOD: _methods | st.just(wrapped(method)),
        NAME: st.sampled_from([wrapped(told), BROKEN, told[::-1]]),
    }
    times = st.sampled_from([1, 1, 1, 1, 1, 1, 0, 2])
    pairs = [
        (header, draw(st.just(right[header]) | st.just(right[header]) | wrong[header].filter(_sendable) | _latin))
        for header in right
        for _ in range(draw(times))
    ]
    return Routed(tuple(draw(st.permutations(pairs))), method, name, version)


def _sendable(value: str) -> bool:
    return value.isascii() and value == value.strip()


@given(routed())
def test_the_sdk_refuses_the_same_headers(case: Routed) -> None:
    assume(not any(meant(case) for meant, *_ in ROUTING_DIFFERENCES.values()))

    assert our_routing(case) == their_routing(case)


@given(st.text())
def test_any_name_can_be_said_in_a_header(name: str) -> None:
    assume(name != OVERLAPPING)
    case = Routed(((NAME, encode_header_value(name)), *RIGHT[:2]), "tools/call", name)

    assert our_routing(case) is None


@given(name=st.text(), other=st.text())
def test_a_header_that_says_one_name_is_refused_for_any_other(name: str, other: str) -> None:
    assume(name != other)
    case = Routed(((NAME, encode_header_value(name)), *RIGHT[:2]), "tools/call", other)

    assert our_routing(case) == HEADER_MISMATCH


def test_a_refusal_names_the_header_and_not_what_it_held() -> None:
    headers = Headers([VERSION, METHOD], [MODERN, "secret"])

    with pytest.raises(ProtocolError) as caught:
        check_routing(headers, "tools/list", UNSET, MODERN)

    assert (caught.value.code, str(caught.value)) == (HEADER_MISMATCH, "mcp-method does not match the request body")


# --- which arguments are mirrored -------------------------------------------------------------


class Field(NamedTuple):
    """An argument that a contract wants repeated in a header."""

    path: tuple[str, ...]
    token: str
    type: str


def contract(fields: list[Field]) -> dict[str, Any]:
    """Write the input contract that has these fields, the last step of each path a leaf of its type."""
    root: dict[str, Any] = {"type": "object", "properties": {"plain": {"type": "string"}}}
    for field in fields:
        at = root
        for step in field.path[:-1]:
            at = at["properties"].setdefault(step, {"type": "object", "properties": {}})
        at["properties"][field.path[-1]] = {"type": field.type, "x-mcp-header": field.token}
    return root


def raw(schema: object) -> Raw:
    return Raw(json.dumps(schema).encode())


_tokens = st.text("abcXYZ019-_.!#$%&'*+^`|~", min_size=1, max_size=5)
_paths = st.one_of(
    st.tuples(st.text(max_size=4).map("leaf {}".format)),
    st.tuples(st.sampled_from(["box", "é", ""]), st.text(max_size=4).map("leaf {}".format)),
    st.tuples(st.just("box"), st.just("inner"), st.text(max_size=4).map("leaf {}".format)),
)
_fields = st.lists(
    st.builds(Field, _paths, _tokens, st.sampled_from(["string", "integer", "boolean"])),
    unique_by=(lambda field: field.path, lambda field: field.token.lower()),
    max_size=4,
)


def test_a_contract_without_the_mark_has_no_mirrors() -> None:
    assert param_headers(raw({"type": "object", "properties": {"a": {"type": "string"}}})) == []


def test_a_mirror_that_may_be_null_has_the_type_that_it_has_otherwise() -> None:
    schema = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None, "x-mcp-header": "N"}

    [mirror] = param_headers(raw({"type": "object", "properties": {"n": schema}}))

    assert mirror == ("mcp-param-n", ("n",), "integer")


def test_mirrors_are_found_at_every_depth_in_lower_case() -> None:
    fields = [Field(("region",), "Region", "string"), Field(("box", "inner", "n"), "N", "integer")]

    found = param_headers(raw(contract(fields)))

    assert found == [
        ParamHeader("mcp-param-region", ("region",), "string"),
        ParamHeader("mcp-param-n", ("box", "inner", "n"), "integer"),
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"$defs": {"b": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}},
        {"properties": {"a": {"type": "string", "description": "not an x-mcp-header"}}},
    ],
    ids=["items", "anyOf", "$defs", "a word in a description"],
)
def test_a_mark_that_no_chain_of_properties_leads_to_is_no_mirror(schema: dict[str, Any]) -> None:
    assert (param_headers(raw(schema)), x_mcp_header_map(schema)) == ([], {})


@given(_fields)
def test_the_sdk_finds_the_same_mirrors(fields: list[Field]) -> None:
    schema = contract(fields)

    found = param_headers(raw(schema))

    assert {one.path: one.header for one in found} == {
        path: PREFIX + token.lower() for path, token in x_mcp_header_map(schema).items()
    }
    assert {one.path: one.type for one in found} == {field.path: field.type for field in fields}


# --- what is mirrored -------------------------------------------------------------------------


class Mirrored(NamedTuple):
    """Arguments under a contract, and the headers that came with them."""

    fields: list[Field]
    arguments: dict[str, Any]
    pairs: Pairs


N: Final = [Field(("n",), "N", "integer")]
S: Final = [Field(("s",), "S", "string")]
B: Final = [Field(("b",), "B", "boolean")]
DEEP: Final = [Field(("box", "s"), "S", "string")]


def our_mirrors(case: Mirrored) -> int | None:
    found = param_headers(raw(contract(case.fields)))
    return refusal(lambda: check_param_headers(headers_of(case.pairs), found, case.arguments))


def their_mirrors(case: Mirrored) -> int | None:
    lines = TheirHeaders(raw=[(name.encode(), value.encode("latin-1")) for name, value in case.pairs])
    rejection = validate_mcp_param_headers(contract(case.fields), case.arguments, lines)
    return None if rejection is None else rejection.code


def header(token: str, value: str, times: int = 1) -> Pairs:
    return ((PREFIX + token.lower(), value),) * times


@pytest.mark.parametrize(
    "case",
    [
        Mirrored(S, {}, ()),
        Mirrored(S, {"s": None}, ()),
        Mirrored(S, {"s": [1]}, ()),
        Mirrored(S, {"s": "eu"}, header("S", "eu")),
        Mirrored(S, {"s": ""}, header("S", "")),
        Mirrored(S, {"s": " padded "}, header("S", "=?base64?IHBhZGRlZCA=?=")),
        Mirrored(S, {"s": "=?base64?literal?="}, header("S", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
        Mirrored(B, {"b": True}, header("B", "true")),
        Mirrored(B, {"b": False}, header("B", "false")),
        Mirrored(N, {"n": 42}, header("N", "42")),
        Mirrored(N, {"n": 42}, header("N", "42.0")),
        Mirrored(N, {"n": 42.0}, header("N", "42")),
        Mirrored(N, {"n": -7}, header("N", "-7")),
        Mirrored(N, {"n": 0}, header("N", "-0")),
        Mirrored(N, {"n": 10**30}, header("N", str(10**30))),
        Mirrored(DEEP, {"box": {"s": "eu"}}, header("S", "eu")),
        Mirrored(DEEP, {"box": "no object"}, ()),
        Mirrored(S, {}, header("Other", "x")),
    ],
)
def test_an_argument_and_a_header_that_agree_are_let_through(case: Mirrored) -> None:
    assert (our_mirrors(case), their_mirrors(case)) == (None, None)


@pytest.mark.parametrize(
    "case",
    [
        Mirrored(S, {"s": "eu"}, ()),
        Mirrored(S, {"s": "eu"}, header("S", "us")),
        Mirrored(S, {"s": "eu"}, header("S", "EU")),
        Mirrored(S, {"s": "eu"}, header("S", BROKEN)),
        Mirrored(S, {"s": "eu"}, header("S", "=?base64?ZXV=?=")),
        Mirrored(S, {"s": "eu"}, header("S", "=?base64?/w==?=")),
        Mirrored(S, {"s": "eu"}, header("S", "eu", times=2)),
        Mirrored(S, {}, header("S", "eu")),
        Mirrored(S, {"s": None}, header("S", "null")),
        Mirrored(S, {"s": ["eu"]}, header("S", "eu")),
        Mirrored(S, {"s": 42}, header("S", "42.0")),
        Mirrored(B, {"b": True}, header("B", "True")),
        Mirrored(B, {"b": True}, header("B", "1")),
        Mirrored(N, {"n": True}, header("N", "1")),
        Mirrored(N, {"n": 42}, header("N", "43")),
        Mirrored(N, {"n": 42}, header("N", "42.5")),
        Mirrored(N, {"n": 42}, header("N", "4.2e1")),
        Mirrored(N, {"n": 42}, header("N", "+42")),
        Mirrored(N, {"n": 42}, header("N", "0x2a")),
        Mirrored(N, {"n": 42}, header("N", "42.")),
        Mirrored(N, {"n": 42}, header("N", "42", times=2)),
        Mirrored(N, {"n": 42}, header("N", "41") + header("N", "42")),
        Mirrored(N, {}, header("N", "42", times=2)),
        Mirrored(N, {"n": 42.5}, header("N", "42")),
        Mirrored(DEEP, {"box": {"s": "eu"}}, ()),
        Mirrored(DEEP, {"box": "no object"}, header("S", "eu")),
    ],
)
def test_an_argument_and_a_header_that_disagree_are_refused(case: Mirrored) -> None:
    assert (our_mirrors(case), their_mirrors(case)) == (HEADER_MISMATCH, HEADER_MISMATCH)


def _of_integers(case: Mirrored) -> list[str]:
    """The header values that are held against an integer."""
    wanted = {PREFIX + field.token.lower() for field in case.fields if field.type == "integer"}
    return [value for name, value in case.pairs if name in wanted]


MIRROR_DIFFERENCES: Final[dict[str, tuple[Callable[[Mirrored], bool], Mirrored, bool, bool]]] = {
    "a number has no need to be wrapped, so a wrapped one is compared as it is written": (
        lambda case: any(value.startswith("=?") for value in _of_integers(case)),
        Mirrored(N, {"n": 42}, header("N", wrapped("42.0"))),
        True,
        False,
    ),
    "a number beyond 19 digits is compared as it is written; clients may not send one (2**53 is the limit)": (
        lambda case: any(len(value.partition(".")[0]) > 19 for value in _of_integers(case)),
        Mirrored(N, {"n": 10**30}, header("N", f"{10**30}.0")),
        True,
        False,
    ),
    "what begins and ends as a wrapped value is one, by the specification's letter": (
        lambda case: any(value == OVERLAPPING for _, value in case.pairs),
        Mirrored(S, {"s": OVERLAPPING}, header("S", OVERLAPPING)),
        True,
        False,
    ),
}
"""By reason: which cases are meant, one of them, and whether we and whether the SDK refuse it."""


@pytest.mark.parametrize("why", MIRROR_DIFFERENCES)
def test_the_ladders_of_mirrored_arguments_differ_where_it_is_listed(why: str) -> None:
    meant, case, we_refuse, they_refuse = MIRROR_DIFFERENCES[why]

    assert meant(case)
    assert (our_mirrors(case) is not None, their_mirrors(case) is not None) == (we_refuse, they_refuse)


_integers = st.integers(-100, 100) | st.integers(-(2**70), 2**70)
_scalars = st.booleans() | _integers | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
_values = _scalars | st.integers(-3, 3).map(float) | st.none() | st.lists(st.none(), max_size=1) | st.just({"a": 1})


def _said(value: Any) -> st.SearchStrategy[str]:
    """Headers for a value: as the SDK's client writes it, nearly so, or anything."""
    plain = ("true" if value else "false") if isinstance(value, bool) else str(value)
    near = [
        plain,
        f"{plain}.0",
        f"{plain}.",
        f"0{plain}",
        f"+{plain}",
        f" {plain}",
        plain.upper(),
        plain.partition(".")[0],
    ]
    ways = [encode_header_value(plain), wrapped(plain), BROKEN, OVERLAPPING, *map(encode_header_value, near)]
    return st.sampled_from(ways) | st.just(encode_header_value(plain)) | _latin


@st.composite
def mirrored(draw: st.DrawFn) -> Mirrored:
    """Arguments under a contract, most of them mirrored as they should be."""
    fields = draw(_fields.filter(bool))
    arguments: dict[str, Any] = {}
    pairs: list[tuple[str, str]] = []
    for field in fields:
        value = draw(_values)
        at: Any = arguments
        for step in field.path[:-1]:
            at = at.setdefault(step, {}) if draw(st.integers(0, 9)) else at.setdefault(step, "no object")
            if not isinstance(at, dict):
                break
        else:
            at[field.path[-1]] = value
        absent = value is None or isinstance(value, list | dict)
        times = draw(st.sampled_from([0, 0, 0, 1, 2] if absent else [1, 1, 1, 1, 0, 2]))
        pairs += [(PREFIX + field.token.lower(), draw(_said(value))) for _ in range(times)]
    return Mirrored(fields, arguments, tuple(pairs))


@given(mirrored())
def test_the_sdk_refuses_the_same_mirrored_arguments(case: Mirrored) -> None:
    assume(not any(meant(case) for meant, *_ in MIRROR_DIFFERENCES.values()))

    assert our_mirrors(case) == their_mirrors(case)


@given(_scalars)
def test_what_the_sdks_client_sends_is_let_through(value: Any) -> None:
    assume(value != OVERLAPPING)
    plain = ("true" if value else "false") if isinstance(value, bool) else str(value)
    kinds = {bool: "boolean", int: "integer", float: "integer", str: "string"}
    case = Mirrored([Field(("v",), "V", kinds[type(value)])], {"v": value}, header("V", encode_header_value(plain)))

    assert our_mirrors(case) is None


@pytest.mark.parametrize("repeated", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_routing_header_that_is_sent_twice_is_refused_by_its_name(repeated: str) -> None:
    pairs = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "x")]
    again = [pair for pair in pairs if pair[0] == repeated]

    with pytest.raises(ProtocolError, match=f"^{repeated} is sent more than once$"):
        check_routing(headers_of([*pairs, *again]), "tools/call", "x", MODERN)


def test_any_other_header_may_be_sent_twice() -> None:
    pairs = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list"), ("via", "a"), ("via", "b")]

    assert our_routing(Routed(pairs)) is None
