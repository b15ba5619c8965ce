"""A toolset made from declarations: each function a `Tool` with the contract of its types."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from signet.kernel.tools import MAX_RESULT_BYTES, Tool
from signet.kernel.toolset import CorpusRow, Toolset
from signet.settings.fields import settings_of

from .contract import ContractTypeError, derive
from .declaration import ToolDeclaration, ToolsetDeclaration, declared
from .running import make_run

__all__ = ["FOLDER", "DeclarationError", "build_toolset", "toolset_name"]

NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
SLUG: Final = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a new word begins in a name such as `getHTTPPage`."""
FOLDER: Final = "contracts"
"""The folder with frozen contracts, beside the code."""


class DeclarationError(Exception):
    """A toolset cannot be made from its declarations; the text says what to write."""


class _Made(msgspec.Struct, frozen=True):
    """A tool, and the contract that its types say."""

    declaration: ToolDeclaration
    tool: Tool
    bundle: bytes


def build_toolset(toolset: ToolsetDeclaration, schema_root: str | None, *, is_part: bool = False) -> Toolset:
    """Return a toolset with its tools and their derived contracts.

    Args:
        toolset: what the author declared.
        schema_root: the folder in which the contracts are frozen, or would be.
        is_part: whether they are frozen together with those of other tools.

    Raises:
        DeclarationError: a name is taken or cannot be used, or a type cannot be a contract.
    """
    if not NAME.fullmatch(toolset.name):
        message = f"'{toolset.name}' cannot name a toolset: write small letters, digits, _ and -, a letter first"
        raise DeclarationError(message)
    _check_settings(toolset)
    _encoded([toolset.title, toolset.instructions, toolset.version], f"the toolset {toolset.name}")
    made = _make_all(toolset)
    return Toolset(
        name=toolset.name,
        title=toolset.title or toolset.name,
        tools=lambda: tuple([one.tool for one in made]),
        instructions=toolset.instructions,
        settings=toolset.settings,
        version=toolset.version,
        corpus=lambda: _corpus(made),
        bundles=lambda: {one.tool.slug: one.bundle for one in made},
        schema_root=schema_root,
        has_services=True,
        secrets=_secrets,
        is_part=is_part,
    )


def _secrets() -> Iterable[str]:
    """Return the secrets of the services that were declared; where none was, its module is not loaded for that."""
    services = sys.modules.get(f"{__package__}.services")
    return services.declared_secrets() if services is not None else ()


def _check_settings(toolset: ToolsetDeclaration) -> None:
    """Raise DeclarationError if the settings are no struct, or their types cannot be read."""
    struct = toolset.settings
    if not (isinstance(struct, type) and issubclass(struct, msgspec.Struct)):
        advice = f"write class {_title(toolset.name)}Settings(msgspec.Struct)"
        raise DeclarationError(f"settings= of the toolset {toolset.name} is no class of settings: {advice}")
    try:
        settings_of(struct)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        advice = "import or define what they name"
        raise DeclarationError(f"the types of {struct.__name__} cannot be read ({error}): {advice}") from None


def _make_all(toolset: ToolsetDeclaration) -> list[_Made]:
    made: list[_Made] = []
    for function in toolset.tools:
        declaration = function if isinstance(function, ToolDeclaration) else declared(function)
        if declaration is None:
            raise DeclarationError(
                f"{function!r} in the toolset {toolset.name} is no tool: decorate it with @signet.tool"
            )
        one = _make(toolset, declaration)
        for other in made:
            if one.tool.name == other.tool.name or one.tool.slug == other.tool.slug:
                both = f"{_place(other.declaration)} and {_place(declaration)}"
                message = f"there are two tools {one.tool.name}, {both}: rename one, or give it name= and slug="
                raise DeclarationError(message)
        made.append(one)
    return made


def _make(toolset: ToolsetDeclaration, declaration: ToolDeclaration) -> _Made:
    slug = declaration.slug or f"{_snake(toolset.name)}.{_snake(declaration.name)}"
    if not SLUG.fullmatch(slug):
        message = (
            f"'{slug}' cannot be the slug of {_place(declaration)}: give it slug= with small letters, digits, _ and ."
        )
        raise DeclarationError(message)
    try:
        contract = derive(declaration)
    except ContractTypeError as error:
        raise DeclarationError(f"{_place(declaration)} cannot be a tool: {error}") from None
    place = _place(declaration)
    bundle = _encoded({"tool": slug, "input": contract.input, "output": contract.output}, place)
    _encoded([declaration.name, declaration.title, contract.description, declaration.example], place)
    tool = Tool(
        name=declaration.name,
        slug=slug,
        title=declaration.title or _title(declaration.name),
        description=contract.description,
        args=contract.args,
        is_strict=True,
        run=make_run(declaration, contract),
        example=declaration.example or {},
        has_example=declaration.example is not None,
        keeps_nulls=contract.nullable,
        annotations=declaration.annotations,
        public=declaration.public,
        max_result_bytes=declaration.max_result_bytes,
        validate_in_thread=declaration.max_result_bytes > MAX_RESULT_BYTES,
        defined_at=_defined_at(declaration),
    )
    return _Made(declaration, tool, bundle)


def _encoded(said: Any, place: str) -> bytes:
    """Return what is published as JSON; raise DeclarationError if it cannot be written."""
    try:
        return msgspec.json.encode(said)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"what {place} says cannot be written in JSON ({error}): mend its texts, its example or its types"
        raise DeclarationError(message) from None


def _corpus(made: Sequence[_Made]) -> Sequence[CorpusRow]:
    """Return the authors' examples: only these are ever run."""
    return [(one.tool.name, one.tool.name, one.tool.example) for one in made if one.tool.has_example]


def _place(declaration: ToolDeclaration) -> str:
    place = _defined_at(declaration)
    where = f" ({place[0].rpartition('/')[2]}:{place[1]})" if place else ""
    return f"{declaration.function.__qualname__}{where}"


def _defined_at(declaration: ToolDeclaration) -> tuple[str, int] | None:
    code = getattr(inspect.unwrap(declaration.function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


@cache
def _snake(name: str) -> str:
    return WORDS.sub("_", name).replace("-", "_").lower()


def _title(name: str) -> str:
    words = _snake(name).replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def toolset_name(stem: str) -> str:
    """Return the name of the toolset of a file or module."""
    name = re.sub(r"[^a-z0-9]+", "_", _snake(stem)).strip("_")
    return name if name[:1].isalpha() else f"tools_{name}".rstrip("_")
