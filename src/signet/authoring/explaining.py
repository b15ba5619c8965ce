"""Development mode's answer to a fault: the exception with its traceback, and each violation in full.

Production has no explainer, so that nothing here is computed, and no text of an exception leaves the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Outcome
from signet.kernel.places import Violation
from signet.kernel.schemas import ContractError, SchemaRegistry
from signet.system.redaction import SecretRedactor
from signet.system.text import cut

from .traces import own_trace, summary

__all__ = ["Explainer"]

MAX_VALUE_CHARS: Final = 200
"""The JSON of a value that is shown; a longer one is cut."""
MAX_TEXT_CHARS: Final = 1_000
"""The text of an exception that is shown."""
MAX_TRACE_CHARS: Final = 16_000
"""The end of a traceback that is shown."""


class Explainer:
    """Gives faults their details; secrets are masked here too."""

    def __init__(self, registry: SchemaRegistry, secrets: Iterable[str]) -> None:
        self._registry = registry
        self._redactor = SecretRedactor(secrets)

    def __call__(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose fault is explained."""
        if outcome.fault is None:
            return outcome
        message, details = self._explain(outcome, outcome.fault)
        return msgspec.structs.replace(outcome, fault=outcome.fault.explained(message, details))

    def _explain(self, outcome: Outcome, fault: Fault) -> tuple[str, dict[str, Any]]:
        cause, tool = fault.__cause__, outcome.tool
        if fault.code is Code.INVALID_INPUT and tool is not None:
            contract = self._registry.load_tool_io(tool.slug).input_validator
            return fault.message, self._violations(contract.violations(outcome.call.arguments))
        if cause is None:
            return fault.message, {}
        text = self._cut(summary(cause), MAX_TEXT_CHARS)
        if fault.code is Code.INVALID_OUTPUT:
            violations = cause.violations if isinstance(cause, ContractError) else []
            shown = self._violations(violations)
            if "max_result_bytes" in fault.data:
                return fault.message, shown
            return f"{fault.message}: {self._in_words(shown) or text.partition(': ')[2]}", shown
        trace = self._redactor.text(own_trace(cause))[-MAX_TRACE_CHARS:]
        told = f"{tool.name} failed: {text}" if tool is not None else fault.message
        return told, {"traceback": trace}

    def _violations(self, violations: list[Violation]) -> dict[str, Any]:
        shown = [
            {
                "path": self._cut(one.path),
                "keyword": one.keyword,
                "value": self._value(one.value),
                "message": self._without_middle(one.message),
            }
            for one in violations
        ]
        return {"violations": shown} if shown else {}

    def _in_words(self, shown: dict[str, Any]) -> str:
        return "; ".join(
            f"{one['path'] or 'the result'}: {one['message']}" + (f" ({one['keyword']})" if one["keyword"] else "")
            for one in shown.get("violations", ())
        )

    def _value(self, value: Any) -> Any:
        """Return a short value as it is, and the beginning of the JSON of a long one."""
        text = self._cut(msgspec.json.encode(value).decode())
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            # It is cut, or was a secret.
            return text

    def _without_middle(self, text: str) -> str:
        """Return a message that may repeat a long value: behind the value stands the reason."""
        text, half = self._redactor.text(text), MAX_VALUE_CHARS // 2
        return text if len(text) <= MAX_VALUE_CHARS else f"{text[:half]}…{text[-half:]}"

    def _cut(self, text: str, chars: int = MAX_VALUE_CHARS) -> str:
        """Return the beginning of a text; masked first, as half a secret would not be found."""
        text = self._redactor.text(text)
        return cut(text, chars)
