"""Operations as tools: names, texts, contracts and annotations of each, from the document alone.

paths ── candidates ── selection ── plan_document ── OperationPlan each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from signet.system.text import REPLACEMENT, fit, one_line, printable

from .cutting import Cutter, takes_null
from .document import Library, RefusedReferenceError
from .failure import DocumentError, Notes, shown
from .inputs import ToolInput, read_input
from .naming import ToolName, tool_names
from .outputs import ANY, ToolOutput, read_output
from .plan import DocumentPlan, OperationPlan
from .references import Node, resolve
from .schema import SchemaSet
from .security import plan_schemes, plan_security
from .selection import FLAGS, FORMS, Candidate, Ways, select
from .servers import plan_servers

__all__ = ["plan_document"]

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
READING: Final = ("get", "head", "options")
MAX_TITLE_CHARS: Final = 100
MAX_DESCRIPTION_CHARS: Final = 2_000
MAX_OUTPUT_BYTES: Final = 262_144
"""The largest output contract; a larger one says only that the result is an object."""
MAX_BUNDLES_BYTES: Final = 67_108_864


class _Entry(NamedTuple):
    """An operation of a document, and the path that it belongs to."""

    method: str
    path: str
    item: Node
    operation: Node


class _Planner:
    """Makes the plans of one document."""

    def __init__(self, library: Library, root: Node, prefix: str, ways: Ways, *, is_3_0: bool) -> None:
        self.notes = Notes()
        self.schemas = SchemaSet(library, self.notes, is_3_0=is_3_0)
        self.schemes = plan_schemes(library, root, self.notes)
        self._library = library
        self._root = root
        self._prefix = prefix
        self._ways = ways
        self._requests = Cutter(self.schemas, "request")
        self._responses = Cutter(self.schemas, "response")
        self._bytes = 0

    def plan(self, entry: _Entry, name: ToolName) -> OperationPlan:
        """Return the plan of one operation."""
        where = f"{entry.method.upper()} {shown(entry.path)}"
        operation, item = entry.operation, entry.item
        made = read_input(
            self._library,
            self.schemas,
            self.notes,
            where,
            path=entry.path,
            parameters=[item.at("parameters"), operation.at("parameters")],
            body=operation.at("requestBody") if entry.method not in {"get", "head"} else Node(None, ""),
        )
        output = read_output(self._library, self.schemas, self.notes, where, operation.at("responses"))
        slug = f"{self._prefix}.{name.slug}"
        own = operation.at("servers") if operation.at("servers").value else item.at("servers")
        given = operation.value
        return OperationPlan(
            name=name.name,
            slug=slug,
            title=_line(given.get("summary")) or name.name,
            description=_description(given, where),
            method=entry.method.upper(),
            path=entry.path,
            parameters=tuple(made.parameters),
            body=made.body,
            accept=output.accept,
            is_wrapped=output.is_wrapped,
            servers=plan_servers(own),
            security=plan_security(operation.at("security"), self._root.at("security"), self.schemes),
            annotations=_annotations(entry.method),
            keeps_nulls=self._keeps_nulls(made),
            bundle=self._bundle(slug, made, output, where),
        )

    def _keeps_nulls(self, made: ToolInput) -> tuple[str, ...]:
        """Return the arguments of a body to which null is a value; a parameter that is null is not sent."""
        sent = {one.argument for one in made.parameters}
        return tuple([
            name
            for name, schema in made.properties.items()
            if name not in sent and takes_null(self.schemas, schema)
        ])  # fmt: skip

    def _bundle(self, slug: str, made: ToolInput, output: ToolOutput, where: str) -> msgspec.Raw:
        schema: dict[str, Any] = {"type": "object", "properties": made.properties}
        schema |= {"required": made.required} if made.required else {}
        schema |= {"dependentRequired": made.dependent} if made.dependent else {}
        taken, result = self._requests.part(schema), self._responses.part(output.schema)
        if needed := self._requests.definitions(taken):
            taken["$defs"] = needed
        definitions = self._responses.definitions(result)
        if self._responses.size(definitions) + len(msgspec.json.encode(result)) > MAX_OUTPUT_BYTES:
            self.notes.add(
                f"the output of {where} is not checked: its schema is larger than {MAX_OUTPUT_BYTES:,} bytes"
            )
            result = ANY
        elif definitions:
            result = {**result, "$defs": definitions}
        bundle = msgspec.json.encode({"tool": slug, "input": taken, "output": result})
        self._bytes += len(bundle)
        if self._bytes > MAX_BUNDLES_BYTES:
            choice = f"{self._ways.include}{FORMS}"
            raise DocumentError(f"the schemas of the operations are too large together: choose fewer with {choice}")
        return msgspec.Raw(bundle)


def plan_document(library: Library, name: str, include: Sequence[str], ways: Ways = FLAGS) -> DocumentPlan:
    """Return the plan of a document's tools; raise DocumentError if it cannot be used."""
    root = Node(library.value(library.root), library.root)
    version = _version(root.value)
    info = root.at("info")
    planner = _Planner(library, root, name.replace("-", "_"), ways, is_3_0=version.startswith("3.0"))
    entries = list(_entries(library, root, planner.notes))
    chosen = select([_candidate(one) for one in entries], include, ways)
    # Of all of them, so that a name does not depend on the choice.
    names = tool_names((one.method, one.path, one.operation.at("operationId").value) for one in entries)
    return DocumentPlan(
        operations=tuple([planner.plan(entries[place], names[place]) for place in chosen]),
        title=_line(info.at("title").value) or name,
        version=_line(info.at("version").value),
        servers=plan_servers(root.at("servers")) or plan_servers(Node([{"url": "/"}], root.base)),
        schemes=planner.schemes,
        notes=tuple(planner.notes.texts()),
        sources=dict(library.digests),
    )


def _version(root: Any) -> str:
    if not isinstance(root, dict):
        raise DocumentError("it is no OpenAPI document: it is no object")
    version = root.get("openapi")
    if isinstance(version, str) and version.startswith(("3.0", "3.1", "3.2")):
        return version
    if "swagger" in root:
        advice = "convert it once to OpenAPI 3, for example with the program swagger2openapi"
        raise DocumentError(f"it is a document of Swagger {shown(root['swagger'])}: {advice}")
    raise DocumentError("it is no OpenAPI document: it has no openapi: 3.0 or 3.1")


def _entries(library: Library, root: Node, notes: Notes) -> Iterator[_Entry]:
    paths = root.at("paths")
    for path in paths.value if isinstance(paths.value, dict) else ():
        try:
            item = resolve(library, paths.at(path))
        except RefusedReferenceError as error:
            notes.add(f"the path {shown(path)} is not served: {error}")
            continue
        if isinstance(item.value, dict) and path.startswith("/"):
            for method in METHODS:
                if isinstance(item.value.get(method), dict):
                    yield _Entry(method, path, item, item.at(method))


def _candidate(entry: _Entry) -> Candidate:
    tags, known = entry.operation.at("tags").value, entry.operation.at("operationId").value
    texts = tuple([tag for tag in tags if isinstance(tag, str)]) if isinstance(tags, list) else ()
    return Candidate(entry.method, entry.path, known if isinstance(known, str) else "", texts)


def _annotations(method: str) -> dict[str, bool]:
    found = {"openWorldHint": True}
    if method in READING:
        found |= {"readOnlyHint": True, "idempotentHint": True}
    if method in {"put", "delete"}:
        found |= {"readOnlyHint": False, "idempotentHint": True}
    return found | ({"destructiveHint": True} if method == "delete" else {})


def _line(text: Any) -> str:
    """Return a text on one line, without characters that are not seen, and short."""
    if not isinstance(text, str):
        return ""
    plain = one_line(text[: 10 * MAX_TITLE_CHARS])
    return fit(plain, MAX_TITLE_CHARS)


def _description(operation: dict[str, Any], where: str) -> str:
    summary, text = (str(operation.get(name) or "").strip() for name in ("summary", "description"))
    told = "\n\n".join(dict.fromkeys(filter(None, [summary, text]))) or where
    told = printable(told, keep="\n\t", substitute=REPLACEMENT)
    if operation.get("deprecated") is True:
        told = f"Deprecated. {told}"
    return told if len(told) <= MAX_DESCRIPTION_CHARS else f"{told[: MAX_DESCRIPTION_CHARS - 1].rstrip()}…"
