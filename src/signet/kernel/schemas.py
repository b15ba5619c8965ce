"""Contracts: JSON Schemas (Draft 2020-12) read from one folder and compiled when first needed.

    schema_root/envelope.schema.json       the request envelope
    schema_root/tool_io.schema.json        the shape of a bundle
    schema_root/tools/<slug>.json          one bundle per tool: {tool, input, output}
    tool_root/tools/<slug>.json            the same, for a toolset that brings its own contracts

This is the only kernel module that reads files, and it reads only below these folders.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import msgspec

from .arguments import ArgumentNames, names_in, plain_view, without_nulls
from .spending import MAX_WORK, STEP_WORK, OverBudgetError, Spending

if TYPE_CHECKING:
    from os import PathLike

    from jsonschema_rs import Draft202012Validator

    from .parts import Parts
    from .places import Mark, Place, Violation

__all__ = ["PREFIX", "Bundle", "Contract", "ContractError", "SchemaRegistry", "ToolIO", "slug_of"]

PREFIX: Final = "mcp.tool:"
"""The prefix that turns a tool's slug into its canonical id."""

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
DIALECTS: Final = frozenset(
    f"{scheme}://json-schema.org/{draft}schema"
    for scheme in ("http", "https")
    for draft in ("", "draft-04/", "draft-06/", "draft-07/", "draft/2019-09/", "draft/2020-12/")
)
"""The `$schema` of each draft that is validated here; an empty fragment may stand behind it."""

ANY_OBJECT: Final = {"type": "object"}  # rule: 5.registry.missing-output
"""The output contract of a bundle that has none."""


ANYTHING: Final = b"{}"
"""The schema in the place of one that checks nothing."""


class ContractError(ValueError):
    """A value breaks its contract at `places`; in development mode `violations` tells them in full.

    `marks` are the places and keywords without values, where they are told to others than the author.
    """

    def __init__(
        self, places: list[Place], violations: list[Violation] | None = None, marks: Sequence[Mark] = ()
    ) -> None:
        super().__init__("; ".join(f"{path}: {message}" if path else message for path, message in places))
        self.places = places
        self.violations = violations or []
        self.marks = marks


class Contract:
    """One compiled JSON Schema, with what it may cost to check a value."""

    __slots__ = (
        "_compile",
        "_parts",
        "_plain",
        "_schema",
        "_validator",
        "_wider",
        "fingerprint",
        "free_bytes",
        "is_valid_at_once",
    )

    def __init__(self, schema: Any, fingerprint: str, draft: Any = None) -> None:
        """Compile a schema; `draft` is the validator's class where the schema is of an older draft.

        Raises:
            ValueError: the schema cannot be compiled, or is over its budget.
        """
        import jsonschema_rs

        from .schema_budget import check_budget

        budget = check_budget(schema, len(msgspec.json.encode(schema)))
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=budget.steps)
        self._schema = schema
        # rule: 5.registry.draft
        of_draft = partial(draft or jsonschema_rs.Draft202012Validator, pattern_options=options)
        self._compile = partial(_compiled, of_draft)
        validator: Draft202012Validator = self._compile(schema, retriever=_no_network)
        self.is_valid_at_once: Callable[[object], bool] = validator.is_valid  # rule: 5.registry.pure
        """Return whether a value keeps the contract; for values of `free_bytes` at most, as JSON."""
        self.free_bytes = budget.free_bytes
        self._validator = validator
        self._parts: Parts | None = None
        self._plain: tuple[Parts, frozenset[str]] | None = None
        self._wider: Contract | None = None
        self.fingerprint = fingerprint

    def widen(self, other: Contract) -> None:
        """Take what another contract takes too; of what neither takes, the places are those of this one."""
        self._wider = other
        self.is_valid_at_once = partial(_is_either, self.is_valid_at_once, other.is_valid_at_once)
        self.free_bytes = min(self.free_bytes, other.free_bytes)

    def is_valid(self, instance: object, work: int = MAX_WORK) -> bool:
        """Return whether a value keeps the contract; one that takes more than some work to be checked does not.

        Raises:
            OverBudgetError: without any such work, the value takes more steps than one to be checked.
        """
        if len(msgspec.json.encode(instance)) <= self.free_bytes:
            return self.is_valid_at_once(instance)
        try:
            is_valid = self._in_parts().keeps("", self._schema, instance, Spending(work or STEP_WORK))
        except OverBudgetError:
            if not work:
                raise
            is_valid = False
        return is_valid or (self._wider is not None and self._wider.is_valid(instance, work))

    def places(self, instance: object) -> list[Place]:
        """Return the places where a value breaks the contract, the first ten at most."""
        from .places import find_places

        parts, nullable = self._plain_view()
        return find_places(parts, without_nulls(instance, nullable))

    def violations(self, instance: object) -> list[Violation]:
        """Return the same places with the keyword and the value of each."""
        from .places import find_violations

        parts, nullable = self._plain_view()
        return find_violations(parts, without_nulls(instance, nullable))

    def _in_parts(self) -> Parts:
        if self._parts is None:
            from .parts import Parts

            self._parts = Parts(self._schema, self._compile, self._validator)
        return self._parts

    def _plain_view(self) -> tuple[Parts, frozenset[str]]:
        if self._plain is None:
            schema, nullable = plain_view(self._schema)
            if schema is self._schema:
                parts = self._in_parts()
            else:
                from .parts import Parts

                parts = Parts(schema, self._compile, self._compile(schema, retriever=_no_network))
            self._plain = parts, nullable
        return self._plain

    def validate(self, instance: object) -> None:
        """Raise ContractError, which holds each place, if a value breaks the contract.

        Where the program has loaded `jsonschema`, the error is a `jsonschema.ValidationError` too.
        """
        if not self.is_valid(instance):
            raise _error_class()(self.places(instance))  # rule: 5.registry.places


def _is_either(first: Callable[[object], bool], second: Callable[[object], bool], value: object) -> bool:
    return first(value) or second(value)


class ToolIO(msgspec.Struct, frozen=True):
    """The two compiled contracts of a tool."""

    input_validator: Contract
    output_validator: Contract
    names: ArgumentNames | None = None
    """The names of the arguments, where the input has no further ones."""
    promises_output: bool = True
    """Whether the tool has an output contract; a wrapped server's tool may have none."""


class Bundle(msgspec.Struct, frozen=True):
    """The contracts of one tool, kept as raw JSON so that they are published as written."""

    tool: str
    input: msgspec.Raw
    output: msgspec.Raw = msgspec.Raw(msgspec.json.encode(ANY_OBJECT))


class SchemaRegistry:
    """The contracts below some folders; equal schemas are compiled once and shared by fingerprint."""

    def __init__(
        self,
        *,
        schema_root: str | PathLike[str],
        tool_roots: tuple[str, ...] = (),
        derived: Mapping[str, bytes] | None = None,
    ) -> None:
        self.schema_root = str(schema_root)  # rule: 5.registry.root
        self._derived = derived or {}
        """The bundles of tools whose contracts come from types, by slug."""
        self._tool_roots = (self.schema_root, *tool_roots)
        self._contracts: dict[str, Contract] = {}
        self._bundles: dict[str, Bundle] = {}
        self.compiled: dict[str, ToolIO] = {}
        """Both contracts of each tool that was called, by slug and by canonical id."""
        self._envelope: Contract | None = None
        self._compilers: Mapping[str, Callable[[], ToolIO]] = {}
        self.unchecked: set[tuple[str, str]] = set()
        """The slugs and sides (`input`, `output`) of the schemas that check nothing."""

    def put(self, bundles: Mapping[str, Bundle], compilers: Mapping[str, Callable[[], ToolIO]]) -> None:
        """Hold the contracts of wrapped servers' tools, by slug, with what compiles each when it is first needed."""
        for slug in self._compilers.keys() - compilers.keys():
            self._bundles.pop(slug, None)
        dropped = self._compilers.keys() | compilers.keys()
        self._bundles |= bundles
        self._compilers = compilers
        for slug in dropped:
            self.compiled.pop(slug, None)
            self.compiled.pop(PREFIX + slug, None)

    def load_envelope(self) -> Contract:
        """Return the contract of a request envelope."""
        if self._envelope is None:
            self._envelope = self._contract_in("envelope.schema.json")
        return self._envelope

    def load_tool_io(self, tool_id: str) -> ToolIO:
        """Return both contracts of a tool, which is named by slug or by canonical id.

        Raises:
            KeyError: there is no such tool.
            ValueError: the tool's bundle breaks tool_io.schema.json, or holds a schema that cannot be compiled.
        """
        io = self.compiled.get(tool_id)  # rule: 5.registry.same-object
        return io if io is not None else self._compile_tool(slug_of(tool_id))

    def load_bundle(self, tool_id: str) -> Bundle:
        """Return a tool's contracts as written, without compiling them; `tools/list` needs no more.

        Raises:
            KeyError: there is no such tool.
            ValueError: the bundle cannot be read, or describes another tool.
        """
        slug = slug_of(tool_id)
        if slug not in self._bundles:
            path = f"tools/{slug}.json"  # rule: 5.registry.bundle-location
            try:
                # On one line: contracts are published in stdio messages, which end at a line break.
                # rule: @SchemaRegistry.load_bundle
                bundle = msgspec.json.decode(msgspec.json.format(self._read_tool(path), indent=-1), type=Bundle)
            except FileNotFoundError:
                raise KeyError(tool_id) from None
            except msgspec.DecodeError as error:
                _refuse(path, error)
            if bundle.tool != slug:  # rule: 5.registry.broken-bundle/2
                _refuse(path, f"it describes {bundle.tool!r}")
            self._bundles[slug] = bundle
        return self._bundles[slug]

    def _compile_tool(self, slug: str) -> ToolIO:
        if slug in self._compilers:
            io = self.compiled[slug] = self.compiled[PREFIX + slug] = self._compilers[slug]()
            return io
        bundle = self.load_bundle(slug)
        path = f"tools/{slug}.json"  # rule: 5.registry.bundle-location/2
        places = self._contract_in("tool_io.schema.json").places(msgspec.json.decode(self._read_tool(path)))
        if places:  # rule: 5.registry.broken-bundle
            _refuse(path, ContractError(places))
        names = names_in(schema_of(bundle.input))
        taken, given = (
            self._contract(ANYTHING if (slug, side) in self.unchecked else raw, path)
            for side, raw in (("input", bundle.input), ("output", bundle.output))
        )
        io = ToolIO(taken, given, names)  # rule: 5.registry.load-tool-io
        self.compiled[slug] = self.compiled[PREFIX + slug] = io  # rule: 5.registry.slug-or-id/2
        return io

    def _contract_in(self, path: str) -> Contract:
        return self._contract(_read(f"{self.schema_root}/{path}"), path)

    def _contract(self, raw: bytes | msgspec.Raw, path: str) -> Contract:
        """Return the contract of a schema, compiled unless an equal schema has been."""
        sha256 = _sha256()
        try:
            schema = msgspec.json.decode(raw)
            _check_dialect(schema)
            # rule: 5.registry.fingerprint
            fingerprint = sha256(msgspec.json.encode(schema, order="sorted")).hexdigest()
            if fingerprint not in self._contracts:  # rule: 5.registry.same-object/2
                self._contracts[fingerprint] = Contract(schema, fingerprint)
        except ValueError as error:
            _refuse(path, error)
        return self._contracts[fingerprint]

    def _read_tool(self, path: str) -> bytes:
        """Return a derived bundle, or a bundle's file from the first folder that has it."""
        derived = self._derived.get(path.removeprefix("tools/").removesuffix(".json"))
        if derived is not None:
            return derived
        for root in self._tool_roots:
            try:
                return _read(f"{root}/{path}")
            except FileNotFoundError:
                continue
        raise FileNotFoundError(path)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def slug_of(tool_id: str) -> str:
    """Return the slug of a slug or canonical id.

    Raises:
        KeyError: the id has other characters than a slug, so that its path could leave the folder.
    """
    slug = tool_id.removeprefix(PREFIX)  # rule: 5.registry.slug-or-id
    if not slug or not set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789_."):  # rule: 5.registry.unknown-tool
        raise KeyError(tool_id)
    return slug


def _error_class() -> type[ContractError]:
    """Return ContractError, as a subclass of `jsonschema.ValidationError` where that package has been loaded."""
    loaded = sys.modules.get("jsonschema.exceptions")
    return ContractError if loaded is None else _shared_class(loaded.ValidationError)


@cache
def _shared_class(other: Any) -> type[ContractError]:
    def initialize(self: ContractError, places: list[Place]) -> None:
        ContractError.__init__(self, places)
        first = places[0][0] if places else ""
        other.__init__(self, ContractError.__str__(self), path=first.split(".") if first else ())

    return type("ContractError", (ContractError, other), {"__init__": initialize, "__module__": __name__})


def _compiled(draft: Callable[..., Draft202012Validator], schema: Any, **more: Any) -> Draft202012Validator:
    """Compile a schema; raise ValueError if it cannot be."""
    try:
        return draft(schema, **more)
    except BaseException as error:
        if type(error).__module__ == "pyo3_runtime":
            # A panic of the native validator does not derive from Exception.
            raise ValueError("the validator has given up on it") from None
        raise


def _no_network(uri: str) -> NoReturn:
    raise ValueError(f"a contract may not refer to {uri}")


@cache
def _sha256() -> Callable[[bytes], Any]:
    """Return SHA-256 as Python brings it along; `hashlib` would load OpenSSL, which takes 4 MB."""
    for module in ("_sha2", "_sha256", "hashlib"):  # the first since Python 3.12, the second before
        with suppress(ImportError):
            return cast("Callable[[bytes], Any]", import_module(module).sha256)
    raise ImportError("there is no SHA-256")


def _check_dialect(schema: object) -> None:
    """Raise ValueError for a dialect that is no draft, of a schema or of one in it: its vocabularies are not known."""
    unseen = [schema]
    while unseen:
        value = unseen.pop()
        unseen += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if not isinstance(value, dict) or "$schema" not in value or not (value is schema or "$id" in value):
            # Below the root, only a schema with an id of its own may have a dialect of its own.
            continue
        dialect = value["$schema"]
        if not (isinstance(dialect, str) and dialect.removesuffix("#") in DIALECTS):
            raise ValueError(f"its $schema {dialect!r} is not a draft of JSON Schema; leave it out, or name {DRAFT}")


def _refuse(path: str, why: object) -> NoReturn:
    raise ValueError(f"the contract {path} is not usable: {why}")


def schema_of(raw: msgspec.Raw) -> dict[str, Any]:
    """Return the decoded schema of a raw contract."""
    schema: dict[str, Any] = msgspec.json.decode(raw)
    return schema
