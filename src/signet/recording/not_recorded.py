"""The error of a replay for a request that was not recorded: the nearest recorded one, and the differences."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from signet.kernel.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from signet.system.canonical_json import comparable
from signet.system.json_differences import json_differences
from signet.system.text import cut

from .message_index import REQUEST, RecordedRequest
from .message_reader import MessageReader
from .requests import head_of, name_of, params_of

__all__ = ["not_recorded", "shown", "unexpected_answer"]

MAX_SHOWN_CHARS: Final = 200
MAX_COMPARED_BYTES: Final = 100_000
"""The size of all texts that are compared letter by letter, and of one request that is looked at."""
MAX_TEXT_BYTES: Final = 1_000
"""The beginning of a text that is compared letter by letter."""
MAX_DIFFERENCES: Final = 5
ARGUMENTS: Final = "arguments"
ADVICE: Final = "record it with --record"


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = comparable(value).decode(errors="replace")
    return cut(text, MAX_SHOWN_CHARS)


def not_recorded(messages: MessageReader, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-RPC error for a request that the recording has no reply to.

    The work is bounded: a thousand recorded requests are looked at, and a hundred kilobytes of them in depth.
    """
    names = messages.index.by_name.get(method)
    if names is None:
        return {"code": METHOD_NOT_FOUND, "message": f"not recorded: this recording has no {method}; {ADVICE}"}
    name = name_of(params)
    if name not in names:
        return _unknown_name(method, name, list(names))
    asked = _told(params)
    what = f"{method} of {name}" if name else method
    text = f"not recorded: this recording has no {what} with {shown(asked)}"
    nearest = _nearest(messages, asked, names[name])
    if nearest is None:
        return {"code": INVALID_PARAMS, "message": f"{text}; {ADVICE}"}
    differing = _differing(asked, nearest)
    texts = [_difference(one, asked, nearest) for one in differing[:MAX_DIFFERENCES]]
    message = f"{text}; the nearest recorded one has {shown(nearest)} ({'; '.join(texts)}); {ADVICE}"
    return {"code": INVALID_PARAMS, "message": message, "data": {"nearest": shown(nearest), "differs": differing[:50]}}


def unexpected_answer(method: str, given: Any, recorded: list[Any]) -> dict[str, Any]:
    """Return the JSON-RPC error for an answer to a request of the server after which nothing is recorded."""
    others = " or ".join(shown(one) for one in recorded[:3])
    message = (
        f"not recorded: in this recording {method} was not answered with {shown(given)} but with {others}; {ADVICE}"
    )
    return {"code": INVALID_PARAMS, "message": message}


def _unknown_name(method: str, name: str, names: list[str]) -> dict[str, Any]:
    from difflib import get_close_matches

    close = get_close_matches(name[:MAX_SHOWN_CHARS], [one[:MAX_SHOWN_CHARS] for one in names[:1000]], 1, 0.0)
    nearest = f"; the nearest recorded name is {close[0]}" if close and close[0] else ""
    return {
        "code": INVALID_PARAMS,
        "message": f"not recorded: this recording has no {method} of {name[:MAX_SHOWN_CHARS]}{nearest}; {ADVICE}",
    }


def _told(params: dict[str, Any]) -> dict[str, Any]:
    """Return what a caller chose: the arguments of a call, with what it says beside them."""
    arguments = params.get(ARGUMENTS)
    beside = {key: value for key, value in params.items() if key not in {ARGUMENTS, "name", "uri", "_meta"}}
    return {**beside, **arguments} if isinstance(arguments, dict) else beside


def _nearest(messages: MessageReader, asked: dict[str, Any], requests: list[RecordedRequest]) -> dict[str, Any] | None:
    """Return the recorded request with the fewest different arguments; of several, the one with the likest text."""
    nearest: list[dict[str, Any]] = []
    fewest = 1 << 30
    for request in requests:
        entry = request.first(REQUEST)
        if entry is None or entry.length > MAX_COMPARED_BYTES:
            continue
        told = _told(params_of(head_of(messages.message(entry))))
        count = len(_differing(asked, told))
        if count < fewest:
            fewest, nearest = count, []
        if count == fewest:
            nearest.append(told)
    return max(nearest[: _budget(nearest)], key=_likeness(asked)) if len(nearest) > 1 else next(iter(nearest), None)


def _budget(candidates: list[dict[str, Any]]) -> int:
    """Return how many candidates may be compared letter by letter, at least one."""
    left = MAX_COMPARED_BYTES
    for count, candidate in enumerate(candidates):
        left -= min(len(msgspec.json.encode(candidate)), MAX_TEXT_BYTES)
        if left < 0:
            return max(count, 1)
    return len(candidates)


def _likeness(asked: dict[str, Any]) -> Any:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(a="", b=comparable(asked)[:MAX_TEXT_BYTES].decode(errors="replace"), autojunk=False)

    def likeness(told: dict[str, Any]) -> float:
        matcher.set_seq1(comparable(told)[:MAX_TEXT_BYTES].decode(errors="replace"))
        return matcher.ratio()

    return likeness


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return sorted(str(found.names[0]) for found in json_differences(one, other, comparable, depth=1))


def _difference(name: str, asked: dict[str, Any], nearest: dict[str, Any]) -> str:
    if name not in asked:
        return f"{name} is missing here"
    if name not in nearest:
        return f"{name} is missing there"
    return f"{name} is {shown(asked[name])} here and {shown(nearest[name])} there"
