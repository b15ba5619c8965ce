"""The command `signet contract learn DIR`: infer the output schemas of a recorded server's tools from its results."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

from signet.commands.terminal import say, table, write, write_json
from signet.compatibility.inference import Shape, merged, schema_of, shape_of
from signet.mcp.link import LinkError
from signet.recording.message_reader import MessageReader
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.files import replacing

__all__ = ["add_learn"]

Origin = Literal["structuredContent", "text"]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ANY_OBJECT: Final = {"type": "object"}
NOTHING: Final = 1
PIPE_WIDTH: Final = 160
EPILOG: Final = """\
DIR is a recording of one wrapped server, or the folder DIR/servers/NAME of one among several. A schema says what all
recorded results have in common, and is marked "x-inferred": more results make it wider. Without --out the bundles are
printed as JSON.
The exit status is 0 if something was learned, 1 if nothing was, 2 if the recording cannot be read.

examples:
  signet contract learn recordings/files --out learned
  signet contract learn recordings/files --all > bundles.json
"""


class _LearnedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded tool: its learned contract, or why there is none."""

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


def add_learn(actions: Any, formatter: Any) -> None:
    """Add the action `learn` to `signet contract`."""
    parser = actions.add_parser(
        "learn",
        help="infer output schemas from the recorded results of a wrapped server",
        description="Infer the output schema of each tool that states none from its recorded results.",
        epilog=EPILOG,
        formatter_class=formatter,
    )
    parser.add_argument("recording", metavar="DIR", help="the folder of a recording")
    parser.add_argument("--out", metavar="FOLDER", help="write a bundle for each tool to FOLDER/tools")
    parser.add_argument("--all", action="store_true", help="learn of tools that state an output schema too")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Read the recording, infer, and print or write what was learned."""
    try:
        recorded = MessageReader(args.recording)
        learned = _learn(recorded, datetime.now(UTC).date().isoformat(), is_for_all=args.all)
    except (LinkError, ValueError, RecursionError) as error:
        raise UsageError(str(error)) from None
    recorded.close()
    found = [one for one in learned if one.output is not None]
    if args.out is None:
        write_json(msgspec.json.encode([_bundle(one) for one in found]).decode())
    else:
        _write(args.out, found)
        _show(learned)
        if any(one.origin == "structuredContent" for one in found):
            write(f"\n{_advice(args.out, recorded.server)}")
    if not found:
        say(f"{args.recording} has no results of which a schema could be inferred")
    return 0 if found else NOTHING


def _bundle(one: _LearnedTool) -> dict[str, Any]:
    return {"tool": one.name, "input": one.input, "output": one.output}


def _write(folder: str, learned: list[_LearnedTool]) -> None:
    """Write a bundle for each tool, as `signet contract diff` reads them."""
    try:
        os.makedirs(os.path.join(folder, "tools"), exist_ok=True)
        for one in learned:
            # A name of a server's tool may be no name of a file.
            path = os.path.join(folder, "tools", f"{quote(one.name, safe='')[:200]}.json")
            with replacing(path, f"{path}.new") as file:
                file.write(msgspec.json.format(msgspec.json.encode(_bundle(one)), indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename} ({error.strerror})") from None


def _show(learned: list[_LearnedTool]) -> None:
    rows = [(one.name, str(one.results), one.origin or "", one.why) for one in learned]
    write(table(("tool", "results", "inferred from", "not learned"), rows, pipe_width=PIPE_WIDTH, strip=True))


def _advice(folder: str, server: str) -> str:
    """Return what to write into signet.toml so that what was learned is enforced."""
    path = os.path.relpath(folder)
    entry = f"[servers.{server}]\ncontracts = {msgspec.json.encode(path).decode()}"
    wrap = advise("wrap.contracts", folder=path)
    how = f"to enforce what structuredContent shows: '{wrap} -- COMMAND', or in signet.toml"
    return f"{how}\n\n{entry}"


def _learn(recorded: MessageReader, day: str, *, is_for_all: bool = False) -> list[_LearnedTool]:
    """Return what is learned of each tool that states no output schema, or of all tools, sorted by name.

    Raises:
        LinkError: the recording cannot be read.
    """
    recorded.load()
    listed = {str(tool.get("name")): tool for tool in map(msgspec.json.decode, recorded.snapshot().tools)}
    seen: dict[str, _Seen] = {}
    for call in recorded.calls():
        if is_for_all or listed.get(call.tool, {}).get("outputSchema") is None:
            seen.setdefault(call.tool, _Seen()).add(call.result)
    found = [_learned(name, one, listed.get(name, {}), day) for name, one in seen.items()]
    return sorted(found, key=lambda one: one.name)


def _learned(name: str, seen: _Seen, tool: dict[str, Any], day: str) -> _LearnedTool:
    takes = tool.get("inputSchema", ANY_OBJECT)
    if seen.structured:
        output = _schema(seen.structured, seen.of_structured, "structuredContent", day)
        return _LearnedTool(name=name, results=seen.structured, origin="structuredContent", input=takes, output=output)
    if seen.texts and not seen.others:
        output = _schema(seen.texts, seen.of_texts, "text", day)
        return _LearnedTool(name=name, results=seen.texts, origin="text", input=takes, output=output)
    why = "not every result is JSON" if seen.others else "every recorded result is an error"
    return _LearnedTool(name=name, results=0, input=takes, why=why)


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
