"""A corpus: the calls to run, read from a file with one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault
from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow
from signet.sandbox.faults import read_fault_rule
from signet.settings.catalogue import find_toolset
from signet.settings.usage import UsageError

__all__ = ["CorpusCall", "built_in", "read_corpus", "with_slugs"]

EXAMPLE: Final = '{"name": "a diagram", "tool": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}'


ANY: Final[tuple[CorpusRow, ...]] = (
    ("a tool that nobody has", "nobody", {"x": 1}),
    ("a tool that nobody has, beyond ASCII", "nobody", {"x": "ない", "y": [True, None, 1.5]}),
)


class CorpusCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call: its row in the table, the tool by name and slug, its arguments and the faults of its upstream."""

    name: str
    tool: str
    slug: str = ""
    """Filled in by `with_slugs` if the corpus does not state it."""
    arguments: dict[str, Any] = {}
    order: tuple[dict[str, Any], ...] = ()
    """Faults that the sandbox injects into this call alone."""

    @property
    def toolset(self) -> str:
        """The toolset that the slug names."""
        return self.slug.partition(".")[0]


def read_corpus(path: str) -> list[CorpusCall]:
    """Read the calls of a file; blank lines are skipped.

    Raises:
        UsageError: the file cannot be read, or a line is not a call.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError as error:
        message = f"cannot read {path} ({error.strerror}); write --corpus with a file that can be read"
        raise UsageError(message) from None
    calls = [_read_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not calls:
        raise UsageError(f"{path} holds no call; write one a line, for example {EXAMPLE}")
    return calls


def _read_line(path: str, number: int, line: bytes) -> CorpusCall:
    try:
        call = msgspec.json.decode(line.decode(), type=CorpusCall)
        for order in call.order:
            read_fault_rule(order)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}, line {number} is no call ({error}); write one such as {EXAMPLE}") from None
    except Fault as fault:
        raise UsageError(f"{path}, line {number} orders what cannot be ordered: {fault.message}") from None
    return call


def with_slugs(calls: Iterable[CorpusCall], tools: Iterable[Tool]) -> list[CorpusCall]:
    """Return the calls with their slugs: some channels know a tool by its name, others by its slug.

    Raises:
        UsageError: name and slug of a call do not belong together, or it orders faults of a tool without an upstream.
    """
    slugs_by_name = {tool.name: tool.slug for tool in tools}
    return [_with_slug(call, slugs_by_name) for call in calls]


def _with_slug(call: CorpusCall, slugs_by_name: dict[str, str]) -> CorpusCall:
    slugs = slugs_by_name.values()
    slug = slugs_by_name.get(call.tool, call.tool)
    if (call.slug or slug) != slug or (call.tool in slugs and call.tool not in slugs_by_name):
        other = call.slug or call.tool
        raise UsageError(f"'{call.name}': {call.tool} and {other} are not name and slug of one enabled tool")
    toolset = slug.partition(".")[0]
    enabled = {known.partition(".")[0] for known in slugs}
    if call.order and (toolset not in enabled or find_toolset(toolset).sandbox is None):
        raise UsageError(f"'{call.name}' orders faults, but no upstream stands behind {call.tool}")
    return msgspec.structs.replace(call, slug=slug)


def built_in(toolsets: Iterable[str]) -> list[CorpusCall]:
    """Return the calls of some toolsets, and the calls for which no toolset is needed."""
    rows = [row for name in toolsets for row in find_toolset(name).corpus()]
    return [_call(*row) for row in (*rows, *ANY)]


def _call(name: str, tool: str, arguments: Mapping[str, Any], faults: Sequence[Mapping[str, Any]] = ()) -> CorpusCall:
    return CorpusCall(name, tool, arguments=dict(arguments), order=tuple(map(dict, faults)))
