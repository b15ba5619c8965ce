"""What the results on a tape have in common: an output schema for each tool that states none."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from signet.compatibility.inference import Shape, merged, schema_of, shape_of

from .tape_reader import TapeReader

__all__ = ["LearnedTool", "learn"]

Origin = Literal["structuredContent", "text"]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ANY_OBJECT: Final = {"type": "object"}


class LearnedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a tape: its learned contract, or why there is none."""

    name: str
    results: int
    """The number of results that the schema was inferred from."""
    origin: Origin | None = None
    input: Any = msgspec.field(default_factory=lambda: dict(ANY_OBJECT))
    output: dict[str, Any] | None = None
    why: str = ""


class _Seen:
    """The results of one tool so far."""

    def __init__(self) -> None:
        self.structured = self.texts = self.others = self.errors = 0
        self.of_structured = Shape()
        self.of_texts = Shape()

    def add(self, result: dict[str, Any]) -> None:
        """Take in one result; what a tool says of an error is no part of its contract."""
        if result.get("isError") is True:
            self.errors += 1
        elif "structuredContent" in result:
            self.structured += 1
            self.of_structured = merged(self.of_structured, shape_of(result["structuredContent"]))
        else:
            value = _json_of(result)
            if value is None:
                self.others += 1
            else:
                self.texts += 1
                self.of_texts = merged(self.of_texts, shape_of(value))


def learn(tape: TapeReader, day: str, *, is_for_all: bool = False) -> list[LearnedTool]:
    """Return what is learned of each tool that states no output schema, or of all tools, sorted by name.

    Raises:
        LinkError: the tape cannot be read.
    """
    tape.load()
    listed = {str(tool.get("name")): tool for tool in map(msgspec.json.decode, tape.snapshot().tools)}
    seen: dict[str, _Seen] = {}
    for name, result in tape.calls():
        if is_for_all or listed.get(name, {}).get("outputSchema") is None:
            seen.setdefault(name, _Seen()).add(result)
    found = [_learned(name, one, listed.get(name, {}), day) for name, one in seen.items()]
    return sorted(found, key=lambda one: one.name)


def _learned(name: str, seen: _Seen, tool: dict[str, Any], day: str) -> LearnedTool:
    takes = tool.get("inputSchema", ANY_OBJECT)
    if seen.structured:
        output = _schema(seen.structured, seen.of_structured, "structuredContent", day)
        return LearnedTool(name=name, results=seen.structured, origin="structuredContent", input=takes, output=output)
    if seen.texts and not seen.others:
        output = _schema(seen.texts, seen.of_texts, "text", day)
        return LearnedTool(name=name, results=seen.texts, origin="text", input=takes, output=output)
    why = "not every result is JSON" if seen.others else "every recorded result is an error"
    return LearnedTool(name=name, results=0, input=takes, why=why)


def _schema(count: int, shape: Shape, origin: Origin, day: str) -> dict[str, Any]:
    results = "1 result" if count == 1 else f"{count} results"
    return {
        "$schema": DIALECT,
        "$comment": f"inferred from {results} on {day}",
        "x-inferred": True,
        "x-inferred-from": origin,
        **schema_of(shape),
    }


def _json_of(result: dict[str, Any]) -> Any:
    """Return the object or array that is the only text of a result, or None."""
    content = result.get("content")
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    if not isinstance(text, str):
        return None
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
