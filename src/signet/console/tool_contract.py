"""The contract of a tool on its page: its fields, the examples that keep it, and the smallest arguments.

A schema that somebody else wrote is read in a child process alone: a short one can take minutes and all memory, and the
server itself only passes its text on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.schema_budget import check_budget
from signet.kernel.schemas import Bundle
from signet.kernel.wire import encode
from signet.proofs.asking import Function, TooHardError, WorkerAsker

from .comparison import Questions
from .contract_fields import ContractField, contract_field
from .how_to_call import can_be_written
from .shown import Shown

__all__ = ["ShownContract", "ToolExample", "example_in_child", "fields_in_child", "foreign_contract", "own_contract"]

MAX_EXAMPLES: Final = 8
MAX_SCHEMA_BYTES: Final = 1 << 20
"""A larger schema is not shown."""
PAGE_S: Final = 3.0
"""How long the fields of one side may take, and then the example."""
MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError)
"""The exceptions of a keyword whose value has a wrong type."""
NOT_USABLE: Final = "it is not a usable schema"
MAX_FIELD_BYTES: Final = 2 << 20


class ToolExample(Shown, frozen=True):
    """Arguments to try."""

    name: str
    arguments: dict[str, Any]


class ShownContract(msgspec.Struct, frozen=True):
    """What the page of a tool shows of its contract; in the place of each part may be its JSON text."""

    input: Any
    output: Any
    input_schema: Any
    output_schema: Any
    examples: list[ToolExample]
    smallest: dict[str, Any]
    """Simple arguments that keep the contract; none where none are found."""


class _Question(msgspec.Struct, frozen=True):
    """An input schema, and arguments that may keep it."""

    schema: Raw
    candidates: list[ToolExample] = []


class _Found(msgspec.Struct, frozen=True):
    """The arguments that keep a schema."""

    examples: list[ToolExample] = []
    smallest: dict[str, Any] = {}


def own_contract(
    bundle: Bundle, candidates: Iterable[ToolExample], is_valid: Callable[[object], bool]
) -> ShownContract:
    """Return what is shown of the contract of an own tool."""
    takes, gives = msgspec.json.decode(bundle.input), msgspec.json.decode(bundle.output)
    examples = _held(candidates, is_valid)
    smallest = {} if examples else _smallest(takes)
    return ShownContract(contract_field(takes), contract_field(gives), takes, gives, examples, smallest)


async def foreign_contract(
    questions: Questions, bundle: Bundle, candidates: list[ToolExample], holder: str
) -> ShownContract:
    """Return the view of a foreign contract; a part that is too hard to show is replaced by a sentence.

    Raises:
        Fault: too many others are asking.
    """
    asked = encode(_Question(bundle.input, candidates))
    key = hashlib.sha256(b"%d " % len(asked) + asked + bytes(bundle.output)).digest()

    def work(asker: WorkerAsker) -> bytes:
        sides = [_fields(asker, bytes(raw)) for raw in (bundle.input, bundle.output)]
        found = b"" if bytes(sides[0])[:1] == b'"' else _asked(asker, example_in_child, asked)
        return encode([*sides, Raw(found if isinstance(found, bytes) and found else b"{}")])

    answer = await questions.answer(key, work, holder)
    takes, gives, found = msgspec.json.decode(answer, type=tuple[Raw, Raw, _Found])
    return ShownContract(
        _as_field(takes),
        _as_field(gives),
        _as_schema(takes, bundle.input),
        _as_schema(gives, bundle.output),
        found.examples,
        found.smallest,
    )


def _asked(asker: WorkerAsker, function: Function, question: bytes) -> bytes | str:
    """Return what a child answers, or why it does not."""
    try:
        return asker.ask(function, question, PAGE_S)
    except TooHardError as error:
        return f"it is nested too deeply, or needs more than {error}"


def _fields(asker: WorkerAsker, schema: bytes) -> Raw:
    """Return the fields of a schema as JSON, or as a JSON string why they are not shown."""
    if len(schema) > MAX_SCHEMA_BYTES:
        return Raw(encode(f"it is larger than {MAX_SCHEMA_BYTES >> 20} MB"))
    answer = _asked(asker, fields_in_child, schema)
    if isinstance(answer, bytes) and len(answer) > MAX_FIELD_BYTES:
        answer = f"its fields are larger than {MAX_FIELD_BYTES >> 20} MB"
    return Raw(answer if isinstance(answer, bytes) else encode(answer))


def _as_field(shown: Raw) -> Any:
    """Return the fields as their JSON text, or a field that says why they are not shown."""
    if bytes(shown)[:1] != b'"':
        return shown
    told = f"This schema is not shown: {msgspec.json.decode(shown)}."
    return ContractField("", "anything", told, True, False, False, None, [], [], [], [], [])  # noqa: FBT003 - as above


def _as_schema(shown: Raw, schema: Raw) -> Any:
    """Return a schema as its JSON text; one whose fields are not shown is not shown either."""
    if bytes(shown)[:1] != b'"':
        return schema
    return {"$comment": f"not shown: {msgspec.json.decode(shown)}"}


def fields_in_child(schema: bytes) -> bytes:
    """Return the fields of a schema, in the child."""
    decoded = msgspec.json.decode(schema)
    try:
        check_budget(decoded, 0)
    except ValueError as error:
        return encode(str(error))
    try:
        return encode(contract_field(decoded))
    except MALFORMED:
        return encode(NOT_USABLE)


def example_in_child(question: bytes) -> bytes:
    """Return which arguments keep a schema, in the child."""
    from signet.compatibility.counterexample import compiled

    asked = msgspec.json.decode(question, type=_Question)
    schema = msgspec.json.decode(asked.schema)
    try:
        examples = _held(asked.candidates, compiled(schema, formats=False).is_valid)
        return encode(_Found(examples, {} if examples else _smallest(schema)))
    except MALFORMED:
        return encode(_Found())


def _held(candidates: Iterable[ToolExample], is_valid: Callable[[object], bool]) -> list[ToolExample]:
    """Return the first examples that keep a contract, each once."""
    held: dict[bytes, ToolExample] = {}
    for one in candidates:
        written = encode(one.arguments)
        if len(held) < MAX_EXAMPLES and written not in held and is_valid(one.arguments):
            held[written] = one
    return list(held.values())


def _smallest(takes: Any) -> dict[str, Any]:
    """Return simple arguments that keep a schema and can be written into a text; none where none are found."""
    from signet.compatibility.satisfaction import example_of

    found = example_of(takes)
    return found if isinstance(found, dict) and can_be_written(found) else {}
