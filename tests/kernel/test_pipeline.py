"""The pipeline: what is refused before a tool runs and after, and what becomes of one that misbehaves."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import ROOT
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Door, Outcome, PreparedCall
from signet.kernel.pipeline import Mode, Pipeline
from signet.kernel.schemas import ContractError, SchemaRegistry, ToolIO
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Context, Tool, Toolbox

MAX_IN_FLIGHT = 1024
PREFIX = "mcp.tool:"

INPUT: Final = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 100}, "s": {"type": "string"}},
    "additionalProperties": False,
}
OUTPUT: Final = {
    "type": "object",
    "properties": {"n": {"type": "number"}, "s": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
BY_NAME: Final = Door("http", "/mcp", "http mcp", by_name=True)
LEVELS: Final = (256, 300, 900)
"""Deeper than the validator writes in its messages, and no deeper than the wire lets through."""
SECRET: Final = "hunter2"
SOON_S: Final = 0.001


class In(msgspec.Struct, frozen=True):
    """The typed view of `INPUT`."""

    n: int = 0
    s: str = ""


class Out(msgspec.Struct, frozen=True):
    """One that keeps `OUTPUT`."""

    n: float


Body = Callable[[Any, Context], Any]


def good(args: In, _: Context) -> Any:
    return {"n": args.n}


async def good_later(args: In, _: Context) -> Any:
    return {"n": args.n}


def made(run: Body = good, name: str = "one", **facts: Any) -> Tool:
    return Tool(name=name, slug=f"test.{name}", title="T", description="D", args=In, run=run, **facts)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> SchemaRegistry:
    """The contracts of two tools, alike."""
    root: Path = tmp_path_factory.mktemp("schemas")
    (root / "tools").mkdir()
    for name in ("envelope.schema.json", "tool_io.schema.json"):
        shutil.copy(ROOT / "codex/specs/schemas" / name, root / name)
    for slug in ("test.one", "test.two"):
        bundle = {"tool": slug, "input": INPUT, "output": OUTPUT}
        (root / f"tools/{slug}.json").write_text(json.dumps(bundle), encoding="utf-8")
    return SchemaRegistry(schema_root=root)


class World:
    """A pipeline, and what was said of its calls."""

    def __init__(
        self, registry: SchemaRegistry, *tools: Tool, timeout_s: float = 60.0, mode: Mode = Mode.ENFORCE
    ) -> None:
        self.seen: list[Outcome] = []
        self.complaints: list[Outcome] = []
        self.pipeline = Pipeline(
            Toolbox(tools or (made(),)),
            registry,
            timeout_s=timeout_s,
            mode=mode,
            events=Events(outcome=lambda outcome, _: self.seen.append(outcome), fault=self.complaints.append),
        )

    def run(self, arguments: Any = None, key: str = "one") -> Outcome | Coroutine[Any, Any, Outcome]:
        return self.pipeline.run(Call(key, {} if arguments is None else arguments, QUIET_CONTEXT))

    def start(self, arguments: Any = None) -> asyncio.Task[Outcome]:
        """Start a call that has to be awaited."""
        pending = self.run(arguments)
        assert isinstance(pending, Coroutine)
        return asyncio.ensure_future(pending)

    def settle(self, arguments: Any = None, key: str = "one") -> Outcome:
        """Give the outcome, however long it takes."""
        found = self.run(arguments, key)
        return found if isinstance(found, Outcome) else asyncio.run(_awaited(found))

    def ready(self, arguments: Any = None) -> PreparedCall:
        found = self.pipeline.prepare(Call("one", {} if arguments is None else arguments, QUIET_CONTEXT))
        assert isinstance(found, PreparedCall)
        return found


async def _awaited(pending: Coroutine[Any, Any, Outcome]) -> Outcome:
    return await pending


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def fault_of(outcome: PreparedCall | Outcome) -> tuple[Code, str]:
    """Give what an outcome's fault says; there must be one, and nothing beside it."""
    assert isinstance(outcome, Outcome)
    assert outcome.fault is not None
    assert (outcome.result, outcome.body) == (None, b"")
    return outcome.fault.code, outcome.fault.message


BUG: Final = (Code.INTERNAL_ERROR, "one failed: this is a fault of the server, not of the call")
TOO_LARGE: Final = (
    Code.INVALID_OUTPUT,
    "one gave a result of 11 bytes, and may give 10 at most: ask for less",
)
BROKEN_PROMISE: Final = (Code.INVALID_OUTPUT, "one gave a result that breaks its contract")
TOO_SLOW: Final = (Code.INTERNAL_ERROR, "one did not answer within 0.001 s: ask again, or for less")
GIVEN_UP: Final = (Code.INTERNAL_ERROR, "the tool gave its call up")
TOO_MANY: Final = (Code.INTERNAL_ERROR, "1024 calls are in flight already: ask again when one has ended")


# --- prepare ----------------------------------------------------------------------------------


def test_the_contract_of_others_is_compiled_in_a_thread_when_it_is_first_needed(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take as long as a whole check, and each call would wait for it."""
    fresh = SchemaRegistry(schema_root=registry.schema_root)
    threads: list[threading.Thread] = []
    compiling = fresh.load_tool_io

    def load(tool_id: str) -> ToolIO:
        threads.append(threading.current_thread())
        return compiling(tool_id)

    monkeypatch.setattr(fresh, "load_tool_io", load)
    world = World(fresh, made(is_foreign=True), made(name="two"))

    for key, is_compiled_later in (("one", True), ("one", False), ("two", False)):
        pending = world.run({"n": 1}, key)
        assert isinstance(pending, Coroutine) is is_compiled_later
        outcome = pending if isinstance(pending, Outcome) else asyncio.run(_awaited(pending))
        assert outcome.fault is None

    assert [thread is threading.main_thread() for thread in threads] == [False, True]


@pytest.mark.parametrize("key", ["one", "test.one", "mcp.tool:test.one"])
def test_a_tool_is_found_by_its_name_its_slug_and_its_id(registry: SchemaRegistry, key: str) -> None:
    tool, call = made(), Call(key, {"n": 3}, QUIET_CONTEXT)

    ready = World(registry, tool).pipeline.prepare(call)

    assert ready == PreparedCall(call, tool, registry.load_tool_io("test.one"), In(3))


def test_a_door_that_goes_by_names_finds_a_tool_by_its_name(registry: SchemaRegistry) -> None:
    tool, call = made(), Call("one", {"n": 3}, QUIET_CONTEXT, BY_NAME)

    ready = World(registry, tool).pipeline.prepare(call)

    assert ready == PreparedCall(call, tool, registry.load_tool_io("test.one"), In(3))


@pytest.mark.parametrize("key", ["test.one", "mcp.tool:test.one"])
def test_a_door_that_goes_by_names_knows_no_slug_and_no_id(registry: SchemaRegistry, key: str) -> None:
    outcome = World(registry).pipeline.prepare(Call(key, {}, QUIET_CONTEXT, BY_NAME))

    assert fault_of(outcome) == (Code.NOT_FOUND, f"Tool '{key}' not found")


@pytest.mark.parametrize("key", ["", "One", "one ", "test", "test.two", "mcp.tool:one", "../tools/test.one"])
def test_a_name_that_no_enabled_tool_has_is_not_found(registry: SchemaRegistry, key: str) -> None:
    call = Call(key, {}, QUIET_CONTEXT)

    outcome = World(registry).pipeline.prepare(call)

    assert fault_of(outcome) == (Code.NOT_FOUND, f"Tool '{key.removeprefix(PREFIX)}' not found")
    assert isinstance(outcome, Outcome)
    assert (outcome.call, outcome.tool) == (call, None)


def test_every_place_where_arguments_break_the_contract_is_named(registry: SchemaRegistry) -> None:
    tool = made()

    outcome = World(registry, tool).pipeline.prepare(Call("one", {"n": -1, "s": 5, "x": 0}, QUIET_CONTEXT))

    code, message = fault_of(outcome)
    assert code is Code.INVALID_INPUT
    assert message.startswith("Invalid arguments for one: ")
    assert {part.partition(":")[0] for part in message.removeprefix("Invalid arguments for one: ").split("; ")} == {
        "n",
        "s",
        "Additional properties are not allowed ('x' was unexpected)",
    }


def test_a_tool_may_give_the_refusal_of_its_arguments_a_face_of_its_own(registry: SchemaRegistry) -> None:
    own = Fault(Code.INVALID_INPUT, "in my own words", name="MINE", status=418)

    outcome = World(registry, made(adapt_fault=lambda _: own)).pipeline.prepare(Call("one", {"n": -1}, QUIET_CONTEXT))

    assert isinstance(outcome, Outcome)
    assert outcome.fault is own


@pytest.mark.parametrize("arguments", [None, [], "n", 5, True, [{"n": 1}]])
def test_arguments_that_are_no_object_are_refused(registry: SchemaRegistry, arguments: Any) -> None:
    outcome = World(registry).pipeline.prepare(Call("one", arguments, QUIET_CONTEXT))

    assert fault_of(outcome)[0] is Code.INVALID_INPUT


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("name", ["n", "s"])
def test_wrong_arguments_too_deep_to_be_named_are_refused_in_words(
    registry: SchemaRegistry, name: str, levels: int
) -> None:
    outcome = World(registry).pipeline.prepare(Call("one", {name: nested(levels)}, QUIET_CONTEXT))

    assert fault_of(outcome) == (Code.INVALID_INPUT, "Invalid arguments for one: nested too deeply")


def test_an_optional_argument_that_is_null_counts_as_absent(registry: SchemaRegistry) -> None:
    ready = World(registry).ready({"n": None, "s": "x"})

    assert ready.args == In(0, "x")


@pytest.mark.parametrize("number", [10, 10.0])
def test_a_whole_float_is_an_integer_as_the_contract_has_it(registry: SchemaRegistry, number: float) -> None:
    ready = World(registry).ready({"n": number})

    assert ready.args == In(10)
    assert type(ready.args.n) is int


_scalars = (
    st.booleans() | st.integers(-200, 200) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
_objects = st.dictionaries(st.sampled_from(["n", "s", "x"]), st.integers(0, 100) | st.text(max_size=3) | _values)


@given(arguments=_objects | _values)
def test_exactly_the_arguments_that_keep_the_contract_are_ready(registry: SchemaRegistry, arguments: Any) -> None:
    """Another reader of JSON Schema is the judge."""
    found = World(registry).pipeline.prepare(Call("one", arguments, QUIET_CONTEXT))

    if jsonschema.Draft202012Validator(INPUT).is_valid(arguments):
        assert isinstance(found, PreparedCall)
        assert found.args == In(**arguments)
    else:
        assert fault_of(found)[0] is Code.INVALID_INPUT


# --- names ------------------------------------------------------------------------------------

OPEN: Final = {
    "type": "object",
    "properties": {
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": 10},
        "text": {"type": "string", "maxLength": 3},
        "must": {"type": ["string", "null"]},
    },
    "required": ["must"],
}
"""An input as the tools in the box have it: open, with an optional argument that may be null."""


class OpenIn(msgspec.Struct, frozen=True):
    """The typed view of `OPEN`."""

    must: str | None
    limit: int = 10
    text: str = ""


def _open_world(tmp_path: Path, mode: Mode = Mode.ENFORCE, **facts: Any) -> World:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "codex/specs/schemas/tool_io.schema.json", tmp_path)
    bundle = {"tool": "test.one", "input": OPEN, "output": {"type": "object", "properties": {}}}
    (tmp_path / "tools/test.one.json").write_text(json.dumps(bundle), encoding="utf-8")
    tool = Tool(
        name="one",
        slug="test.one",
        title="T",
        description="D",
        args=OpenIn,
        run=lambda args, _: {"a": repr(args)},
        **facts,
    )
    return World(SchemaRegistry(schema_root=tmp_path), tool, mode=mode)


@pytest.mark.parametrize("mode", Mode)
def test_an_unknown_argument_is_ignored_and_named_in_every_mode(tmp_path: Path, mode: Mode) -> None:
    world = _open_world(tmp_path, mode)

    outcome = world.settle({"must": "x", "toolCallId": 1, "limit": 3})

    assert outcome.result == {"a": repr(OpenIn("x", 3))}
    assert (outcome.ignored, outcome.shadow_violation) == (("toolCallId",), None)


def test_an_ignored_argument_is_named_with_a_fault_too(tmp_path: Path) -> None:
    outcome = _open_world(tmp_path).settle({"must": "x", "toolCallId": 1, "limit": 0})

    assert outcome.ignored == ("toolCallId",)
    assert fault_of(outcome) == (
        Code.INVALID_INPUT,
        "Invalid arguments for one: limit: 0 is less than the minimum of 1",
    )


def test_a_near_miss_is_refused_with_the_right_name_and_the_others_are_named(tmp_path: Path) -> None:
    outcome = _open_world(tmp_path).settle({"must": "x", "toolCallId": 1, "limt": 3})

    assert outcome.ignored == ("toolCallId",)
    assert fault_of(outcome) == (
        Code.INVALID_INPUT,
        "Invalid arguments for one: unknown argument 'limt': did you mean 'limit'?",
    )


def test_in_shadow_mode_a_near_miss_is_noted_and_ignored(tmp_path: Path) -> None:
    outcome = _open_world(tmp_path, Mode.SHADOW).settle({"must": "x", "limt": 3})

    assert outcome.result == {"a": repr(OpenIn("x"))}
    assert outcome.shadow_violation is not None
    assert outcome.shadow_violation.message.endswith("did you mean 'limit'?")


def test_unchecked_a_near_miss_is_one_more_unknown_argument(tmp_path: Path) -> None:
    outcome = _open_world(tmp_path, Mode.OFF).settle({"must": "x", "limt": 3})

    assert (outcome.result, outcome.ignored) == ({"a": repr(OpenIn("x"))}, ("limt",))
    assert outcome.shadow_violation is None


@pytest.mark.parametrize("mode", Mode)
def test_a_null_is_absent_where_an_argument_is_optional_and_stays_where_it_is_required(
    tmp_path: Path, mode: Mode
) -> None:
    outcome = _open_world(tmp_path, mode).settle({"must": None, "limit": None, "text": None})

    assert outcome.result == {"a": repr(OpenIn(None))}
    assert (outcome.ignored, outcome.shadow_violation) == ((), None)


def _raise_own(args: OpenIn) -> None:
    if args.limit < 1:
        raise Fault(Code.INVALID_INPUT, "limit starts at 1", name="MINE")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"must": "x", "limit": 0}, "limit starts at 1"),
        ({"must": "x", "text": "long"}, 'Invalid arguments for one: text: "long" is longer than 3 characters'),
        ({"must": "x", "limit": "0"}, 'Invalid arguments for one: limit: "0" is not of type "integer"'),
        (
            {"limit": 0},
            'Invalid arguments for one: "must" is a required property; limit: 0 is less than the minimum of 1',
        ),
    ],
    ids=["a rule", "no rule", "another type", "a missing argument"],
)
def test_a_tool_explains_a_broken_contract_where_types_fit_and_a_rule_of_its_own_is_broken(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    outcome = _open_world(tmp_path, explain=_raise_own).settle(arguments)

    assert fault_of(outcome) == (Code.INVALID_INPUT, words)


def test_in_shadow_mode_the_words_of_the_tool_are_noted(tmp_path: Path) -> None:
    outcome = _open_world(tmp_path, Mode.SHADOW, explain=_raise_own).settle({"must": "x", "limit": 0})

    assert outcome.result == {"a": repr(OpenIn("x", 0))}
    assert outcome.shadow_violation is not None
    assert outcome.shadow_violation.message == "limit starts at 1"


def test_arguments_that_break_the_contract_are_tidied_and_checked_again(tmp_path: Path) -> None:
    tidied: list[dict[str, Any]] = []

    def tidy(arguments: dict[str, Any]) -> dict[str, Any]:
        tidied.append(arguments)
        return {**arguments, "text": arguments["text"].strip()}

    world = _open_world(tmp_path, tidy=tidy)

    outcomes = [world.settle({"must": "x", "text": text}) for text in (" ok", "  ok  ", " long ")]

    assert [outcome.result for outcome in outcomes[:2]] == [
        {"a": repr(OpenIn("x", 10, text))} for text in (" ok", "ok")
    ]
    assert fault_of(outcomes[2])[0] is Code.INVALID_INPUT
    assert [arguments["text"] for arguments in tidied] == ["  ok  ", " long "]


# --- finish -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [{"n": 1}, Out(1)])
def test_a_result_that_keeps_the_contract_is_the_outcome_as_it_will_be_sent(
    registry: SchemaRegistry, value: Any
) -> None:
    world = World(registry)
    ready = world.ready()

    outcome = world.pipeline.finish(ready, value)

    assert outcome == Outcome(ready.call, ready.tool, {"n": 1}, b'{"n":1}')


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["n"] = circle
    return circle


@pytest.mark.parametrize(
    "value",
    [{}, {"n": "1"}, {"n": 1, "x": 1}, [], None, "n", 1, {"n": None}, {"n": math.nan}, {"n": math.inf}, {"n": object()},
     {"n": 1, "s": "\ud800"}, {"n": 1, "s": {"a"}}, {1: 1}, _circle(), object(), good],
)  # fmt: skip
def test_a_result_that_breaks_the_contract_as_it_would_be_sent_is_not_sent(
    registry: SchemaRegistry, value: Any
) -> None:
    world = World(registry)
    ready = world.ready()

    outcome = world.pipeline.finish(ready, value)

    assert fault_of(outcome) == BROKEN_PROMISE
    assert (outcome.call, outcome.tool) == (ready.call, ready.tool)


def test_where_a_result_breaks_the_contract_is_kept_for_the_journal(registry: SchemaRegistry) -> None:
    world = World(registry)

    outcome = world.pipeline.finish(world.ready(), {"n": "1"})

    assert outcome.fault is not None
    assert isinstance(outcome.fault.__cause__, ContractError)
    assert outcome.fault.__cause__.places == [("n", '"1" is not of type "number"')]


@pytest.mark.parametrize("levels", LEVELS)
def test_a_broken_result_too_deep_to_be_named_is_not_sent(registry: SchemaRegistry, levels: int) -> None:
    world = World(registry)

    outcome = world.pipeline.finish(world.ready(), {"n": nested(levels)})

    assert fault_of(outcome) == BROKEN_PROMISE
    assert outcome.fault is not None
    assert isinstance(outcome.fault.__cause__, ContractError)
    assert outcome.fault.__cause__.places == [("", "nested too deeply")]


def test_a_result_may_be_as_long_as_its_tool_says_and_no_longer(registry: SchemaRegistry) -> None:
    world = World(registry, made(max_result_bytes=10))

    longest = world.pipeline.finish(world.ready(), {"n": 1000})
    longer = world.pipeline.finish(world.ready(), {"n": 10000})

    assert longest.body == b'{"n":1000}'
    assert fault_of(longer) == TOO_LARGE
    assert longer.fault is not None
    assert longer.fault.data == {"result_bytes": 11, "max_result_bytes": 10}


def test_a_fault_that_a_tool_raises_is_kept_as_it_is(registry: SchemaRegistry) -> None:
    world, fault = World(registry), Fault(Code.UNAUTHORIZED, "who are you", status=403, data={"a": 1})

    outcome = world.pipeline.finish(world.ready(), fault)

    assert outcome.fault is fault


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        OSError(5, SECRET),
        RecursionError(SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
    ],
)
def test_anything_else_that_a_tool_raises_is_an_internal_error_without_its_text(
    registry: SchemaRegistry, error: Exception
) -> None:
    world = World(registry)

    outcome = world.pipeline.finish(world.ready(), error)

    assert fault_of(outcome) == BUG
    assert outcome.fault is not None
    assert outcome.fault.__cause__ is error


@given(value=_objects | _values)
def test_exactly_the_results_that_keep_the_contract_are_sent(registry: SchemaRegistry, value: Any) -> None:
    """Another reader of JSON Schema is the judge."""
    world = World(registry)
    ready = world.ready()

    outcome = world.pipeline.finish(ready, value)

    if jsonschema.Draft202012Validator(OUTPUT).is_valid(value):
        assert outcome == Outcome(ready.call, ready.tool, value, outcome.body)
        assert json.loads(outcome.body) == value
    else:
        assert fault_of(outcome) == BROKEN_PROMISE


def test_neither_prepare_nor_finish_tells_anybody(registry: SchemaRegistry) -> None:
    world = World(registry)

    world.pipeline.prepare(Call("nobody", {}, QUIET_CONTEXT))
    world.pipeline.finish(world.ready(), {"n": "1"})

    assert (world.seen, world.complaints) == ([], [])


# --- run --------------------------------------------------------------------------------------


def test_a_plain_function_is_answered_at_once(registry: SchemaRegistry) -> None:
    tool = made()

    outcome = World(registry, tool).run({"n": 7})

    assert outcome == Outcome(Call("one", {"n": 7}, QUIET_CONTEXT), tool, {"n": 7}, b'{"n":7}')


def test_a_coroutine_is_answered_once_it_is_awaited(registry: SchemaRegistry) -> None:
    tool = made(good_later)

    outcome = World(registry, tool).settle({"n": 7})

    assert outcome == Outcome(Call("one", {"n": 7}, QUIET_CONTEXT), tool, {"n": 7}, b'{"n":7}')


def test_anything_that_can_be_awaited_is(registry: SchemaRegistry) -> None:
    async def scenario() -> Outcome:
        future = asyncio.get_running_loop().create_future()
        future.set_result({"n": 1})
        return await World(registry, made(lambda *_: future)).start()

    outcome = asyncio.run(scenario())

    assert outcome.body == b'{"n":1}'


def test_a_tool_gets_its_typed_arguments_and_the_context_of_its_call(registry: SchemaRegistry) -> None:
    given_to: list[Any] = []
    context = msgspec.structs.replace(QUIET_CONTEXT, capabilities={"sampling": {}})

    def note(*given: Any) -> Any:
        given_to.extend(given)
        return {"n": 1}

    World(registry, made(note)).pipeline.run(Call("one", {"n": 2, "s": "x"}, context))

    assert given_to == [In(2, "x"), context]


def test_a_tool_whose_arguments_are_refused_does_not_run(registry: SchemaRegistry) -> None:
    def never(_args: Any, _context: Context) -> Any:
        raise AssertionError

    outcome = World(registry, made(never)).settle({"n": -1})

    assert fault_of(outcome)[0] is Code.INVALID_INPUT


def _raising(error: Exception) -> Body:
    def raises(_args: Any, _context: Context) -> Any:
        raise error

    return raises


def _raising_later(error: BaseException) -> Body:
    async def raises(_args: Any, _context: Context) -> Any:
        raise error

    return raises


@pytest.mark.parametrize("raising", [_raising, _raising_later])
def test_a_fault_is_kept_whether_it_comes_at_once_or_later(
    registry: SchemaRegistry, raising: Callable[[Exception], Body]
) -> None:
    fault = Fault(Code.NOT_FOUND, "no such thing upstream")

    outcome = World(registry, made(raising(fault))).settle()

    assert outcome.fault is fault


@pytest.mark.parametrize("raising", [_raising, _raising_later])
def test_a_bug_is_an_internal_error_whether_it_shows_at_once_or_later(
    registry: SchemaRegistry, raising: Callable[[Exception], Body]
) -> None:
    outcome = World(registry, made(raising(RuntimeError(SECRET)))).settle()

    assert fault_of(outcome) == BUG


def test_a_tool_that_cancels_itself_is_an_internal_error(registry: SchemaRegistry) -> None:
    outcome = World(registry, made(_raising_later(asyncio.CancelledError()))).settle()

    assert fault_of(outcome) == GIVEN_UP


@pytest.mark.parametrize("value", [{"n": "1"}, {"n": math.nan}, None])
def test_what_an_awaited_tool_returns_is_held_to_the_contract_too(registry: SchemaRegistry, value: Any) -> None:
    async def lies(_args: Any, _context: Context) -> Any:
        return value

    outcome = World(registry, made(lies)).settle()

    assert fault_of(outcome) == BROKEN_PROMISE


class Watched(Pipeline):
    """A pipeline that notes in which thread it checks results."""

    where = 0

    def finish(self, ready: PreparedCall, value: object, *work: int) -> Outcome:
        self.where = threading.get_ident()
        return super().finish(ready, value, *work)


@pytest.mark.parametrize("heavy", [True, False])
def test_only_the_results_of_a_heavy_tool_are_checked_beside_the_event_loop(
    registry: SchemaRegistry, *, heavy: bool
) -> None:
    pipeline = Watched(Toolbox((made(good_later, validate_in_thread=heavy),)), registry)
    pending = pipeline.run(Call("one", {"n": 1}, QUIET_CONTEXT))
    assert isinstance(pending, Coroutine)

    outcome = asyncio.run(_awaited(pending))

    assert outcome.body == b'{"n":1}'
    assert (pipeline.where != threading.get_ident()) is heavy


# --- modes ------------------------------------------------------------------------------------


def test_in_shadow_arguments_that_break_the_contract_are_noted_and_go_on(registry: SchemaRegistry) -> None:
    world = World(registry, mode=Mode.SHADOW)

    outcome = world.settle({"n": 101, "s": "x"})

    assert (outcome.result, outcome.body, outcome.fault) == ({"n": 101}, b'{"n":101}', None)
    assert outcome.shadow_violation is not None
    assert (outcome.shadow_violation.code, outcome.shadow_violation.message) == (
        Code.INVALID_INPUT,
        "Invalid arguments for one: n: 101 is greater than the maximum of 100",
    )


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments beside which there is no room."""

    n: int = 1


@pytest.mark.spec("5.modes")
@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.OFF])
def test_where_contracts_are_not_enforced_what_a_tool_has_no_place_for_is_left_out(
    registry: SchemaRegistry, mode: Mode
) -> None:
    tool = msgspec.structs.replace(made(), args=Closed)

    outcome = World(registry, tool, mode=mode).settle({"n": 101, "x": 1})

    assert (outcome.result, outcome.fault) == ({"n": 101}, None)
    assert (outcome.shadow_violation is not None) is (mode is Mode.SHADOW)


@pytest.mark.parametrize(("value", "body"), [({"n": "1"}, b'{"n":"1"}'), ({"n": math.nan}, b'{"n":null}')])
def test_in_shadow_a_result_that_breaks_the_contract_is_noted_and_sent(
    registry: SchemaRegistry, value: Any, body: bytes
) -> None:
    world = World(registry, made(lambda *_: value), mode=Mode.SHADOW)

    outcome = world.settle()

    assert (outcome.body, outcome.fault) == (body, None)
    assert outcome.shadow_violation is not None
    assert (outcome.shadow_violation.code, outcome.shadow_violation.message) == BROKEN_PROMISE


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.SHADOW])
def test_a_call_that_keeps_its_contracts_has_nothing_noted(registry: SchemaRegistry, mode: Mode) -> None:
    outcome = World(registry, mode=mode).settle({"n": 1})

    assert (outcome.fault, outcome.shadow_violation) == (None, None)


def test_where_nobody_looks_nothing_is_refused_and_nothing_noted(registry: SchemaRegistry) -> None:
    outcome = World(registry, made(lambda *_: {"x": []}), mode=Mode.OFF).settle({"n": -1, "x": 1})

    assert (outcome.body, outcome.fault, outcome.shadow_violation) == (b'{"x":[]}', None, None)


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.OFF])
@pytest.mark.parametrize("arguments", [{"n": "many"}, [], {"s": 5}])
def test_no_mode_gives_a_tool_what_it_has_no_place_for(registry: SchemaRegistry, mode: Mode, arguments: Any) -> None:
    outcome = World(registry, mode=mode).settle(arguments)

    assert fault_of(outcome)[0] is Code.INVALID_INPUT


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.OFF])
@pytest.mark.parametrize("value", [{"n": object()}, {"n": 1, "s": "\ud800"}])
def test_no_mode_sends_what_is_not_json(registry: SchemaRegistry, mode: Mode, value: Any) -> None:
    outcome = World(registry, made(lambda *_: value), mode=mode).settle()

    assert fault_of(outcome) == BROKEN_PROMISE


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.OFF])
def test_no_mode_sends_what_is_too_large(registry: SchemaRegistry, mode: Mode) -> None:
    outcome = World(registry, made(lambda *_: {"n": 10000}, max_result_bytes=10), mode=mode).settle()

    assert fault_of(outcome) == TOO_LARGE


# --- time -------------------------------------------------------------------------------------


class Waiting:
    """A tool that waits for a gate, and says when it has begun, when it was cancelled and when it ended."""

    def __init__(self, *, clings: bool = False, wanted: int = 1) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.noticed = asyncio.Event()
        self.ended = asyncio.Event()
        self.cancelled = 0
        self._left = wanted
        self._clings = clings

    async def __call__(self, args: In, _: Context) -> Any:
        self._left -= 1
        if not self._left:
            self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            self.noticed.set()
            if not self._clings:
                raise
            await self.gate.wait()
        finally:
            self.ended.set()
        return {"n": args.n}


def test_a_tool_that_takes_too_long_is_given_up_and_cancelled(registry: SchemaRegistry) -> None:
    async def scenario() -> tuple[Outcome, int]:
        waiting = Waiting()
        outcome = await World(registry, made(waiting), timeout_s=SOON_S).start()
        await waiting.ended.wait()
        return outcome, waiting.cancelled

    outcome, cancelled = asyncio.run(scenario())

    assert fault_of(outcome) == TOO_SLOW
    assert cancelled == 1


def test_a_tool_that_takes_too_long_is_given_up_on_any_event_loop(registry: SchemaRegistry) -> None:
    world = World(registry, made(lambda *_: asyncio.sleep(3600)), timeout_s=SOON_S)

    outcomes = [world.settle() for _ in range(2)]

    assert list(map(fault_of, outcomes)) == [TOO_SLOW] * 2


def test_a_tool_that_will_not_be_cancelled_is_left_behind(registry: SchemaRegistry) -> None:
    async def scenario() -> tuple[Outcome, bool]:
        waiting = Waiting(clings=True)
        outcome = await World(registry, made(waiting), timeout_s=SOON_S).start()
        await waiting.noticed.wait()
        at_work = not waiting.ended.is_set()
        waiting.gate.set()
        await waiting.ended.wait()
        return outcome, at_work

    outcome, at_work = asyncio.run(scenario())

    assert fault_of(outcome) == TOO_SLOW
    assert at_work


@pytest.mark.spec("5.journal.keys")
def test_a_call_that_is_cancelled_cancels_its_tool_and_is_seen_once(registry: SchemaRegistry) -> None:
    async def scenario() -> tuple[bool, int, list[tuple[Code, str]]]:
        waiting = Waiting()
        world = World(registry, made(waiting))
        call = world.start()
        await waiting.begun.wait()
        call.cancel()
        await asyncio.wait([call])
        await waiting.ended.wait()
        return call.cancelled(), waiting.cancelled, [fault_of(outcome) for outcome in world.seen]

    left = (Code.INTERNAL_ERROR, "the caller left before the answer")
    assert asyncio.run(scenario()) == (True, 1, [left])


@pytest.mark.parametrize("ending", ["answered", "cancelled", "too slow"])
def test_nothing_is_kept_of_a_call_that_has_ended(registry: SchemaRegistry, ending: str) -> None:
    async def scenario() -> tuple[int, int]:
        waiting = Waiting()
        world = World(registry, made(waiting), timeout_s=SOON_S if ending == "too slow" else 60.0)
        call = world.start()
        await waiting.begun.wait()
        deadlines = world.pipeline._deadlines_of(asyncio.get_running_loop())
        before = len(deadlines._waits)
        if ending == "answered":
            waiting.gate.set()
        elif ending == "cancelled":
            call.cancel()
        await asyncio.wait([call])
        return before, len(deadlines._waits)

    assert asyncio.run(scenario()) == (1, 0)


# --- how many ---------------------------------------------------------------------------------


def test_one_call_more_than_may_be_in_flight_is_refused_and_the_next_one_after_an_end_is_served(
    registry: SchemaRegistry,
) -> None:
    async def scenario() -> tuple[Outcome, list[Outcome], Outcome]:
        waiting = Waiting(wanted=MAX_IN_FLIGHT)
        world = World(registry, made(waiting))
        calls = [world.start({"n": 5}) for _ in range(MAX_IN_FLIGHT)]
        await waiting.begun.wait()
        refused = await world.start({"n": 6})
        waiting.gate.set()
        return refused, await asyncio.gather(*calls), await world.start({"n": 7})

    refused, served, after = asyncio.run(scenario())

    assert fault_of(refused) == TOO_MANY
    assert [outcome.result for outcome in served] == [{"n": 5}] * MAX_IN_FLIGHT
    assert after.result == {"n": 7}


def test_calls_that_come_in_one_breath_are_refused_beyond_the_bound_and_their_tools_do_not_begin(
    registry: SchemaRegistry,
) -> None:
    begun: list[int] = []

    async def scenario() -> tuple[list[Outcome], list[Outcome], World]:
        gate = asyncio.Event()

        async def wait(args: In, _: Context) -> Any:
            begun.append(args.n)
            await gate.wait()
            return {"n": args.n}

        world = World(registry, made(wait))
        calls = [world.start({"n": 5}) for _ in range(MAX_IN_FLIGHT)]
        more = [world.start({"n": 6}) for _ in range(3)]
        refused = await asyncio.gather(*more)
        gate.set()
        return refused, await asyncio.gather(*calls), world

    refused, served, world = asyncio.run(scenario())

    assert [fault_of(outcome) for outcome in refused] == [TOO_MANY] * 3
    assert [outcome.result for outcome in served] == [{"n": 5}] * MAX_IN_FLIGHT
    assert begun == [5] * MAX_IN_FLIGHT
    assert (len(world.seen), world.complaints) == (MAX_IN_FLIGHT + 3, refused)


def test_a_call_that_is_refused_takes_nobody_s_place(registry: SchemaRegistry) -> None:
    async def scenario() -> Outcome:
        waiting = Waiting(wanted=MAX_IN_FLIGHT)
        world = World(registry, made(waiting))
        calls = [world.start() for _ in range(MAX_IN_FLIGHT + 1)]
        await waiting.begun.wait()
        calls[0].cancel()
        await asyncio.wait([calls[0], calls[-1]])
        last = world.start({"n": 7})
        waiting.gate.set()
        await asyncio.wait(calls)
        return await last

    assert asyncio.run(scenario()).result == {"n": 7}


def test_a_plain_function_is_served_however_many_calls_are_in_flight(registry: SchemaRegistry) -> None:
    async def scenario() -> Any:
        waiting = Waiting(wanted=MAX_IN_FLIGHT)
        world = World(registry, made(waiting), made(good, "two"))
        calls = [world.start() for _ in range(MAX_IN_FLIGHT)]
        await waiting.begun.wait()
        served = world.run({"n": 6}, "two")
        waiting.gate.set()
        await asyncio.gather(*calls)
        return served

    assert asyncio.run(scenario()).result == {"n": 6}


@pytest.mark.parametrize("timeout_s", [60.0, SOON_S], ids=["cancelled", "too slow"])
def test_a_call_that_was_given_up_makes_room_for_another(registry: SchemaRegistry, timeout_s: float) -> None:
    async def scenario() -> Outcome:
        waiting = Waiting(wanted=MAX_IN_FLIGHT)
        world = World(registry, made(waiting), timeout_s=timeout_s)
        calls = [world.start() for _ in range(MAX_IN_FLIGHT)]
        await waiting.begun.wait()
        if timeout_s > SOON_S:
            for call in calls:
                call.cancel()
        await asyncio.wait(calls)
        waiting.gate.set()
        return await world.start({"n": 7})

    assert asyncio.run(scenario()).result == {"n": 7}


# --- who is told ------------------------------------------------------------------------------

TOLD: Final[dict[str, tuple[Body, str, Any, bool]]] = {
    "a result": (good, "one", {"n": 1}, False),
    "a result later": (good_later, "one", {"n": 1}, False),
    "an unknown tool": (good, "nobody", {}, True),
    "wrong arguments": (good, "one", {"n": -1}, True),
    "a fault": (_raising(Fault(Code.NOT_FOUND, "no")), "one", {}, True),
    "a fault later": (_raising_later(Fault(Code.NOT_FOUND, "no")), "one", {}, True),
    "a bug": (_raising(RuntimeError()), "one", {}, True),
    "a bug later": (_raising_later(RuntimeError()), "one", {}, True),
    "a broken promise": (lambda *_: None, "one", {}, True),
}
"""A tool, the name that is called, the arguments, and whether it ends in a fault."""


@pytest.mark.parametrize("what", TOLD)
def test_each_outcome_is_observed_once_and_each_fault_complained_of_once(registry: SchemaRegistry, what: str) -> None:
    run, key, arguments, faulty = TOLD[what]
    world = World(registry, made(run))

    outcome = world.settle(arguments, key)

    assert world.seen == [outcome]
    assert world.complaints == ([outcome] if faulty else [])
    assert (outcome.fault is not None) is faulty


def test_a_call_that_took_too_long_is_observed_once(registry: SchemaRegistry) -> None:
    async def scenario() -> tuple[Outcome, World]:
        waiting = Waiting()
        world = World(registry, made(waiting), timeout_s=SOON_S)
        outcome = await world.start()
        await waiting.ended.wait()
        return outcome, world

    outcome, world = asyncio.run(scenario())

    assert (world.seen, world.complaints) == ([outcome], [outcome])


def test_an_outcome_is_observed_with_the_seconds_that_it_took(registry: SchemaRegistry) -> None:
    told: list[tuple[bytes, float]] = []
    ticks = iter([100.0, 100.5, 200.0, 203.0])
    watch = Events(outcome=lambda outcome, took_s: told.append((outcome.body, took_s)), clock=lambda: next(ticks))
    pipeline = Pipeline(Toolbox((made(), made(good_later, "two"))), registry, events=watch)

    pipeline.run(Call("one", {"n": 1}, QUIET_CONTEXT))
    later = pipeline.run(Call("two", {"n": 2}, QUIET_CONTEXT))
    assert isinstance(later, Coroutine)
    asyncio.run(_awaited(later))

    assert told == [(b'{"n":1}', 0.5), (b'{"n":2}', 3.0)]


def test_nobody_has_to_watch(registry: SchemaRegistry) -> None:
    pipeline = Pipeline(Toolbox((made(),)), registry)

    outcomes = [pipeline.run(Call("one", {"n": 1}, QUIET_CONTEXT)), pipeline.run(Call("nobody", {}, QUIET_CONTEXT))]

    assert [outcome.fault is None for outcome in outcomes if isinstance(outcome, Outcome)] == [True, False]


def test_a_contract_that_does_not_compile_fails_its_calls_alone(tmp_path: Path) -> None:
    """Python's patterns are not all patterns of JSON Schema, and contracts are compiled at the first call."""
    bad = {"type": "object", "properties": {"s": {"type": "string", "pattern": "a\\Z"}}}
    bundle = json.dumps({"tool": "test.bad", "input": bad, "output": OUTPUT}).encode()
    broken = SchemaRegistry(schema_root=ROOT / "src/signet/schemas", derived={"test.bad": bundle})
    tool = Tool(name="bad", slug="test.bad", title="Bad", description="Bad.", args=In, run=lambda *_: Out(1))

    outcome = Pipeline(Toolbox((tool,)), broken).run(Call("bad", {"s": "a"}, QUIET_CONTEXT, BY_NAME))

    assert isinstance(outcome, Outcome)
    assert outcome.fault is not None
    assert (outcome.fault.code, outcome.fault.message) == (
        Code.INTERNAL_ERROR,
        "bad failed: this is a fault of the server, not of the call",
    )


def encodings(work: Callable[[], object]) -> int:
    """Return how often values are encoded in some work."""
    seen: list[str] = []
    sys.setprofile(lambda _, event, called: seen.append(called.__name__) if event == "c_call" else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen.count("encode")


@pytest.mark.parametrize(("size", "count"), [(20, 0), (0, 1)])
def test_arguments_that_came_in_a_short_message_are_not_written_to_learn_their_size(
    registry: SchemaRegistry, size: int, count: int
) -> None:
    pipeline, call = World(registry).pipeline, Call("one", {"n": 1}, QUIET_CONTEXT, size=size)
    pipeline.prepare(call)

    found = encodings(lambda: pipeline.prepare(call))

    assert found == count


@pytest.mark.parametrize("size", [0, 20, 100_000_000])
def test_arguments_are_checked_whatever_the_size_of_their_message(registry: SchemaRegistry, size: int) -> None:
    outcome = World(registry).pipeline.run(Call("one", {"n": 101}, QUIET_CONTEXT, size=size))

    assert isinstance(outcome, Outcome)
    assert outcome.fault is not None
    assert outcome.fault.code is Code.INVALID_INPUT
