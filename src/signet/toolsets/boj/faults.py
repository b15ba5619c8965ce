"""Faults of the Bank of Japan toolset, with the data that spec 3 promises, and the Bank's own message codes.

    validation ─── nothing was sent                INVALID_INPUT    {error_type, message}
    refused ────── the Bank refused the request    INVALID_INPUT    {error_type, status, message_id, message,
                                                                    meaning?, hint?}
                                                   (status 400; any other is INTERNAL_ERROR)
    transport ──── no response of the Bank         INTERNAL_ERROR   {error_type, message}
    undecodable ── an unreadable response          INTERNAL_ERROR   {error_type, message}
    too_large ──── a response over the limits      INTERNAL_ERROR   {error_type, message, hint}

Each is a tool result, with its data in `_meta`, so that it reaches the model; `boj-mcp-server` makes JSON-RPC errors of
them, as spec 3 has it. A remedy is a template: callers of the tools read
`TOOL_NAMES` in it, and a command may render `Fault.wording` with names of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault, Wording
from signet.system.text import cut

__all__ = ["bank_messages", "refused", "too_large", "transport", "undecodable", "validation"]

BAD_REQUEST: Final = 400
MAX_CHARS: Final = 1_000
"""The limit of a text from outside; the rest is cut off."""

_ARGUMENTS: Final = ("codes", "db", "end_date", "frequency", "lang", "layers", "start_date")
TOOL_NAMES: Final = {
    **{name: name for name in ("boj_get_metadata", *_ARGUMENTS)},
    "layers_example": '["1", "*", "2"]',
    # Whole sentences, because a command may have no such parameter.
    "fix_format": "Give format as json or csv, or leave it out.",
    "fix_position": "Give start_position as the next_position of the answer before, or leave it out.",
    "without_raw": ", and without include_raw",
}
"""The names of the parameters of a remedy, for callers of the tools."""


class BankMessage(msgspec.Struct, frozen=True):
    """One of the messages that the Bank answers with."""

    id: str
    status: int
    japanese: str
    """The Bank's text; `{n}` stands for the place of a code in the list that was sent."""
    english: str
    """The same; the Bank has shown six of these texts, and the sandbox needs the others."""
    meaning: str
    remedy: str | None = None
    """The remedy, as a template."""

    @property
    def hint(self) -> str | None:
        """The remedy for callers of the tools."""
        return None if self.remedy is None else self.remedy.format_map(TOOL_NAMES)


@cache
def bank_messages() -> dict[str, BankMessage]:
    """Return the 24 messages of the Bank's manual by id, in the order of status and number."""
    from importlib.resources import files

    messages = msgspec.json.decode((files(__package__) / "messages.json").read_bytes(), type=list[BankMessage])
    return {message.id: message for message in messages}


def validation(message: str, wording: Wording | None = None) -> Fault:
    """Return the fault for a query that breaks a rule and was not sent."""
    # rule: 3.errors.validation
    return _fault(Code.INVALID_INPUT, message, "VALIDATION_ERROR", wording, message=message)


def transport(detail: str) -> Fault:
    """Return the fault for a request that got no response from the Bank."""
    detail = cut(detail, MAX_CHARS)
    text = f"The Bank of Japan could not be asked: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "TRANSPORT_ERROR", message=detail)  # rule: 3.errors.transport


def undecodable(detail: str) -> Fault:
    """Return the fault for a response that cannot be read."""
    detail = cut(detail, MAX_CHARS)
    text = f"The answer of the Bank of Japan cannot be read: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "DECODE_ERROR", message=detail)  # rule: 3.errors.decode


def too_large(detail: str, remedy: str) -> Fault:
    """Return the fault for a response over the limits, with a remedy (a template) that asks for less."""
    wording = _with_remedy(f"The answer of the Bank of Japan is too large: {detail}", remedy)
    hint = remedy.format_map(TOOL_NAMES)
    text = wording.render(TOOL_NAMES)
    return _fault(Code.INTERNAL_ERROR, text, "DECODE_ERROR", wording, message=detail, hint=hint)


def refused(status: int, message_id: str, message: str) -> Fault:
    """Return the fault for the Bank's refusal, with a remedy if the message code is known."""
    message_id, message = cut(message_id, MAX_CHARS), cut(message, MAX_CHARS)
    known = bank_messages().get(message_id)
    is_bad = status == BAD_REQUEST
    code = Code.INVALID_INPUT if is_bad else Code.INTERNAL_ERROR  # rule: 3.errors.api-400
    head = "The Bank of Japan refuses the request" if is_bad else "The Bank of Japan answers with an error"
    meaning = f" ({known.meaning})" if known else ""
    wording = _with_remedy(f"{head}: status {status} {message_id} {message}{meaning}", known.remedy if known else None)
    facts = {"status": status, "message_id": message_id, "message": message}  # rule: 3.errors.data
    if known:
        # The message is in Japanese unless English was asked for; its meaning is in English always.
        facts |= {"meaning": known.meaning, "hint": known.hint}  # rule: 3.errors.hint
    return _fault(code, wording.render(TOOL_NAMES), "API_ERROR", wording, **facts)


def _fault(code: Code, text: str, error_type: str, wording: Wording | None = None, **facts: Any) -> Fault:
    data = {"error_type": error_type, **{name: fact for name, fact in facts.items() if fact is not None}}
    return Fault(code, text, as_tool_result=True, data=data, wording=wording)


def _with_remedy(text: str, remedy: str | None) -> Wording:
    return Wording("{text}" if remedy is None else "{text}. " + remedy, {"text": text})
