"""A corpus: the calls that are played, one a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from signet.catalogue import TOOLSETS, find_toolset
from signet.kernel.errors import Fault
from signet.kernel.tools import Tool
from signet.sandbox.faults import read_fault_rule
from signet.settings import UsageError

__all__ = ["CorpusCall", "named", "read_corpus"]


class CorpusCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call: what the table calls it, the tool's name and slug, and what its upstream is told to do wrong."""

    name: str
    tool: str
    slug: str = ""
    """Its tool's own where none is written."""
    arguments: dict[str, Any] = {}
    order: tuple[dict[str, Any], ...] = ()
    """Faults of the sandbox, ordered before the call and cleared after it."""

    @property
    def toolset(self) -> str:
        """The toolset that the slug names."""
        return self.slug.partition(".")[0]


def read_corpus(path: str) -> list[CorpusCall]:
    """Read calls from a file of JSON lines; blank lines are nothing.

    Raises:
        UsageError: it cannot be read, or a line of it is no call.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError as error:
        message = f"cannot read {path} ({error.strerror}); write --corpus with a file that can be read"
        raise UsageError(message) from None
    calls = [_read_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not calls:
        message = f"{path} holds no call; write one a line, for example {_EXAMPLE}"
        raise UsageError(message)
    return calls


_EXAMPLE = '{"name": "a diagram", "tool": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}'


def _read_line(path: str, number: int, line: bytes) -> CorpusCall:
    try:
        asked = msgspec.json.decode(line.decode(), type=CorpusCall)
        for order in asked.order:
            read_fault_rule(order)
    except (ValueError, RecursionError) as error:
        message = f"{path}, line {number} is no call ({error}); write one such as {_EXAMPLE}"
        raise UsageError(message) from None
    except Fault as fault:
        message = f"{path}, line {number} orders what cannot be ordered: {fault.message}"
        raise UsageError(message) from None
    return asked


def named(calls: Iterable[CorpusCall], tools: Iterable[Tool]) -> list[CorpusCall]:
    """Give each call its slug: a door knows a tool by its name or by its slug, and both must mean one.

    Raises:
        UsageError: they do not, or faults are ordered of what asks nobody.
    """
    names = {tool.name: tool.slug for tool in tools}
    slugs = set(names.values())
    return [_named(asked, names, slugs) for asked in calls]


def _named(asked: CorpusCall, names: dict[str, str], slugs: set[str]) -> CorpusCall:
    slug = names.get(asked.tool, asked.tool)
    if (asked.slug or slug) != slug or (asked.tool in slugs and asked.tool not in names):
        other = asked.slug or asked.tool
        message = f"'{asked.name}': {asked.tool} and {other} are not name and slug of one enabled tool"
        raise UsageError(message)
    toolset = slug.partition(".")[0]
    if asked.order and (not _has_sandbox(toolset) or toolset not in {one.partition(".")[0] for one in slugs}):
        message = f"'{asked.name}' orders faults, but no upstream stands behind {asked.tool}"
        raise UsageError(message)
    return msgspec.structs.replace(asked, slug=slug)


def _has_sandbox(toolset: str) -> bool:
    return toolset in TOOLSETS and find_toolset(toolset).sandbox is not None
