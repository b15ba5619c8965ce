"""The live journal: the latest calls of all doors, as a list, as a stream, and one by one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated, Any, Final

from msgspec import Meta

from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.transports.messages import Request

from .admission import HEARTBEAT_S, Admission
from .feed import KEEPS, Feed, FeedRecord, Follower
from .parts import ConsoleContext
from .recorded import ARGUMENTS_NOT_KNOWN, RecordPage, ReplayAnswer, ReplayRequest, replay, show_record
from .twin import Shown, Twin, Visit
from .violations import Violations
from .work import work

__all__ = ["twins"]

LOOK_S: Final = 0.5
"""The time between two looks at what other processes have published."""
PAUSE_S: Final = 0.2
"""The shortest time between two events."""
EVENT_RECORDS: Final = 500
"""The largest number of records in one event."""
CROWDED: Final = "TOO_MANY_STREAMS"
MAX_VALUES: Final = 500
"""The largest number of values that a filter offers."""

Value = Annotated[str, Meta(max_length=300)]


class JournalFilter(Shown, frozen=True):
    """Which records: a field that is null or missing is not asked for."""

    tool: Value | None = None
    door: Value | None = None
    code: Value | None = None
    caller: Value | None = None
    """A principal's name; empty for calls of nobody in particular."""
    text: Value = ""
    """Words that stand in the tool's name, its slug, the message, the route, the caller or an id, in any case."""

    def words(self) -> str:
        """Return the text as records are searched for it."""
        return self.text.strip().casefold()


class JournalRequest(JournalFilter, frozen=True):
    """Which part of the records."""

    before: Value = ""
    """The `seq` of a record: only older ones; empty for the newest."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class CallExample(Shown, frozen=True):
    """A call that can be tried."""

    tool: str
    arguments: dict[str, Any]


class JournalPage(Shown, frozen=True):
    """Records, newest first, and what there is to choose from."""

    records: list[FeedRecord]
    matches: int
    """The number of kept records that the filter takes, whatever the part."""
    kept: int
    """The number of records that are kept now."""
    keeps: int
    """The number of records that are kept at most."""
    left_out: int
    """The number of successful calls that came too fast for the workers to tell each other; with one, none."""
    tools: list[str]
    doors: list[str]
    codes: list[str]
    callers: list[str]
    example: CallExample | None
    """A call to try; null where there are records."""


class JournalBatch(Shown, frozen=True):
    """One event: new records, oldest first; the first event has none and says that the stream has begun."""

    records: list[FeedRecord]
    left_out: int


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""
    violations = Violations(parts.server.pipeline.registry, parts.settings.secrets())
    feed = Feed(parts.spool, find_place=violations.first_place)
    parts.server.events.add(Events(records=feed.take_own))
    return (
        Twin(
            method="POST",
            path="/-/journal",
            summary="List the latest calls, newest first",
            answer=JournalPage,
            body=JournalRequest,
            run=lambda visit: work(_list, parts, feed, visit.body),
            example={"limit": 20},
        ),
        Twin(
            method="POST",
            path="/-/journal/stream",
            summary="Follow the calls as they end, as server-sent events",
            answer=JournalBatch,
            body=JournalFilter,
            run=partial(_stream, parts, feed),
            is_stream=True,
            example={"code": "INVALID_INPUT"},
            refusals=((503, CROWDED),),
        ),
        *_of_one_call(parts, feed),
    )


def _of_one_call(parts: ConsoleContext, feed: Feed) -> tuple[Twin, ...]:
    return (
        Twin(
            path="/-/journal/{requestId}",
            summary="Show one call, with its arguments and its answer where calls are recorded",
            answer=RecordPage,
            run=partial(show_record, parts, feed),
            refusals=((404, "NOT_FOUND"),),
        ),
        Twin(
            method="POST",
            path="/-/journal/{requestId}/replay",
            summary="Make a recorded call again and compare the answers",
            answer=ReplayAnswer,
            body=ReplayRequest,
            run=partial(replay, parts, feed),
            example={},
            is_call=True,
            refusals=((404, "NOT_FOUND"), (409, ARGUMENTS_NOT_KNOWN)),
        ),
    )


def _list(parts: ConsoleContext, feed: Feed, wanted: JournalRequest) -> JournalPage:
    feed.take_others()
    records, call = feed.latest(), parts.example_call()
    words = wanted.words()
    found = [record for record in records if _matches(record, wanted, words)]
    older = [record for record in found if record.seq < wanted.before] if wanted.before else found
    return JournalPage(
        older[: wanted.limit],
        len(found),
        len(records),
        KEEPS,
        feed.left_out,
        _values(records, "tool"),
        _values(records, "door"),
        _values(records, "code"),
        _values(records, "caller"),
        None if records or call is None else CallExample(**call),
    )


def _values(records: list[FeedRecord], name: str) -> list[str]:
    return sorted({getattr(record, name) for record in records})[:MAX_VALUES]


def _matches(record: FeedRecord, wanted: JournalFilter, words: str) -> bool:
    return (
        (wanted.tool is None or record.tool == wanted.tool)
        and (wanted.door is None or record.door == wanted.door)
        and (wanted.code is None or record.code == wanted.code)
        and (wanted.caller is None or record.caller == wanted.caller)
        and (not words or words in _text(record))
    )


def _text(record: FeedRecord) -> str:
    """Return all that a record is searched in."""
    message: Any = (record.error or {}).get("message", "")
    names = record.tool, record.metadata.tool_id or "", record.route, record.caller, record.code, record.door
    return "\n".join((*names, message, record.request_id, record.trace_id)).casefold()


def _stream(parts: ConsoleContext, feed: Feed, visit: Visit) -> AsyncGenerator[JournalBatch | None, None]:
    owner = _owner(visit.request)
    why = feed.crowd(owner)
    if why:
        raise Fault(Code.INTERNAL_ERROR, why, name=CROWDED, status=503)
    return _batches(feed, visit.body, Follower(owner), Admission(parts.authenticator, visit.request))


def _owner(request: Request) -> str:
    """Return by whom streams are counted: the principal, else the address."""
    key = request.caller.key
    return f"of {key}" if key is not None else f"at {request.network or request.address}"


async def _batches(
    feed: Feed, wanted: JournalFilter, follower: Follower, admission: Admission
) -> AsyncGenerator[JournalBatch | None, None]:
    """Yield what a filter takes of the records that come from now on, and None where none has come for long.

    End when the one who follows is not admitted any more.
    """
    words = wanted.words()
    if feed.is_shared:
        # What others have published before is for the list.
        await work(feed.take_others)
    if not feed.follow(follower):
        return
    try:
        told, told_s = feed.left_out, time.monotonic()
        yield JournalBatch([], told)
        while True:
            await follower.wait(LOOK_S if feed.is_shared else HEARTBEAT_S)
            if feed.is_shared:
                await work(feed.take_others)
            if not await admission.lasts():
                return
            found = [record for record in follower.take() if _matches(record, wanted, words)]
            left_out = feed.left_out + follower.missed
            if found or left_out != told:
                told, told_s = left_out, time.monotonic()
                for start in range(0, len(found) or 1, EVENT_RECORDS):
                    yield JournalBatch(found[start : start + EVENT_RECORDS], told)
            elif time.monotonic() - told_s >= HEARTBEAT_S:
                told_s = time.monotonic()
                yield None
            await asyncio.sleep(PAUSE_S)
    finally:
        feed.leave(follower)
