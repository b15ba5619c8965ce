"""The command `signet replay JOURNAL`: the calls of a recorded run once more, and what became of them then and now.

    journal ── which calls, how they ended      calls.jsonl ── their arguments and results
                     └──── request id ────┘
    each call ── the one road, answered from the cassette ── the same, or a difference

All calls of a cassette are run, up to the last one that is asked for, so that repeated questions get their answers in
the order in which they were given; only those that are asked for are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from signet.app import build_server, resolve
from signet.journal.calls import LoggedCall, logged
from signet.kernel.server import Server
from signet.runs import read_manifest_of
from signet.settings import Settings, UsageError
from signet.upstream.cassette_folder import CALLS, LABEL
from signet.upstream.cassette_redaction import CassetteRedactor

from .call import COMMAND_LINE, walk
from .terminal import write

__all__ = ["add"]

DIFFERENT: Final = 1
HELP: Final = """\
The status is 0 when every call has the result that it had, 1 when one differs, 2 when there is nothing to run.

examples:
  signet stdio --record tape                                      record: upstream answers, calls and journal
  signet replay tape/mcp_server/envelope_validation/envelope_validation.latest.jsonl
  signet replay JOURNAL --cassette tape --call 0f5a3c1e-…         one call, by its requestId or traceId
"""

T = TypeVar("T")


class ReplayedRecord(msgspec.Struct, frozen=True):
    """What is read of a journal's line."""

    requestId: str  # noqa: N815 - the journal's name
    traceId: str  # noqa: N815
    status: str
    ts: str = ""


class ReplayLine(msgspec.Struct, frozen=True):
    """One call, then and now."""

    tool: str
    then: str
    now: str
    difference: str = ""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what can be written behind `signet replay`."""
    parser.epilog = HELP
    parser.add_argument("path", metavar="JOURNAL", help="the journal of a run that was made with --record")
    parser.add_argument("--call", metavar="ID", help="show one call only, by its requestId or traceId")
    parser.add_argument("--cassette", metavar="DIR", help="where it was recorded (the journal's folder or one above)")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Run the calls again, and show them."""
    records = _lines(args.path, ReplayedRecord)
    folder = args.cassette or _cassette_of(args.path)
    settings = _settings(folder)
    calls = _calls(folder)
    wanted = {one.requestId for one in records if args.call in {None, one.requestId, one.traceId}}
    if not wanted:
        message = f"{args.path} has no call {args.call}" if args.call else f"{args.path} has no calls"
        raise UsageError(message)
    shown = asyncio.run(_again(build_server(settings), calls, _paired(wanted, records, calls, folder)))
    different = [one for one in shown if one.difference]
    width = max(len(one.tool) for one in shown)
    for one in shown:
        verdict = "differs" if one.difference else "same" if one.now != "-" else "refused at the door: nothing to run"
        write(_printable(f"{one.tool:<{width}}  {one.then:<5}  {one.now:<5}  {verdict}"))
        if one.difference:
            write("\n".join(_printable(line) for line in one.difference.splitlines()))
    write(f"calls: {len(shown)}, same: {len(shown) - len(different)}, different: {len(different)}")
    return DIFFERENT if different else 0


def _settings(folder: str) -> Settings:
    """Give the settings that the run was recorded under."""
    known = Settings().recorded()
    recorded = {name: value for name, value in read_manifest_of(folder).settings.items() if name in known}
    return resolve(Settings.read({}, {**recorded, "replay": folder}))


def _calls(folder: str) -> list[LoggedCall]:
    path = os.path.join(folder, CALLS)
    if not os.path.exists(path):
        message = f"{folder} has no {CALLS}: the run must have been made with --record, and with a journal"
        raise UsageError(message)
    return _lines(path, LoggedCall)


def _lines(path: str, shape: type[T]) -> list[T]:
    """Read a file of lines; what follows the last line end was never finished.

    Raises:
        UsageError: there is no such file, or a line is not what it should be.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    except OSError as error:
        message = f"cannot read {path} ({error.strerror})"
        raise UsageError(message) from None
    read = msgspec.json.Decoder(shape).decode
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(read(line))
        except (ValueError, RecursionError) as error:
            message = f"{path}, line {number}, cannot be read ({error})"
            raise UsageError(message) from None
    return found


def _cassette_of(journal: str) -> str:
    """Find the cassette that a journal was recorded with: the folder it lies in, or one above."""
    folder = os.path.dirname(os.path.abspath(journal))
    while not os.path.exists(os.path.join(folder, LABEL)):
        above = os.path.dirname(folder)
        if above == folder:
            message = f"{journal} does not lie in a cassette; write --cassette DIR with what was given to --record"
            raise UsageError(message)
        folder = above
    return folder


def _paired(
    wanted: set[str], records: list[ReplayedRecord], calls: list[LoggedCall], folder: str
) -> dict[int, ReplayedRecord]:
    """Give the record of each call that is to be shown, by the call's place.

    Ids that follow from the call are equal for equal calls, in every run: when they ended tells them apart, and of
    those that ended together the first record is the first such call's.
    """
    places: dict[tuple[str, str], deque[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault((call.requestId, call.ts), deque()).append(place)
    paired = {}
    for record in records:
        found = places.get((record.requestId, record.ts)) or places.get((record.requestId, ""))
        if not found:
            message = f"{CALLS} in {folder} has no call {record.requestId}: the run must have been made with --record"
            raise UsageError(message)
        place = found.popleft()
        if record.requestId in wanted:
            paired[place] = record
    return paired


async def _again(server: Server, calls: list[LoggedCall], wanted: dict[int, ReplayedRecord]) -> list[ReplayLine]:
    """Run the calls in their order."""
    shown = []
    try:
        for place, then in enumerate(calls[: max(wanted) + 1]):
            now = await _outcome(server, then) if then.arguments is not UNSET else None
            if place in wanted:
                status = "-" if now is None else "ok" if now.error is UNSET else "error"
                difference = "" if now is None else "\n".join(_difference(then, now))
                shown.append(ReplayLine(then.tool, wanted[place].status, status, difference))
    finally:
        await server.close()
    return shown


async def _outcome(server: Server, call: LoggedCall) -> LoggedCall:
    """Walk the one road, and write down what comes of it as it was written down then."""
    door = msgspec.structs.replace(COMMAND_LINE, by_name=call.by_name)
    outcome = await walk(server, call.tool, msgspec.json.decode(call.arguments), door)  # type: ignore[arg-type]
    line = msgspec.json.encode(logged(call.requestId, outcome.call, outcome.tool, outcome.fault, outcome.body))
    return msgspec.json.decode(CassetteRedactor().body(line), type=LoggedCall)


def _difference(then: LoggedCall, now: LoggedCall) -> Iterator[str]:
    before, after = _told(then), _told(now)
    if before != after:
        yield from difflib.unified_diff(_readable(before), _readable(after), "then", "now", lineterm="")


def _told(call: LoggedCall) -> bytes:
    """Give what became of a call, as the bytes that it was."""
    value: Any = call.error if call.result is UNSET else call.result
    return msgspec.json.encode(value)


def _readable(told: bytes) -> list[str]:
    """Part JSON into lines, and the texts in it too."""
    return msgspec.json.format(told).decode().replace("\\n", "\n").splitlines()


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
