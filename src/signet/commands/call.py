"""One call from the command line: reads its arguments as the contract types them, and runs it through the pipeline."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import schema_of
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.kernel.wire import ProtocolError, decode
from signet.settings import UsageError

__all__ = ["COMMAND_LINE", "arguments_of", "call_once", "walk"]

COMMAND_LINE: Final = Door("cli", "call", "cli")


def arguments_of(pipeline: Pipeline, name: str, pairs: list[str], text: str | None) -> Any:
    """Return the arguments of a call: from a JSON text or file, or from pairs whose values the contract types.

    Raises:
        UsageError: the arguments cannot be read.
    """
    if not _is_text(name) or not all(map(_is_text, pairs)):
        raise UsageError("the tool's name or an argument is not UTF-8 text; write it in UTF-8")
    if text is not None and pairs:
        raise UsageError("arguments are given twice: write either key=value or --json")
    if text is not None:
        return _json(text)
    tool = pipeline.toolbox.find(name)
    schema = schema_of(pipeline.registry.load_bundle(tool.slug).input) if tool is not None else {}
    return dict(_pair(pair, schema.get("properties", {})) for pair in pairs)


def _json(text: str) -> Any:
    source = "--json"
    if text.startswith("@"):
        source = text[1:]
        try:
            with open(text[1:], "rb") as file:
                data = file.read()
        except OSError as error:
            message = f"cannot read {text[1:]} ({error.strerror}); write --json @FILE with a file that can be read"
            raise UsageError(message) from None
    else:
        data = text.encode(errors="surrogateescape")
    try:
        arguments = decode(data)
        reason = "" if isinstance(arguments, dict) else "it is JSON, but no object"
    except ProtocolError as error:
        reason = str(error).removeprefix("Parse error: ")
    if reason:
        message = f"""{source} cannot be read ({reason}); write a JSON object such as '{{"key": "value"}}'"""
        raise UsageError(message)
    return arguments


def _is_text(argument: str) -> bool:
    """Return whether an argument was UTF-8; Python turns other bytes into half surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pair(pair: str, properties: dict[str, Any]) -> tuple[str, Any]:
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise UsageError(f"'{pair}' is not an argument; write key=value")
    if properties.get(key, {}).get("type", "string") == "string":
        return key, value
    try:
        return key, msgspec.json.decode(value)
    except msgspec.DecodeError:
        # Left as text: the contract reports the wrong type with the name of the argument.
        return key, value


async def call_once(server: Server, name: str, arguments: Any) -> Outcome:
    """Run one call and close the server, which also writes its journal and its recording; return the outcome."""
    try:
        return await walk(server, name, arguments)
    finally:
        await server.close()


async def walk(server: Server, name: str, arguments: Any, door: Door = COMMAND_LINE) -> Outcome:
    """Run one call through the pipeline, as the command line or through another door; return the outcome."""
    outcome = server.pipeline.run(Call(name, arguments, QUIET_CONTEXT, door))
    return outcome if isinstance(outcome, Outcome) else await outcome
