"""The differences between a recorded server and the lock: in its definitions, and in results that break a contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signet.kernel.schemas import Contract, ContractError
from signet.mcp.snapshot import KINDS, Snapshot
from signet.system.canonical_json import comparable

from .message_reader import MessageReader

__all__ = ["check_recording"]

WORDS: Final = {"template": "resource template"}
"""What a kind of entries is called in a sentence, where it is not called by its name."""
VOLATILE: Final = frozenset({"size"})
"""Members of resources that change with their content."""
MAX_BROKEN: Final = 3
"""The broken results of one tool that are reported one by one."""


def check_recording(recorded: MessageReader, locked: Snapshot) -> list[str]:
    """Return a sentence for each place where a recording differs from the lock.

    Raises:
        LinkError: the recording cannot be read.
    """
    recorded.load()
    return [*_definitions(recorded, locked), *_results(recorded, locked)]


def _definitions(recorded: MessageReader, locked: Snapshot) -> Iterator[str]:
    now = recorded.snapshot()
    if now.instructions != locked.instructions and recorded.index.by_key:
        yield "the recorded instructions are not those of the lock"
    for kind, (where, key, *_) in KINDS.items():
        # Lists that were never recorded contradict nothing.
        if where in recorded.listed:
            word = WORDS.get(kind, kind)
            yield from _entries(word, _by_name(key, getattr(now, where)), _by_name(key, getattr(locked, where)))


def _by_name(key: str, entries: tuple[msgspec.Raw, ...]) -> dict[str, dict[str, Any]]:
    values = [msgspec.json.decode(entry) for entry in entries]
    return {str(value.get(key)): value for value in values if isinstance(value, dict)}


def _entries(word: str, now: dict[str, Any], locked: dict[str, Any]) -> Iterator[str]:
    for name, entry in locked.items():
        if name not in now:
            yield f"the {word} {name} of the lock is not in the recording"
            continue
        fields = sorted({*entry, *now[name]} - VOLATILE)
        differing = [field for field in fields if comparable(entry.get(field)) != comparable(now[name].get(field))]
        if differing:
            yield f"the {word} {name} differs from the lock in {', '.join(differing)}"
    for name in now:
        if name not in locked:
            yield f"the {word} {name} of the recording is not in the lock"


def _results(recorded: MessageReader, locked: Snapshot) -> Iterator[str]:
    """Yield a sentence for each recorded result that breaks the output contract of the lock."""
    contracts: dict[str, Contract] = {}
    for name, tool in _by_name("name", locked.tools).items():
        if tool.get("outputSchema") is None:
            continue
        try:
            contracts[name] = Contract(tool["outputSchema"], "")
        except (ValueError, RecursionError) as error:
            why = str(error).partition("\n")[0][:200]
            yield f"the output schema of {name} in the lock is not valid ({why}): its results are not checked"
    broken: dict[str, int] = {}
    for call in recorded.calls():
        name = call.tool
        why = _broken(contracts.get(name), call.result)
        if why:
            broken[name] = broken.get(name, 0) + 1
            if broken[name] <= MAX_BROKEN:
                yield f"a recorded result of {name} breaks its output contract: {why}"
    for name, count in broken.items():
        if count > MAX_BROKEN:
            yield f"{count - MAX_BROKEN} further results of {name} break its output contract"


def _broken(contract: Contract | None, result: dict[str, Any]) -> str:
    """Return what is wrong with a result, or an empty text; the content of an error is not promised."""
    if contract is None or result.get("isError") is True:
        return ""
    if "structuredContent" not in result:
        return "it has no structured content"
    try:
        contract.validate(result["structuredContent"])
    except ContractError as error:
        return str(error)[:300]
    return ""
