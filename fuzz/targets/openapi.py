"""OpenAPI documents, in JSON and YAML: to tools whose contracts compile, and to requests that stay at their service."""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema_rs import Draft202012Validator

from fuzz.odd_values import json_text, json_value, text
from fuzz.target import Run, Target, expect
from signet.kernel.errors import Fault
from signet.openapi.document import Library, parse_document
from signet.openapi.operation import plan_document
from signet.openapi.request import build_request
from signet.openapi.toolset import DocumentError, open_toolset

__all__ = ["TARGET"]

MAX_TOOLS = 4
"""The tools of a document that are compiled and called."""
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null", "file", ["string", "null"])
WORDS = (
    "openapi", "paths", "get", "post", "parameters", "requestBody", "responses", "content", "application/json",
    "schema", "$ref", "#/components/schemas/A", "allOf", "anyOf", "oneOf", "not", "properties", "items", "required",
    "type", "nullable", "enum", "const", "format", "default", "discriminator", "servers", "security", "components",
    "securitySchemes", "in", "path", "query", "header", "cookie", "style", "explode", "deepObject",
    "additionalProperties", "operationId", "tags", "summary", "exclusiveMinimum", "pattern", "readOnly",
    "writeOnly", "$defs", "$dynamicRef", "multipart/form-data",
)  # fmt: skip
TOKENS = tuple(f'"{word}"'.encode() for word in WORDS) + tuple(f"{word}: ".encode() for word in WORDS[:20]) + (
    b"&a ", b"*a", b"<<: *a\n", b"---\n", b"? ", b"!!binary ", b"!!float ", b"|\n  ", b"- ", b"{a: ", b"\t", b"~",
    b".inf", b"0x1F", b"1e400", b"\\ud800", b"{id}", b"[[[[",
    b"%YAML 1.1\n", b"#/", b"~1", b"~0", b"%2F", b"../a.json", b"9" * 400,
)  # fmt: skip
REFERENCES = (
    "#/components/schemas/A",
    "#/components/schemas/B",
    "#/components/schemas/None",
    "#/",
    "#",
    "other.json#/A",
    "#/paths/~1a/get",
    "http://a.example/x",
)
PATTERNS = ("^a$", "(", "\\d+", "(?<a>x)\\k<a>", "[", "^\\p{L}+$", "a{99999}")


def _schema(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(9 if depth else 5)
    if kind < 3:
        schema: dict[str, Any] = {"type": chance.choice(TYPES)}
        key = chance.choice(
            (
                "format",
                "pattern",
                "enum",
                "minimum",
                "maxLength",
                "nullable",
                "default",
                "exclusiveMinimum",
                "const",
                "readOnly",
            )
        )
        values: dict[str, Any] = {
            "pattern": chance.choice(PATTERNS),
            "format": "date",
            "enum": [1, "a", None],
            "nullable": True,
            "readOnly": True,
        }
        return {**schema, key: values.get(key, 5) if chance.random() < 0.8 else json_value(chance)}
    if kind == 3:
        return {"$ref": chance.choice(REFERENCES)}
    if kind == 4:
        return json_value(chance, 1) if chance.random() < 0.3 else {}
    if kind == 5:
        return {"type": "array", "items": _schema(chance, depth - 1)}
    if kind == 6:
        return {
            chance.choice(("allOf", "anyOf", "oneOf")): [_schema(chance, depth - 1) for _ in range(chance.randrange(3))]
        }
    names = chance.sample(("a", "b", "id", "", "é", "x-y", "$ref", "properties"), chance.randrange(4))
    return {
        "type": "object",
        "properties": {name: _schema(chance, depth - 1) for name in names},
        "required": names[:1],
        "additionalProperties": chance.choice((True, False, {})),
    }


def _parameter(chance: random.Random) -> Any:
    place = chance.choice(("path", "query", "header", "cookie"))
    found: dict[str, Any] = {
        "name": chance.choice(("id", "a", "a[]", "X-A", "Accept", "é", "")),
        "in": place,
        "schema": _schema(chance, 2),
        "required": place == "path",
    }
    if chance.random() < 0.3:
        found["style"] = chance.choice(
            ("form", "simple", "label", "matrix", "deepObject", "pipeDelimited", "spaceDelimited", "x")
        )
        found["explode"] = chance.choice((True, False, "yes"))
    if chance.random() < 0.1:
        found["content"] = {"application/json": {"schema": found.pop("schema")}}
    return found


def _operation(chance: random.Random) -> Any:
    body = {
        "content": {
            chance.choice(
                (
                    "application/json",
                    "multipart/form-data",
                    "text/plain",
                    "application/x-www-form-urlencoded",
                    "*/*",
                    "x",
                )
            ): {"schema": _schema(chance, 3)}
        }
    }
    found: dict[str, Any] = {
        "operationId": chance.choice(("a", "b", "list things", "", "é", text(chance))),
        "parameters": [_parameter(chance) for _ in range(chance.randrange(3))],
        "responses": {
            chance.choice(("200", "default", "2XX", "404", "x")): {
                "description": "",
                "content": {"application/json": {"schema": _schema(chance, 3)}},
            }
        },
    }
    return {**found, "requestBody": body} if chance.random() < 0.5 else found


def _document(chance: random.Random) -> Any:
    paths = {
        path: {method: _operation(chance) for method in chance.sample(("get", "post", "put", "delete"), 2)}
        for path in chance.sample(("/a", "/a/{id}", "/b?x=1", "/{a}{b}", "x", "/../{id}"), 2)
    }
    found: dict[str, Any] = {
        "openapi": chance.choice(("3.0.3", "3.1.0", "3.1.0", "2.0", "3.2.0")),
        "info": {"title": "t", "version": "1"},
        "servers": [
            {"url": chance.choice(("https://a.example/v1", "/", "https://{h}.example", "ftp://x", "http://[", ""))}
        ],
        "paths": paths,
        "components": {
            "schemas": {"A": _schema(chance, 3), "B": _schema(chance, 3)},
            "securitySchemes": {"s": {"type": "http", "scheme": "bearer"}},
        },
        "security": chance.choice(([], [{"s": []}], [{}], [{"none": []}])),
    }
    if chance.random() < 0.2:
        found[chance.choice([*found, "x"])] = json_value(chance)
    return found


def _generate(chance: random.Random) -> bytes:
    written = json_text(_document(chance), chance)
    if chance.random() < 0.4:
        with contextlib.suppress(ValueError, RecursionError, yaml.YAMLError):
            return yaml.safe_dump(json.loads(written), allow_unicode=chance.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
    return written.encode("utf-8", "surrogatepass")


def _seeds() -> list[bytes]:
    chance = random.Random(5)
    return [_generate(chance) for _ in range(12)]


def _arguments(chance: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    values: tuple[Any, ...] = ("a", 5, [1, "b"], {"a": 1}, None, True, "../x", "é\n", 1.5, "")
    return {name: chance.choice(values) for name in schema.get("properties", {})}


class _Documents:
    """A folder with one document."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "api.json")

    def run(self, data: bytes) -> None:
        """Open an input as a toolset, compile its contracts, and build requests."""
        Path(self._path).write_bytes(data)
        with contextlib.suppress(DocumentError):
            parse_document(data, "api.yaml")
        try:
            toolset = open_toolset(self._path, name="fuzzed", environ={}, note=lambda _: None)
        except DocumentError as error:
            expect(str(error).strip() and "\n" not in str(error), "a refusal is a sentence", str(error))
            return
        for slug, bundle in list(toolset.bundles().items())[:MAX_TOOLS]:
            contract = json.loads(bundle)
            expect(contract["tool"] == slug, "a contract names its tool", slug)
            for part in ("input", "output"):
                Draft202012Validator(contract[part])
        self._request()

    def _request(self) -> None:
        library = Library(self._path)
        plan = plan_document(library, "fuzzed", ())
        chance = random.Random(len(plan.operations))
        for operation in plan.operations[:MAX_TOOLS]:
            arguments = _arguments(chance, json.loads(bytes(operation.bundle))["input"])
            with contextlib.suppress(Fault):
                request = build_request(operation, arguments)
                told = (request.target, *[part for pair in request.headers for part in pair])
                expect(
                    not any("\r" in one or "\n" in one for one in told), "a request has one line for each header", told
                )
                expect(
                    "/../" not in request.target.partition("?")[0], "a request stays below its address", request.target
                )


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        before = os.environ.get("XDG_CACHE_HOME")
        # Plans are kept in the cache of the user.
        os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
        try:
            yield _Documents(Path(folder)).run
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


TARGET = Target(
    name="openapi",
    about="OpenAPI documents in JSON and YAML, to contracts and requests",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=("openapi/",),
    per_byte_s=100e-6,
    fresh=120,
)
