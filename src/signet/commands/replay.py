"""The command `signet replay PATH`: make the calls of a recording again and show which results differ.

    journal ── which calls, and their status      calls.jsonl ── their arguments and results
                     └──── request id ────┘
    each call ── the one road, answers of upstreams and servers from the recording ── same, or a difference

All calls of the recording are run, up to the last one that was requested, because repeated upstream requests get their
recorded answers in order; only the requested calls are shown. A recording of servers that kept no journal has its calls
among the recorded messages.
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
from signet.journal.record import CALLS, LoggedCall, logged
from signet.journal.retention import FOLDER, find_latest_run
from signet.kernel.server import Server
from signet.mcp.link import LinkError
from signet.recording import wrapping_of_replay
from signet.recording.folder import is_recording, read_recording
from signet.recording.label import Recording, RecordingError
from signet.recording.message_reader import MessageReader, RecordedCall
from signet.settings.catalogue import find_toolset, load_toolsets
from signet.settings.model import Settings
from signet.settings.names import PREFIX
from signet.settings.usage import UsageError
from signet.system.canonical_json import comparable
from signet.system.files import read_regular
from signet.system.recording_redactor import RecordingRedactor
from signet.system.text import REPLACEMENT, printable

from .call import COMMAND_LINE, walk
from .terminal import write
from .wrapped import learn

__all__ = ["add"]

DIFFERENT: Final = 1
HEADING: Final = "then: as recorded; now: the same call again, with the recorded responses of upstreams and servers"
EPILOG: Final = """\
The exit status is 0 if every call has the same result as before, 1 if one differs, 2 if there is nothing to run.

examples:
  signet stdio --record recording              record a run
  signet replay recording                      the latest run in that folder
  signet replay recording --toolsets tools.py  of a toolset of your own
  signet replay recording --call 0f5a3c1e-…    one call, by its requestId or traceId
  signet replay runs/mcp_server/envelope_validation/….jsonl --recording recording
"""

T = TypeVar("T")


class ReplayedRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a journal record that are read here."""

    request_id: str
    trace_id: str
    status: str
    ts: str = ""
    route: str = ""

    @property
    def is_of_tool(self) -> bool:
        """Whether a tool was called; the journal has requests for resources and prompts too."""
        return self.route not in {"completion/complete", "prompts/get", "resources/read"}


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
        "--recording",
        "--cassette",
        metavar="DIR",
        help="the recording (default: the journal's folder or the nearest one above)",
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
    served = _servers_alone(args.path)
    lines = asyncio.run(_replay_servers(served, args.call)) if served is not None else _lines_of_journal(args)
    if not lines:
        raise UsageError(f"{args.path} has no call {args.call}" if args.call else f"{args.path} has no calls")
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


def _servers_alone(folder: str) -> Recording | None:
    """Return the recording in a folder if its calls are known from the messages of its servers alone."""
    if not os.path.isdir(folder) or os.path.exists(os.path.join(folder, CALLS)) or _journals(folder):
        return None
    try:
        recording = read_recording(folder)
    except RecordingError:
        if is_recording(folder):
            raise
        return None
    return recording if recording.servers else None


def _lines_of_journal(args: argparse.Namespace) -> list[ReplayLine]:
    """Run the calls of a journal, or of the latest run in a folder."""
    journals = _latest_journals(args.path) if os.path.isdir(args.path) else [args.path]
    # The link to the latest journal is meant to be followed.
    records = [record for path in journals for record in _read_lines(path, ReplayedRecord, follow_link=True)]
    folder = args.recording or _find_recording(journals[0])
    settings = _recorded_settings(folder, args.toolsets)
    calls = _read_calls(folder)
    chosen = [record for record in records if args.call in {None, record.request_id, record.trace_id}]
    wanted = {record.request_id for record in chosen if record.is_of_tool}
    if not wanted:
        return []
    return asyncio.run(_replay(build_server(settings), calls, _match(wanted, records, calls, folder)))


def _recorded_settings(folder: str, toolsets: str) -> Settings:
    """Return the settings of the recorded run; what it did not keep of a user's own toolset is set as for any run."""
    names = load_toolsets(toolsets)
    own = tuple([f"{name}_".replace("-", "_").upper() for name in names if find_toolset(name).has_services])
    environ = {name: value for name, value in os.environ.items() if name.removeprefix(PREFIX).startswith(own)}
    known = Settings().recorded()
    recording = read_recording(folder)
    recorded = {name: value for name, value in recording.label.settings.items() if name in known}
    settings = Settings.read(environ, {**recorded, "replay": folder, "toolsets": toolsets or None})
    return resolve(msgspec.structs.replace(settings, wrapping=wrapping_of_replay(recording)))


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
    journals = _journals(folder)
    if not journals:
        advice = "write the folder that was given to --record, or a journal's file"
        raise UsageError(f"{folder} holds no journal; {advice}")
    return journals


def _journals(folder: str) -> list[str]:
    return next(filter(None, map(find_latest_run, (os.path.join(folder, FOLDER), folder))), [])


def _find_recording(journal: str) -> str:
    """Return the recording that a journal belongs to: its folder, or the nearest one above."""
    folder = os.path.dirname(os.path.abspath(journal))
    while not is_recording(folder):
        above = os.path.dirname(folder)
        if above == folder:
            message = f"{journal} does not lie in a recording; write --recording DIR with what was given to --record"
            raise UsageError(message)
        folder = above
    return folder


def _match(
    wanted: set[str], records: list[ReplayedRecord], calls: list[LoggedCall], folder: str
) -> dict[int, ReplayedRecord]:
    """Return the record of each wanted call by the call's position in the recording.

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


async def _replay_servers(recording: Recording, wanted: str | None) -> list[ReplayLine]:
    """Make the recorded calls of wrapped servers again; they have no ids, so that none can be chosen."""
    lines: list[ReplayLine] = []
    server = build_server(_recorded_settings(recording.folder, ""))
    try:
        await learn(server)
        for name in recording.servers if wanted is None else ():
            prefix = f"{name}_" if recording.label.servers[name].served.get("prefixed") is True else ""
            lines += [await _run_message(server, prefix, call) for call in _messages(recording.servers[name])]
    finally:
        await server.close()
    return lines


def _messages(folder: str) -> list[RecordedCall]:
    """Return the recorded calls of a server; one in which it asked its client cannot be made without the client."""
    try:
        messages = MessageReader(folder)
        messages.load()
        calls = [call for call in messages.calls() if call.is_alone]
        messages.close()
    except LinkError as error:
        raise UsageError(str(error)) from None
    return calls


async def _run_message(server: Server, prefix: str, call: RecordedCall) -> ReplayLine:
    """Run a call that is recorded as a message, and compare the whole result of the server."""
    name = prefix + call.tool
    outcome = await walk(server, name, call.arguments)
    then = LoggedCall("", name, result=Raw(comparable(call.result)))
    if outcome.relayed is not None and not outcome.relayed.is_failure:
        now = LoggedCall("", name, result=Raw(comparable(msgspec.json.decode(outcome.relayed.body))))
    else:
        now = logged("", outcome.call, outcome.tool, outcome.fault, outcome.body)
    status_then = "error" if call.result.get("isError") is True else "ok"
    return ReplayLine(name, status_then, "ok" if outcome.fault is None else "error", _difference(then, now))


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
