"""Calls made from the published schemas alone: no rule of a tool refuses what its schema lets through.

Left to the tools are the calendar, and rules that hold between two arguments.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signet.app import build_server, resolve
from signet.kernel.errors import Code
from signet.kernel.outcome import Call, Outcome
from signet.kernel.schemas import schema_of
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.model import Settings

NAMES = [tool.name for toolset in TOOLSETS if "plantuml" not in toolset for tool in find_toolset(toolset).tools()]
"""All but the tools around diagrams: no schema says what PlantUML is."""

BETWEEN_ARGUMENTS = re.compile(
    r"STARTDATE \d+ and ENDDATE \d+ must have the same format"
    r"|STARTDATE \d+ comes after ENDDATE \d+: give them in order"
    r"|(START|END)DATE '?\d+'? (has the wrong length|ends in \d\d): the date is written .*, for the frequenc(y|ies) .*"
    r"|(START|END)DATE '?\d+'? has the wrong length: the date is written YYYY for the frequencies CY and FY"
    r"|nothing to search for: give a query, or both source and id"
    r"|(source|id) must not be '\.\.?': a URL would lose it"
    r"|units=index needs base, .*|method says how to lower the frequency: give frequency too"
    r"|start .* comes after end .*: give them in order"
    r"|there is no database .*"
)
CALENDAR = re.compile(
    r"'[-0-9]{10}' is not a date; write it as YYYY-MM-DD, for example 2026-01-31"
    r"|'[-/0-9 ]+' is no date: write .*"
)


class World(NamedTuple):
    """A server whose upstreams are the sandboxes, and the loop that its connections belong to."""

    server: Server
    runner: asyncio.Runner

    def settle(self, name: str, arguments: dict[str, Any]) -> Outcome:
        return self.runner.run(_settled(self.server.pipeline.run(Call(name, arguments, QUIET_CONTEXT))))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with asyncio.Runner() as runner:
        server = build_server(resolve(Settings.read({}, {"sandbox": True, "journal": False})))
        yield World(server, runner)
        runner.run(server.close())


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that keep a schema, with the keywords that the published ones have."""
    assert set(schema) <= {
        "anyOf", "default", "description", "enum", "examples", "items", "maxItems", "maxLength", "maximum", "minItems",
        "minLength", "minimum", "pattern", "type",
    }  # fmt: skip
    # Another reader of `$` than Python's: a line end behind the text is not part of it.
    is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    return _values(schema).filter(is_valid)


def _values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        return st.one_of(*map(values, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        longest = min(schema["maxItems"], 8)
        return st.lists(values(schema["items"]), min_size=schema["minItems"], max_size=longest)
    if schema["type"] == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"])
        least, most = schema.get("minLength", 0), schema["maxLength"]
        # Short texts of what rules are about come seldom by chance.
        return st.text(min_size=least, max_size=most) | st.text(" \t\u3000.,<é1a", min_size=least, max_size=least + 2)
    plain = {"boolean": st.booleans(), "null": st.none()}
    if schema["type"] in plain:
        return plain[schema["type"]]
    bounds = schema["minimum"], schema["maximum"]
    whole = st.integers(*bounds)
    return whole if schema["type"] == "integer" else whole | st.floats(*bounds)


def calls(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    parts = {name: values(part) for name, part in schema["properties"].items()}
    required = {name: parts.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=parts)


async def _settled(pending: Any) -> Outcome:
    outcome = pending if isinstance(pending, Outcome) else await pending
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.mark.parametrize("name", NAMES)
def test_what_the_published_schema_lets_through_reaches_the_upstream(world: World, name: str) -> None:
    tool = world.server.pipeline.toolbox.named(name)
    assert tool is not None
    schema = schema_of(world.server.pipeline.registry.load_bundle(tool.slug).input)

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], max_examples=25)
    @given(calls(schema))
    def reaches(arguments: dict[str, Any]) -> None:
        outcome = world.settle(name, arguments)

        assert outcome.ignored == ()
        fault = outcome.fault
        if fault is not None and fault.code is Code.INVALID_INPUT and not _is_of_upstream(fault):
            assert BETWEEN_ARGUMENTS.fullmatch(fault.message) or CALENDAR.fullmatch(fault.message), fault.message
        elif fault is not None:
            assert fault.__cause__ is None, fault.__cause__

    reaches()


def _is_of_upstream(fault: Any) -> bool:
    """Return whether an upstream has refused a request: the Bank by its message, the judge by its status."""
    return fault.data.get("error_type") == "API_ERROR" or fault.message.startswith("[")


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_a_tool_is_answered(world: World, name: str) -> None:
    tool = world.server.pipeline.toolbox.named(name)
    assert tool is not None

    outcome = world.settle(name, dict(msgspec.to_builtins(tool.example)))

    assert outcome.fault is None or outcome.fault.code is Code.NOT_FOUND
