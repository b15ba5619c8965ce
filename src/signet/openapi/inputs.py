"""The input of a tool: the parameters of an operation and its body, merged into one object of arguments."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, get_args

import msgspec

from .document import Library, RefusedReferenceError
from .failure import Notes, shown
from .flattening import as_file, flatten, is_file
from .media import kind_of, preferred
from .naming import argument_name
from .plan import BodyPlan, FieldPlan, ParameterPlan, Place, Style
from .references import Node, resolve
from .schema import SchemaSet

__all__ = ["ToolInput", "read_input"]

STYLES: Final[dict[Place, tuple[Style, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles of each place, its default first."""
OWN_HEADERS: Final = frozenset(("accept", "content-type", "authorization", "host", "content-length", "connection",
                                "transfer-encoding", "te", "trailer", "upgrade", "expect", "cookie"))  # fmt: skip
"""The headers that no parameter sets: the specification's, and those that make a request what it is."""
HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
IN_PATH: Final = re.compile(r"\{([^{}/]+)\}")
MAX_DEPENDENT: Final = 400
ORDER: Final = {"path": 0, "query": 1, "header": 2, "cookie": 3}


class ToolInput(msgspec.Struct):
    """The arguments of a tool, and where each goes."""

    properties: dict[str, Any] = {}
    required: list[str] = []
    dependent: dict[str, list[str]] = {}
    parameters: list[ParameterPlan] = []
    body: BodyPlan | None = None


class _InputReader:
    """Reads one operation."""

    def __init__(self, library: Library, schemas: SchemaSet, notes: Notes, where: str) -> None:
        self.made = ToolInput()
        self._library = library
        self._schemas = schemas
        self._notes = notes
        self._where = where

    def parameters(self, lists: list[Node], path: str) -> None:
        """Add the parameters of a path and of its operation, which replace those of the path."""
        found: dict[tuple[str, Place], Node] = {}
        for node in lists:
            for given in node.value if isinstance(node.value, list) else ():
                try:
                    one = resolve(self._library, Node(given, node.base))
                except RefusedReferenceError as error:
                    self._notes.add(f"{self._where} is served without a parameter: {error}")
                    continue
                name, place = one.at("name").value, one.at("in").value
                if isinstance(name, str) and place in get_args(Place) and self._is_sent(name, place, path):
                    found[name, place] = one
        for name in IN_PATH.findall(path):
            found.setdefault((name, "path"), Node({"name": name, "in": "path", "schema": {"type": "string"}}, ""))
        for (name, place), one in sorted(found.items(), key=lambda pair: ORDER[pair[0][1]]):
            self._parameter(name, place, one)

    def _is_sent(self, name: str, place: str, path: str) -> bool:
        if place == "header":
            return name.lower() not in OWN_HEADERS and HEADER.fullmatch(name) is not None
        return place != "path" or name in IN_PATH.findall(path)

    def _parameter(self, name: str, place: Place, node: Node) -> None:
        argument = argument_name(name, place, self.made.properties)
        given, content = node.value, node.at("content")
        schema_node, is_as_json = node.at("schema"), False
        if schema_node.value is None and isinstance(content.value, dict) and content.value:
            schema_node, is_as_json = content.at(next(iter(content.value))).at("schema"), True
        schema = self._schemas.convert(schema_node) if schema_node.value is not None else {}
        style = given.get("style") if given.get("style") in STYLES[place] else STYLES[place][0]
        explode = given.get("explode")
        self.made.parameters.append(
            ParameterPlan(
                argument,
                name,
                place,
                style,
                explode if isinstance(explode, bool) else style == "form",
                is_reserved=given.get("allowReserved") is True and place == "query",
                is_json=is_as_json,
            )
        )
        self.made.properties[argument] = _described(schema, given)
        if given.get("required") is True or place == "path":
            self.made.required.append(argument)

    def body(self, node: Node) -> None:
        """Add the body of a request."""
        try:
            node = resolve(self._library, node)
        except RefusedReferenceError as error:
            self._notes.add(f"{self._where} is served without its body: {error}")
            return
        content = node.at("content")
        media_types = [one for one in content.value if isinstance(one, str)] if isinstance(content.value, dict) else []
        media_type = preferred(media_types)
        if not media_type:
            return
        kind, offered = kind_of(media_type), content.at(media_type)
        schema_node = offered.at("schema")
        schema = self._schemas.convert(schema_node) if schema_node.value is not None else {}
        if "*" in media_type:
            # Any type is offered: a text is the content of a file, and all else is JSON.
            resolved = self._schemas.resolved(schema)
            kind = "binary" if isinstance(resolved, dict) and resolved.get("type") == "string" else kind
            media_type = "application/json" if kind == "json" else "application/octet-stream"
        plan = BodyPlan(kind, media_type, is_required=node.value.get("required") is True)
        if kind in {"json", "form", "multipart"}:
            self._fields(plan, schema, offered.at("encoding"))
        else:
            self._whole(plan, as_file(self._schemas, schema) if kind == "binary" else {"type": "string"}, node.value)

    def _whole(self, plan: BodyPlan, schema: Any, given: dict[str, Any]) -> None:
        argument = argument_name("body", "request", self.made.properties)
        self.made.properties[argument] = _described(schema, given)
        if plan.is_required:
            self.made.required.append(argument)
        self.made.body = msgspec.structs.replace(plan, whole=argument)

    def _fields(self, plan: BodyPlan, schema: Any, encoding: Node) -> None:
        flat = flatten(self._schemas, schema)
        if flat is None or (not plan.is_required and len(flat.required) * len(flat.properties) > MAX_DEPENDENT):
            self._whole(plan, schema, {})
            return
        names: dict[str, str] = {}
        fields = []
        for name, one in flat.properties.items():
            argument = names[name] = argument_name(name, "body", self.made.properties)
            field = _field(argument, name, encoding.at(name).value)
            if plan.kind == "multipart" and is_file(self._schemas, one):
                field = msgspec.structs.replace(field, is_file=True)
                self.made.properties[argument] = as_file(self._schemas, one)
            else:
                self.made.properties[argument] = one
            fields.append(field)
        required = [names[name] for name in flat.required]
        if plan.is_required:
            self.made.required += required
        elif required:
            self.made.dependent = {
                argument: rest for argument in names.values() if (rest := [one for one in required if one != argument])
            }
        self.made.body = msgspec.structs.replace(plan, fields=tuple(fields))


def read_input(
    library: Library, schemas: SchemaSet, notes: Notes, where: str, *, path: str, parameters: list[Node], body: Node
) -> ToolInput:
    """Return the arguments of an operation; `where` names it in notes."""
    reader = _InputReader(library, schemas, notes, shown(where))
    reader.parameters(parameters, path)
    if body.value is not None:
        reader.body(body)
    return reader.made


def _field(argument: str, name: str, encoding: Any) -> FieldPlan:
    encoding = encoding if isinstance(encoding, dict) else {}
    content_type = str(encoding.get("contentType", "")).partition(",")[0].strip()
    if not all(" " <= char <= "~" for char in content_type) or "*" in content_type:
        content_type = ""
    style: Style | Literal[""] = encoding["style"] if encoding.get("style") in STYLES["query"] else ""
    if not style and ("explode" in encoding or "allowReserved" in encoding):
        style = "form"
    explode = encoding.get("explode")
    is_reserved = encoding.get("allowReserved") is True
    return FieldPlan(
        argument,
        name,
        content_type=content_type,
        style=style,
        explode=explode if isinstance(explode, bool) else style in {"", "form"},
        is_reserved=is_reserved,
    )


def _described(schema: Any, given: dict[str, Any]) -> Any:
    """Return the schema of an argument with what its parameter says of it."""
    said: dict[str, Any] = {}
    if isinstance(given.get("description"), str) and given["description"].strip():
        said["description"] = given["description"]
    if given.get("deprecated") is True:
        said["deprecated"] = True
    example = given.get("example")
    if isinstance(example, str | int | float) and "examples" not in (schema if isinstance(schema, dict) else {}):
        said["examples"] = [example]
    return {**schema, **said} if isinstance(schema, dict) else said if schema is True else schema
