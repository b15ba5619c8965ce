"""The params of a request as they leave for a wrapped server: built from the members that were checked. Pure.

members that the method does not have ── left out
arguments ────────────────────────────── the bytes that were checked, unless a name stands twice in one object
members of a method that is not known ── passed on, unless two names could be taken for one
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.equal_names import has_equal_names
from signet.kernel.errors import Code, Fault
from signet.kernel.wire import decode, encode
from signet.mcp.messages import HOP, members, text_of

from .declared_names import DeclaredNames
from .folded_names import equal_when_folded, fold

__all__ = [
    "REFERENCE",
    "call_params",
    "check_answer",
    "check_prompt",
    "is_near_known",
    "prompt_arguments",
    "refuse_near",
    "sent_params",
]

Shape = Mapping[str, "Shape | None"]
"""The members that an object may have, and those of each of them where they are known."""

REFERENCE: Final[Shape] = dict.fromkeys(("type", "name", "uri", "title"))
NAMED: Final[Shape] = dict.fromkeys(("name", "arguments"))
ROUND: Final[Shape] = dict.fromkeys(("inputResponses", "requestState"))
PAGE: Final[Shape] = {"cursor": None}
RESOURCE: Final[Shape] = {"uri": None}
TASK: Final[Shape] = {"taskId": None}
KNOWN: Final[Mapping[str, Shape]] = {
    "tools/call": {**NAMED, **ROUND, "task": {"ttl": None}},
    "prompts/get": {**NAMED, **ROUND},
    "resources/read": {**RESOURCE, **ROUND},
    "resources/subscribe": RESOURCE,
    "resources/unsubscribe": RESOURCE,
    "completion/complete": {
        "ref": REFERENCE,
        "argument": dict.fromkeys(("name", "value")),
        "context": {"arguments": None},
    },
    "logging/setLevel": {"level": None},
    **dict.fromkeys(("prompts/list", "resources/list", "resources/templates/list", "tasks/list"), PAGE),
    **dict.fromkeys(("tasks/get", "tasks/result", "tasks/cancel"), TASK),
    "tasks/update": {**TASK, **ROUND},
}
"""The members of the params of each method, beside `_meta`."""
OTHERS: Final = ("initialize", "ping", "server/discover", "subscriptions/listen", "tools/list")
METHODS: Final = {fold(method): method for method in (*KNOWN, *OTHERS)}
"""The methods whose requests are not passed on as they are, by their folded names."""
SCALARS: Final = frozenset(bytes([one]) for one in b'"-0123456789tfn')
"""What a value begins with that has no names in it."""
TOKEN: Final = "progresstoken"  # noqa: S105 - the folded name of a member


def is_near_known(method: str) -> bool:
    """Return whether some parser takes a method for another one, whose requests are checked."""
    return METHODS.get(fold(method), method) != method


def sent_params(method: str, raw: Raw, decoded: Any = None) -> Raw:
    """Return the params of a client's request as a server gets them; of a call, `decoded` are those that were checked.

    Raises:
        Fault: two names in one object are equal, or some parsers take them for one.
    """
    arguments = getattr(decoded, "arguments", UNSET)
    if method == "tools/call" and arguments and encode({"name": decoded.name, "arguments": arguments}) == bytes(raw):
        # What most clients write: what was checked is all that is there.
        return raw
    shape = KNOWN.get(method)
    if shape is None:
        if has_equal_names(raw):
            _refuse_equal("params")
        _check_folded("params", members(raw))
    parts = members(raw)
    sent: dict[str, Any] = {}
    for name, value in parts.items():
        if name == "_meta":
            meta = _sent_meta(value)
            sent |= {name: meta} if meta else {}
        elif shape is None:
            sent[name] = value
        elif name in shape:
            is_plain = bytes(value)[:1] in SCALARS
            decoded_part = arguments if name == "arguments" else UNSET
            sent[name] = value if is_plain else _sent_member(name, value, shape[name], decoded_part)
    return Raw(encode(sent))


def _sent_member(name: str, value: Raw, shape: Shape | None, decoded: Any) -> Any:
    if not _is_container(value):
        return value
    if has_equal_names(value, decoded):
        _refuse_equal(name)
    if name == "inputResponses":
        for key, answer in members(value).items():
            why = check_answer(answer)
            if why:
                raise _refused(f"{name}.{key}: {why}")
    if shape is None:
        return value
    return {key: part for key, part in members(value).items() if key in shape}


def _sent_meta(raw: Raw) -> dict[str, Raw]:
    """Return the members of `_meta` that are not of one hop alone."""
    kept = {key: value for key, value in members(raw).items() if not key.startswith(HOP) and key != "progressToken"}
    if not kept:
        return kept
    _check_folded("_meta", kept)
    for key, value in kept.items():
        if _is_container(value) and has_equal_names(value):
            _refuse_equal(f"_meta.{key}")
    return {key: value for key, value in kept.items() if fold(key) != TOKEN and not fold(key).startswith(HOP)}


def call_params(name: str, arguments: Any, written: Raw | None) -> Raw:
    """Return the params of a call through another door than MCP, with the arguments as they were written if possible.

    Where a name stands twice in one object, they are written anew: what was checked has it once.
    """
    is_same = False
    if written is not None:
        with suppress(ValueError):
            is_same = decode(bytes(written)) == arguments and not has_equal_names(written, arguments)
    return Raw(encode({"name": name, "arguments": written if is_same else arguments}))


def check_answer(answer: Raw) -> str:
    """Return why a client's answer to a question of a server cannot be passed on; empty if it can."""
    if not _is_container(answer):
        return ""
    if has_equal_names(answer):
        return "a name stands twice in one object"
    parts = members(answer)
    same = equal_when_folded(parts) or equal_when_folded(members(parts.get("content")))
    return f"the names {same[0]!r} and {same[1]!r} may be taken for one" if same is not None else ""


def refuse_near(name: str, declared: str) -> NoReturn:
    """Raise Fault for a name that may be taken for one that is declared; both are empty where that is not known."""
    if not declared:
        raise _refused("Invalid arguments: they have too many parts to find out which names a server could mistake")
    raise _refused(
        f"Invalid arguments: some servers take {name[:100]!r} for {declared[:100]!r}; "
        "write each name as the tool or prompt declares it"
    )


def prompt_arguments(method: str, params: Raw) -> dict[str, Raw]:
    """Return the arguments of a prompt that a request sends: those beside its name, or those of its context."""
    parts = members(params)
    return members((members(parts.get("context")) if method == "completion/complete" else parts).get("arguments"))


def check_prompt(entry: Raw | None, given: Mapping[str, Raw]) -> None:
    """Raise Fault if an argument may be taken for one that a prompt declares; None stands for an unknown prompt."""
    if entry is None:
        _check_folded("arguments", given)
        return
    try:
        listed = msgspec.json.decode(members(entry).get("arguments", b"[]"), type=list[dict[str, Raw]])
    except msgspec.DecodeError:
        listed = []
    names = {text_of(one.get("name")) for one in listed}
    near = DeclaredNames(encode({"properties": dict.fromkeys(names)})).near(dict.fromkeys(given))
    if near is not None:
        refuse_near(*near)


def _check_folded(place: str, names: Collection[str]) -> None:
    same = equal_when_folded(names) if len(names) > 1 else None
    if same is not None:
        first, second = (name[:100] for name in same)
        raise _refused(f"Invalid {place}: some servers take {first!r} and {second!r} for one name; send one of them")


def _refuse_equal(place: str) -> NoReturn:
    raise _refused(f"Invalid {place[:100]}: a name stands twice in one object; send each name once")


def _refused(message: str) -> Fault:
    return Fault(Code.INVALID_INPUT, message)


def _is_container(value: Raw) -> bool:
    return bytes(value).lstrip(b" \t\r\n")[:1] in {b"{", b"["}
