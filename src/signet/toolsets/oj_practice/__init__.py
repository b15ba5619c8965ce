"""Practice on online judges: the samples of a problem as data, from the backend of the toolset `oj`."""

from collections.abc import Sequence

from msgspec import json

from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, Toolset

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _corpus() -> Sequence[CorpusRow]:
    from importlib.resources import files

    rows: list[CorpusRow] = json.decode((files(__package__) / "corpus.json").read_bytes())
    return rows


TOOLSET = Toolset(
    name="oj-practice",
    title="Online judge, for practice",
    extends="oj",
    instructions="get_samples gives samples as data. No help during a running contest: judges forbid it.",
    tools=_tools,
    corpus=_corpus,
)
