"""The command `signet replay PATH`: run the calls of a recorded journal again and show which results differ.

    journal ── which calls, and their status      calls.jsonl ── their arguments and results
                     └──── request id ────┘
    each call ── the one road, upstream answers from the cassette ── same, or a difference

All calls of the cassette are run, up to the last one that was requested, because repeated upstream requests get their
recorded answers in order; only the requested calls are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
from collections import deque
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw

from signet.app import build_server, resolve
from signet.journal.record import LoggedCall, logged
from signet.journal.retention import FOLDER, find_latest_run
from signet.kernel.server import Server
from signet.runs import describe_tapes, read_manifest_of, wrapping_of_replay
from signet.settings.catalogue import find_toolset, load_toolsets
from signet.settings.model import Settings
from signet.settings.names import PREFIX
from signet.settings.usage import UsageError
from signet.system.files import read_regular
from signet.system.recording_redactor import RecordingRedactor
from signet.system.text import REPLACEMENT, printable
from signet.upstream.cassette_folder import CALLS, LABEL

from .call import COMMAND_LINE, walk
from .terminal import write
from .wrapped import learn

__all__ = ["add"]

DIFFERENT: Final = 1
HEADING: Final = "then: as recorded; now: the same call again, with the recorded responses of upstreams and servers"
EPILOG: Final = """\
The exit status is 0 if every call has the same result as before, 1 if one differs, 2 if there is nothing to run.

examples:
  signet stdio --record tape              record a run
  signet replay tape                      the latest run in that folder
  signet replay tape --toolsets tools.py  of a toolset of your own
  signet replay tape --call 0f5a3c1e-…    one call, by its requestId or traceId
  signet replay runs/mcp_server/envelope_validation/….jsonl --cassette tape
"""

T = TypeVar("T")


class ReplayedRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a journal record that are read here."""

    request_id: str
    trace_id: str
    status: str
    ts: str = ""


class ReplayLine(msgspec.Struct, frozen=True):
    """One call: its status in the journal, its status now, and how the results differ."""

    tool: str
    then: str
    now: str
    difference: str = ""

    @property
    def verdict(self) -> str:
        """The last column of the line."""
        if self.difference:
            return "differs"
        return "same" if self.now != "-" else "refused at the door: nothing to run"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet replay`."""
    parser.epilog = EPILOG
    text = "the folder that was given to --record, for its latest run; or one journal of such a run"
    parser.add_argument("path", metavar="PATH", help=text)
    parser.add_argument("--call", metavar="ID", help="show only the call with this requestId or traceId (default: all)")
    parser.add_argument(
        "--cassette", metavar="DIR", help="the recording (default: the journal's folder or the nearest one above)"
    )
    parser.add_argument(
        "--toolsets",
        metavar="A,B",
        default="",
        help="toolsets that were recorded, separated by commas; needed for tools of your own (default: as recorded)",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Run the calls again and print one line for each."""
    journals = _latest_journals(args.path) if os.path.isdir(args.path) else [args.path]
    # The link to the latest journal is meant to be followed.
    records = [record for path in journals for record in _read_lines(path, ReplayedRecord, follow_link=True)]
    folder = args.cassette or _find_cassette(journals[0])
    settings = _recorded_settings(folder, args.toolsets)
    calls = _read_calls(folder)
    wanted = {record.request_id for record in records if args.call in {None, record.request_id, record.trace_id}}
    if not wanted:
        message = f"{args.path} has no call {args.call}" if args.call else f"{args.path} has no calls"
        raise UsageError(message)
    lines = asyncio.run(_replay(build_server(settings), calls, _match(wanted, records, calls, folder)))
    width = max(len(line.tool) for line in lines)
    write(HEADING)
    write(f"{'tool':<{width}}  {'then':<5}  {'now':<5}  result")
    for line in lines:
        write(printable(f"{line.tool:<{width}}  {line.then:<5}  {line.now:<5}  {line.verdict}", substitute=REPLACEMENT))
        if line.difference:
            write("\n".join(printable(text, substitute=REPLACEMENT) for text in line.difference.splitlines()))
    different = sum(bool(line.difference) for line in lines)
    write(f"calls: {len(lines)}, same: {len(lines) - different}, different: {different}")
    return DIFFERENT if different else 0


def _recorded_settings(folder: str, toolsets: str) -> Settings:
    """Return the settings of the recorded run; what it did not keep of a user's own toolset is set as for any run."""
    names = load_toolsets(toolsets)
    own = tuple([f"{name}_".replace("-", "_").upper() for name in names if find_toolset(name).has_services])
    environ = {name: value for name, value in os.environ.items() if name.removeprefix(PREFIX).startswith(own)}
    known = Settings().recorded()
    manifest = read_manifest_of(folder)
    recorded = {name: value for name, value in manifest.settings.items() if name in known}
    settings = Settings.read(environ, {**recorded, "replay": folder, "toolsets": toolsets or None})
    return resolve(msgspec.structs.replace(settings, wrapping=wrapping_of_replay(folder, manifest)))


def _read_calls(folder: str) -> list[LoggedCall]:
    path = os.path.join(folder, CALLS)
    if not os.path.exists(path):
        raise UsageError(f"{folder} has no {CALLS}: the run must have been made with --record, and with a journal")
    return _read_lines(path, LoggedCall)


def _read_lines(path: str, shape: type[T], *, follow_link: bool = False) -> list[T]:
    """Read a file of JSON lines; text after the last line end is an unfinished record and is ignored.

    Raises:
        UsageError: the file cannot be read, or a line has another shape.
    """
    try:
        lines = read_regular(path, follow_link=follow_link).split(b"\n")[:-1]
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror})") from None
    decode = msgspec.json.Decoder(shape).decode
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(decode(line))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}, cannot be read ({error})") from None
    return values


def _latest_journals(folder: str) -> list[str]:
    """Return the journals of the latest run in a recording: each of its processes has one.

    Raises:
        UsageError: there is no journal.
    """
    for place in (os.path.join(folder, FOLDER), folder):
        journals = find_latest_run(place)
        if journals:
            return journals
    advice = f"{folder} holds no journal; write the folder that was given to --record, or a journal's file"
    raise UsageError(describe_tapes(folder) or advice)


def _find_cassette(journal: str) -> str:
    """Return the cassette that a journal belongs to: its folder, or the nearest one above."""
    folder = os.path.dirname(os.path.abspath(journal))
    while not os.path.exists(os.path.join(folder, LABEL)):
        above = os.path.dirname(folder)
        if above == folder:
            message = f"{journal} does not lie in a cassette; write --cassette DIR with what was given to --record"
            raise UsageError(message)
        folder = above
    return folder


def _match(
    wanted: set[str], records: list[ReplayedRecord], calls: list[LoggedCall], folder: str
) -> dict[int, ReplayedRecord]:
    """Return the record of each wanted call by the call's position in the cassette.

    Deterministic ids repeat for identical calls, so match on (requestId, end time); ties are matched in file order.
    """
    places: dict[tuple[str, str], deque[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault((call.request_id, call.ts), deque()).append(place)
    matched = {}
    for record in records:
        candidates = places.get((record.request_id, record.ts)) or places.get((record.request_id, ""))
        if not candidates:
            message = f"{CALLS} in {folder} has no call {record.request_id}: the run must have been made with --record"
            raise UsageError(message)
        place = candidates.popleft()
        if record.request_id in wanted:
            matched[place] = record
    return matched


async def _replay(server: Server, calls: list[LoggedCall], wanted: dict[int, ReplayedRecord]) -> list[ReplayLine]:
    """Run the calls in their recorded order and return a line for each wanted one."""
    lines = []
    try:
        await learn(server)
        for place, then in enumerate(calls[: max(wanted) + 1]):
            now = await _run_call(server, then, then.arguments) if isinstance(then.arguments, Raw) else None
            if place in wanted:
                status = "-" if now is None else "ok" if now.error is UNSET else "error"
                difference = "" if now is None else _difference(then, now)
                lines.append(ReplayLine(then.tool, wanted[place].status, status, difference))
    finally:
        await server.close()
    return lines


async def _run_call(server: Server, call: LoggedCall, arguments: Raw) -> LoggedCall:
    """Run one call and return it in the form in which calls are recorded."""
    door = msgspec.structs.replace(COMMAND_LINE, by_name=call.by_name)
    outcome = await walk(server, call.tool, msgspec.json.decode(arguments), door)
    line = msgspec.json.encode(logged(call.request_id, outcome.call, outcome.tool, outcome.fault, outcome.body))
    return msgspec.json.decode(RecordingRedactor().body(line), type=LoggedCall)


def _difference(then: LoggedCall, now: LoggedCall) -> str:
    """Return the difference of two results as a unified diff, or an empty string."""
    before, after = _result(then), _result(now)
    if before == after:
        return ""
    return "\n".join(difflib.unified_diff(_readable(before), _readable(after), "then", "now", lineterm=""))


def _result(call: LoggedCall) -> bytes:
    value: Any = call.error if call.result is UNSET else call.result
    return msgspec.json.encode(value)


def _readable(result: bytes) -> list[str]:
    """Split JSON into lines, and the texts in it, too."""
    return msgspec.json.format(result).decode().replace("\\n", "\n").splitlines()
