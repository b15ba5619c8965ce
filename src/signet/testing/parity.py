"""`signet_parity`: the same calls through every door, and a failure that shows where the doors differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from signet.commands.parity.corpus import CorpusCall, with_slugs
from signet.commands.parity.engine import run_corpus
from signet.commands.parity.report import SAME, ParityReport, mark_varying
from signet.settings.catalogue import find_toolset
from signet.settings.names import PREFIX
from signet.settings.usage import UsageError

from .client import Client, ToolError
from .servers import ServedTarget

__all__ = ["Parity"]

GivenCall = str | tuple[str, Mapping[str, Any]]
"""A tool's name, for its example, or the name and arguments."""


class Parity:
    """Makes calls through every door of a target, each in a process of its own."""

    def __init__(self, served: ServedTarget) -> None:
        self._served = served

    def __call__(self, *calls: GivenCall) -> ParityReport:
        """Fail unless each call has the same result, or the same error, through every door; return the report.

        Of a tool whose result differs from call to call, as a clock's does, only the outcome is compared.

        Args:
            calls: `("add", {"a": 1})`, or `"add"` for its example; by default the examples of all tools.
        """
        __tracebackhide__ = True
        self._served.require_recording()
        names = self._served.toolset_names()
        toolsets = [find_toolset(name) for name in names]
        tools = [tool for toolset in toolsets for tool in toolset.tools()]
        corpus = with_slugs(self._corpus(calls), tools)
        self._record(corpus)
        report = run_corpus(corpus, names, settings=self._variables())
        report = mark_varying(report, lambda number: self._call_again(corpus[number]))
        if not report.agrees:
            raise AssertionError(_difference(report))
        return report

    def _corpus(self, calls: tuple[GivenCall, ...]) -> list[CorpusCall]:
        __tracebackhide__ = True
        examples = {tool.name: dict(tool.example) for tool in self._served.server.pipeline.toolbox if tool.has_example}
        corpus = []
        for given in calls or examples:
            name, arguments = (given, examples.get(given)) if isinstance(given, str) else given
            if arguments is None:
                raise UsageError(f"{name} has no example: write @signet.tool(example=…), or ({name!r}, {{…}}) here")
            corpus.append(CorpusCall(name, name, arguments=dict(arguments)))
        if not corpus:
            raise UsageError("no tool has an example: write @signet.tool(example=…), or give calls to signet_parity")
        return corpus

    def _record(self, corpus: list[CorpusCall]) -> None:
        """Make each call once where there is a recording to make: the doors are then compared on its replay."""
        cassette = self._served.cassette
        if cassette is None or not cassette.is_recording:
            return
        for call in corpus:
            try:
                Client(self._served).call(call.tool, **call.arguments)
            except ToolError:
                continue
        self._served.close()

    def _call_again(self, call: CorpusCall) -> bytes | None:
        """Return the result of a call in this process, or None if it fails."""
        try:
            return msgspec.json.encode(Client(self._served).call(call.tool, **call.arguments))
        except ToolError:
            return None

    def _variables(self) -> dict[str, str]:
        """Return the variables of every process: the target, its own settings, and the cassette."""
        toolsets = [find_toolset(name) for name in self._served.toolset_names()]
        # Their upstreams are played.
        played = tuple([f"{toolset.domain}_".upper() for toolset in toolsets if toolset.sandbox is not None])
        kept = {name: value for name, value in self._served.variables.items() if not name.startswith(played)}
        cassette = self._served.cassette
        replay = {f"{PREFIX}REPLAY": cassette.place} if cassette is not None else {}
        return {**kept, f"{PREFIX}TOOLSETS": self._served.target, **replay}


def _difference(report: ParityReport) -> str:
    """Return which doors differ on which calls, and the first difference in full."""
    lines = [
        f"  {row.name}: {row.outcome}, but "
        + ", ".join(f"{way}: {cell}" for way, cell in row.ways.items() if cell != SAME)
        for row in report.rows
        if not row.agrees
    ]
    first = report.first
    shown = f"\n{first.way} differs from {first.against} on {first.call}:\n{first.diff}" if first is not None else ""
    return "\n".join([f"the doors differ on {len(lines)} of {len(report.rows)} calls", *lines]) + shown
