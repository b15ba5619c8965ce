"""Checks that make calls in this process: the author's example succeeds, and wrong arguments never reach the tool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import UNSET

from signet.app import build_server
from signet.commands.call import walk
from signet.kernel.errors import Code
from signet.kernel.outcome import Outcome
from signet.kernel.schemas import ContractError
from signet.kernel.server import Server
from signet.kernel.tools import Tool
from signet.proofs.examples import example_of, keep, outsider_of
from signet.settings.model import Settings
from signet.system.loop_thread import within
from signet.system.redaction import SecretRedactor

from .result import CheckResult, Subject

__all__ = [
    "MAX_WRONG",
    "call_example",
    "check_example",
    "check_wrong_input",
    "example_value",
    "judge_wrong_input",
    "wrong_inputs",
]

GRACE_S: Final = 5.0
"""How long a call may outlast its own limit: a function on the event loop cannot be given up by it."""
MAX_WRONG: Final = 24
"""The wrong arguments that are tried on a tool."""
MAX_ODD: Final = 2_000
"""The values that are tried to find them."""
MAX_CHARS: Final = 300
ODD_VALUES: Final[tuple[Any, ...]] = (True, "", "a", -1, 1.5, 10**12, [], {}, [None], "a" * 1000)


def check_example(subject: Subject, settings: Settings, schemas: dict[str, dict[str, Any]]) -> CheckResult:
    """Call a tool with its example: it must be valid and known, and the call must succeed."""
    tool = subject.tool
    if subject.toolset.is_foreign:
        return subject.skipped("example", "it is an operation of somebody else's service, which no check calls")
    if not tool.has_example:
        simple = example_of(schemas["input"])
        shown = repr(simple) if isinstance(simple, dict) else "{…}"
        return subject.failed("example", f"it has no example: write @signet.tool(example={shown[:MAX_CHARS]})")
    try:
        arguments = example_value(tool)
    except (TypeError, ValueError, RecursionError) as error:
        return subject.failed("example", f"its example is no JSON object ({error})")
    refused = _refusals(tool, [arguments], settings)[0]
    if refused is not None and refused.fault is not None:
        return subject.failed("example", f"its example breaks the input contract: {refused.fault.message}")
    outcome = call_example(subject, settings)
    if isinstance(outcome, str):
        return subject.failed("example", outcome)
    if outcome.fault is not None:
        return subject.failed("example", f"a call with its example fails: {_reason(outcome, settings)}")
    if outcome.ignored:
        return subject.failed(
            "example", f"its example has arguments that it does not know: {', '.join(outcome.ignored)}"
        )
    return subject.ok("example")


def example_value(tool: Tool) -> Any:
    """Return the example as JSON has it; raise TypeError or ValueError if it cannot be written so."""
    value = msgspec.json.decode(msgspec.json.encode(tool.example))
    if _has_nan(tool.example):
        raise ValueError("JSON has neither NaN nor infinity")
    if not isinstance(value, dict):
        raise TypeError(f"it is of type {type(value).__name__}")
    return value


def _has_nan(example: Any) -> bool:
    """Return whether a number in an example is none in JSON: msgspec would write null."""
    stack = [msgspec.to_builtins(example)]
    while stack:
        value = stack.pop()
        if isinstance(value, float) and not isfinite(value):
            return True
        stack += value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return False


def call_example(subject: Subject, settings: Settings) -> Outcome | str:
    """Return the outcome of a call with a tool's example, or why there is none."""
    server = build_server(settings, on_drift=_ignored)
    limit_s = settings.call_timeout_s + GRACE_S
    message = f"it never returns: nothing came within {limit_s:g} s"
    name, arguments = subject.tool.name, example_value(subject.tool)
    try:
        # In a thread that can be left behind: a function may hold its event loop for ever.
        return within(limit_s, lambda: asyncio.run(_call_once(server, name, arguments)), message)
    except TimeoutError as error:
        return str(error)


async def _call_once(server: Server, name: str, arguments: Any) -> Outcome:
    try:
        return await walk(server, name, arguments)
    finally:
        await server.close()


def check_wrong_input(subject: Subject, settings: Settings, schema: dict[str, Any]) -> CheckResult:
    """Call a tool, whose function is taken out, with arguments that break its contract."""
    tool = subject.tool
    tried = list(islice(wrong_inputs(tool, schema), MAX_WRONG))
    return judge_wrong_input(subject, tried, _refusals(tool, tried, settings) if tried else [])


def judge_wrong_input(subject: Subject, tried: list[Any], outcomes: list[Outcome | None]) -> CheckResult:
    """Return what became of arguments that break a tool's contract; None stands for a call that reached the tool."""
    if not tried:
        return subject.warning(
            "wrong-input", "no arguments were found that break its input contract: say what it needs"
        )
    for arguments, outcome in zip(tried, outcomes, strict=True):
        shown = msgspec.json.encode(arguments).decode()[:MAX_CHARS]
        if outcome is None or outcome.fault is None:
            return subject.failed("wrong-input", f"{shown} breaks the input contract, and the tool is run with it")
        if outcome.fault.code != Code.INVALID_INPUT:
            text = f"{shown} breaks the input contract, and is refused as {outcome.fault.code}, not as INVALID_INPUT"
            return subject.failed("wrong-input", text)
    return subject.ok("wrong-input")


def _refusals(tool: Tool, calls: list[Any], settings: Settings) -> list[Outcome | None]:
    """Return the outcome of each call, or None where the tool would be run: its function is taken out."""
    ran: list[bool] = []

    def taken_out(tool: Tool) -> Tool:
        return msgspec.structs.replace(tool, run=lambda *_: ran.append(True))

    async def call_all() -> list[Outcome | None]:
        server = build_server(settings, variant=taken_out, on_drift=_ignored)
        outcomes: list[Outcome | None] = []
        for arguments in calls:
            ran.clear()
            outcome = await walk(server, tool.name, arguments)
            outcomes.append(None if ran else outcome)
        await server.close()
        return outcomes

    return asyncio.run(call_all())


def wrong_inputs(tool: Tool, schema: dict[str, Any]) -> Iterator[Any]:
    """Yield arguments that break a contract: far from valid ones, and close to them."""
    odd = islice(_odd_inputs(tool, schema), MAX_ODD)
    while batch := list(islice(odd, MAX_WRONG)):
        # A null counts as absent.
        values = [one for one in batch if b"null" not in msgspec.json.encode(one)]
        mended = [tool.tidy(one) if tool.tidy is not None and isinstance(one, dict) else one for one in values]
        kept = keep(schema, [*values, *mended])
        both = zip(values, kept[: len(values)], kept[len(values) :], strict=False)
        yield from (value for value, *holds in both if not any(holds))


def _odd_inputs(tool: Tool, schema: dict[str, Any]) -> Iterator[Any]:
    yield []
    close = outsider_of(schema)
    if close is not UNSET:
        yield close
    valid = tool.example if tool.has_example else example_of(schema)
    base = {name: value for name, value in valid.items() if value is not None} if isinstance(valid, dict) else {}
    yield from ({name: value for name, value in base.items() if name != missing} for missing in base)
    names = schema.get("properties")
    for odd in ODD_VALUES:
        yield from ({**base, name: odd} for name in (names if isinstance(names, dict) else ()))


def _ignored(_: str) -> None:
    """Go on with what the types say: a check of its own tells of a drift."""


def _reason(outcome: Outcome, settings: Settings) -> str:
    """Return why a call failed, with what its exception says: the reader is the author."""
    fault = outcome.fault
    if fault is None:
        return ""
    cause = fault.__cause__
    text = f"{fault.code}: {fault.message}"
    if isinstance(cause, ContractError):
        text += f" ({cause})"
    elif cause is not None:
        text += f" ({fault.place}: {cause})"
    return SecretRedactor(settings.secrets()).text(" ".join(text.split()))[: 2 * MAX_CHARS]
