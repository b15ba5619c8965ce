"""Violations as the console shows them: the exact place, the keyword and the value, bounded and without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from signet.journal.record import JournalEntry
from signet.kernel.arguments import without_nulls
from signet.kernel.errors import Fault
from signet.kernel.outcome import Outcome, Relayed
from signet.kernel.places import Violation
from signet.kernel.schemas import ContractError, SchemaRegistry
from signet.kernel.wire import decode, encode
from signet.system.redaction import SecretRedactor

from .twin import Shown

__all__ = ["PlaceShown", "Violations", "as_path"]

MAX_CHARS: Final = 200
"""The characters of a value, a message or a step that are shown."""


class PlaceShown(Shown, frozen=True):
    """One place where a value breaks its contract."""

    path: list[str | int]
    """The steps from the whole value to the place; empty for the whole."""
    keyword: str
    """The keyword of the schema that is broken; empty where the search cannot tell."""
    message: str
    value: str
    """The JSON of the value at the place, cut."""


def as_path(steps: Iterable[str | int]) -> str:
    """Return a path in one line: `series[0].unit`; `$` is the whole value."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "$"


def _promised(value: object) -> object:
    """Return the part of a tool's value that its contract is about: of a wrapped server's reply, the structured one."""
    return value.structured if isinstance(value, Relayed) else value


def _is_missing(value: object) -> bool:
    return isinstance(value, Relayed) and value.structured is None


class Violations:
    """Finds the places that a fault of a contract is about."""

    def __init__(self, registry: SchemaRegistry, secrets: Iterable[str]) -> None:
        self._registry = registry
        self._redactor = SecretRedactor(secrets)

    def of_input(self, outcome: Outcome, fault: Fault) -> list[PlaceShown]:
        """Return every place of the arguments that is wrong, ten at most; the work may take some milliseconds."""
        tool, arguments = outcome.tool, outcome.call.arguments
        if tool is None:
            return []
        io = self._registry.load_tool_io(tool.slug)
        near = io.names.near_miss(arguments) if io.names is not None and isinstance(arguments, dict) else None
        if near is not None and f"'{near[0]}'" in fault.message:
            return [
                self._shown(Violation(near[0], "additionalProperties", arguments[near[0]], fault.message, near[:1]))
            ]
        contract, tidied = io.input_validator, tool.tidied(without_nulls(arguments))
        return [self._shown(one) for one in contract.violations(tidied if not contract.is_valid(tidied) else arguments)]

    def first_place(self, entry: JournalEntry, fault: Fault) -> tuple[str, str]:
        """Return the first place that a fault of a contract is about, and the keyword; both empty if none is found."""
        if fault.stage == "output":
            return self._marked(fault)
        try:
            found = self.of_input(Outcome(entry.call, entry.tool, fault=fault), fault)
        except (LookupError, RecursionError, TypeError, ValueError):
            # Arguments that cannot be searched, or a contract that does not compile.
            return "", ""
        return (as_path(found[0].path)[:MAX_CHARS], found[0].keyword) if found else ("", "")

    def of_output(self, outcome: Outcome, fault: Fault, value: object) -> list[PlaceShown]:
        """Return every place of a result that is wrong, ten at most."""
        tool = outcome.tool
        if tool is None:
            return []
        try:
            result: Any = decode(encode(_promised(value)))
        except (TypeError, ValueError, RecursionError) as error:
            return [PlaceShown([], "", self._text(str(error)), "")]
        found = self._registry.load_tool_io(tool.slug).output_validator.violations(result)
        if isinstance(fault.__cause__, ContractError) and (not found or _is_missing(value)):
            # It is too large or not there at all, which no keyword says.
            found = [Violation(path, "", result, message) for path, message in fault.__cause__.places]
        return [self._shown(one) for one in found]

    def _marked(self, fault: Fault) -> tuple[str, str]:
        """Return the first place of a result and the keyword, as the fault has them: the result is not kept."""
        marks = fault.__cause__.marks if isinstance(fault.__cause__, ContractError) else ()
        return (self._text(as_path(marks[0].steps)), self._text(marks[0].keyword)) if marks else ("", "")

    def _shown(self, one: Violation) -> PlaceShown:
        steps = [step if isinstance(step, int) else self._text(step) for step in one.steps]
        value = msgspec.json.encode(one.value).decode()
        return PlaceShown(steps, one.keyword, self._message(one.message), self._text(value))

    def _text(self, text: str) -> str:
        """Return the beginning of a text; masked first, as half a secret would not be found."""
        cut = self._redactor.beginning(text, MAX_CHARS)
        return cut if len(text) <= MAX_CHARS else f"{cut}…"

    def _message(self, text: str) -> str:
        """Return a message that may repeat a long value: behind the value stands the reason."""
        half = MAX_CHARS // 2
        if len(text) <= MAX_CHARS:
            return self._text(text)
        return f"{self._redactor.beginning(text, half)}…{self._redactor.text(text[-4 * MAX_CHARS :])[-half:]}"
