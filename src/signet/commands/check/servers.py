"""The checks of a wrapped server: it starts, its schemas hold, its words hide nothing, and it is as it was pinned.

read_server ─▶ Snapshot ─┬─▶ list_tools ─▶ contract, satisfiable, wrong-input, client, secret, invisible
                         └─▶ the lock ───▶ lock
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from signet.app import SCHEMA_ROOT
from signet.commands.call import COMMAND_LINE
from signet.commands.doctor.servers import read_server
from signet.kernel.outcome import Call, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import SchemaRegistry, schema_of
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Toolbox
from signet.kernel.toolset import Toolset
from signet.lock.comparison import EntryChange
from signet.lock.file import LockError, read_lock
from signet.lock.policy import LockPolicy, describe, is_blocked
from signet.mcp.snapshot import Snapshot
from signet.proofs.changes import compare_snapshots
from signet.relay.listing import Listed, Terms, list_tools
from signet.relay.server_snapshot import SnapshotError
from signet.settings.server_spec import ServerSpec
from signet.system.secret_patterns import find_secrets
from signet.system.text import hidden_characters

from .calls import MAX_WRONG, judge_wrong_input, wrong_inputs
from .client_rules import lint_tool, texts_of
from .contracts import check_satisfiable
from .result import CheckResult, CheckState, Subject

__all__ = ["SERVER_CHECKS", "CheckedServer", "check_server"]

SERVER_CHECKS: Final = {
    "server": "The server starts, and lists what it has.",
    "lock": "What the server says about itself is what was pinned.",
    "invisible": "No text of the server holds characters that nobody sees.",
}
"""What is demanded of a wrapped server beside the checks of all tools."""
LIST_S: Final = 60.0
CURRENT_DRAFT: Final = "2020-12"
MAX_CHARS: Final = 200


class CheckedServer(msgspec.Struct):
    """A wrapped server, what it lists, and what the checks say of it."""

    spec: ServerSpec
    results: list[CheckResult]
    tools: list[tuple[Subject, Listed]] = []
    """The tools whose contracts can be used and kept."""

    def tell(self, check: str, state: CheckState, message: str = "") -> None:
        """Add a result on the server as a whole."""
        self.results.append(CheckResult(self.spec.name, "", check, state, message))


def check_server(spec: ServerSpec, lock_file: str, on_progress: Callable[[str], None], *, prefix: str) -> CheckedServer:
    """Run all checks for which no tool has to be called; the names of its tools begin with the prefix."""
    checked = CheckedServer(spec, [])
    on_progress(f"starting {spec.name}")
    try:
        snapshot = read_server(spec, LIST_S)
    except SnapshotError as error:
        checked.tell("server", CheckState.FAILED, str(error))
        return checked
    notes: list[dict[str, Any]] = []
    terms = Terms(spec.name, prefix, {}, lambda *_: partial(_note_run, notes), partial(_note, notes))
    listed = list_tools(snapshot.tools, terms)
    try:
        pipeline = _pipeline(listed)
    except ValueError as error:
        checked.tell("server", CheckState.FAILED, str(error))
        return checked
    left_out = [note for note in notes if note["event"] == "server.tool_left_out"]
    for note in notes:
        if note["event"] == "server.tool_over_budget":
            message = f"{note['tool']}: its {note['side']} schema cannot be used: {note['why']}"
            checked.tell("contract", CheckState.FAILED, message)
    for note in left_out:
        checked.tell("server", CheckState.WARNING, f"a tool {note['tool']!r} is left out: {note['why']}")
    if not left_out:
        checked.tell("server", CheckState.OK, f"it lists {len(listed)} tools, and speaks {snapshot.version}")
    _check_lock(checked, snapshot, lock_file)
    _check_words(checked, snapshot)
    toolset = Toolset(name=spec.name, title=spec.name, tools=tuple, is_foreign=True)
    for one in listed:
        on_progress(f"checking {one.tool.name}")
        _check_tool(checked, Subject(toolset, one.tool), one, pipeline, notes)
    return checked


def _pipeline(listed: list[Listed]) -> Pipeline:
    """Return a pipeline of tools whose server is taken out; raise ValueError where two tools have one key."""
    registry = SchemaRegistry(schema_root=SCHEMA_ROOT)
    registry.put({one.tool.slug: one.bundle for one in listed}, {one.tool.slug: one.compile for one in listed})
    return Pipeline(Toolbox(tuple(one.tool for one in listed)), registry)


def _note(notes: list[dict[str, Any]], event: str, **facts: Any) -> None:
    notes.append({"event": event, **facts})


def _note_run(notes: list[dict[str, Any]], *_: object) -> None:
    notes.append({"event": "run"})


# --- the server as a whole


def _check_lock(checked: CheckedServer, snapshot: Snapshot, lock_file: str) -> None:
    """Compare what the server says with the lock, if there is one."""
    if not os.path.lexists(lock_file):
        checked.tell("lock", CheckState.SKIPPED, f"nothing is pinned: there is no {lock_file}")
        return
    try:
        locked = read_lock(lock_file).servers.get(checked.spec.name)
    except LockError as error:
        checked.tell("lock", CheckState.FAILED, str(error))
        return
    if locked is None:
        checked.tell("lock", CheckState.WARNING, f"{lock_file} has no server '{checked.spec.name}'")
        return
    changes = compare_snapshots(locked.snapshot, snapshot)
    for change in changes:
        checked.tell("lock", _state_of(change), describe(change))
    if not changes:
        checked.tell("lock", CheckState.OK, f"all as pinned in {lock_file}")


def _state_of(change: EntryChange) -> CheckState:
    return CheckState.FAILED if is_blocked(change, LockPolicy()) else CheckState.WARNING


def _check_words(checked: CheckedServer, snapshot: Snapshot) -> None:
    """Look for what nobody sees, and for secrets, in the words that belong to no tool."""
    texts = [(snapshot.instructions, "instructions")]
    for kind in ("prompts", "resources", "templates"):
        for number, entry in enumerate(getattr(snapshot, kind)):
            texts += texts_of(msgspec.json.decode(entry), f"{kind}/{number}")
    hidden = [f"{place}: {_codes(text)}" for text, place in texts if hidden_characters(text)]
    for message in hidden:
        checked.tell("invisible", CheckState.FAILED, message)
    if not hidden:
        checked.tell("invisible", CheckState.OK)
    for text, place in texts:
        for kind in find_secrets(text):
            checked.tell("secret", CheckState.FAILED, f"{place}: it holds {kind}")


def _codes(text: str) -> str:
    return f"it holds characters that nobody sees ({', '.join(dict.fromkeys(hidden_characters(text)))})"[:MAX_CHARS]


# --- one tool


def _check_tool(
    checked: CheckedServer, subject: Subject, one: Listed, pipeline: Pipeline, notes: list[dict[str, Any]]
) -> None:
    schemas: dict[str, Any] = {"input": schema_of(one.bundle.input), "output": schema_of(one.bundle.output)}
    notes.clear()
    promises = pipeline.registry.load_tool_io(one.tool.slug).promises_output
    unusable = {note["side"]: note["why"] for note in notes}
    has_output = promises or "output" in unusable
    kept = schemas if has_output else {"input": schemas["input"]}
    contract = _contract(subject, kept, unusable)
    checked.results += [contract, *_clients(subject, schemas, checked.spec.name, has_output=has_output)]
    if contract.state is CheckState.FAILED:
        names = ("satisfiable", "wrong-input")
        checked.results += [subject.skipped(name, "a schema of it cannot be used") for name in names]
        return
    satisfiable = check_satisfiable(subject, kept)
    checked.results += [satisfiable, _wrong_input(subject, one, pipeline, notes)]
    if satisfiable.state is not CheckState.FAILED:
        checked.tools.append((subject, one))


def _contract(subject: Subject, schemas: dict[str, Any], unusable: dict[str, str]) -> CheckResult:
    """Tell of schemas that cannot be used, and of those of an older draft, which are read as that draft has them."""
    if unusable:
        told = "; ".join(f"its {side} schema cannot be used: {why}" for side, why in unusable.items())
        return subject.failed("contract", told)
    named = {side: schema.get("$schema") for side, schema in schemas.items() if isinstance(schema, dict)}
    older = {side: one for side, one in named.items() if isinstance(one, str) and CURRENT_DRAFT not in one}
    if older:
        told = "; ".join(f"its {side} schema is of an older draft, {one[:MAX_CHARS]}" for side, one in older.items())
        return subject.warning("contract", told)
    return subject.ok("contract", "" if "output" in schemas else "it promises no structured output")


def _clients(subject: Subject, schemas: dict[str, Any], server: str, *, has_output: bool) -> Iterator[CheckResult]:
    """Lint a tool as clients do, and look for what nobody sees."""
    tool = subject.tool
    output = schemas["output"] if has_output else None
    findings = lint_tool(tool.name, tool.title, tool.description, schemas["input"], output, server=server)
    for one in findings:
        make = subject.failed if one.severity == "error" else subject.warning
        yield make("secret" if one.severity == "error" else "client", f"{one.place}: {one.message}")
    if not any(one.severity != "error" for one in findings):
        yield subject.ok("client")
    if not any(one.severity == "error" for one in findings):
        yield subject.ok("secret")
    texts = [(tool.name, "/name"), (tool.title, "/title"), (tool.description, "/description")]
    texts += [*texts_of(schemas["input"], "/inputSchema"), *texts_of(output, "/outputSchema")]
    hidden = [f"{place}: {_codes(text)}" for text, place in texts if hidden_characters(text)]
    yield subject.failed("invisible", "; ".join(hidden)) if hidden else subject.ok("invisible")


def _wrong_input(subject: Subject, one: Listed, pipeline: Pipeline, notes: list[dict[str, Any]]) -> CheckResult:
    """Call a tool, whose server is taken out, with arguments that break its contract."""
    tried = list(islice(wrong_inputs(one.tool, schema_of(one.bundle.input)), MAX_WRONG))

    async def refusals() -> list[Outcome | None]:
        outcomes: list[Outcome | None] = []
        for arguments in tried:
            notes.clear()
            outcome = pipeline.run(Call(one.tool.name, arguments, QUIET_CONTEXT, COMMAND_LINE))
            outcome = outcome if isinstance(outcome, Outcome) else await outcome
            outcomes.append(None if notes else outcome)
        return outcomes

    return judge_wrong_input(subject, tried, asyncio.run(refusals()) if tried else [])
