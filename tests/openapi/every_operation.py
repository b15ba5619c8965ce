"""Calls of every operation of a document, with values for all that it takes, against a mock of the same document."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from processes import ROOT
from signet.app import build_server, resolve
from signet.commands.call import walk
from signet.kernel.outcome import Outcome
from signet.kernel.toolset import Toolset
from signet.openapi.toolset import open_toolset
from signet.settings import catalogue
from signet.settings.model import Settings

from .mock_service import MockService, Operation, serving

EXAMPLES = ROOT / "node_modules/@readme/oas-examples"
FIGMA = ROOT / "node_modules/@figma/rest-api-spec/openapi/openapi.yaml"
OWN_HEADERS = {"accept", "content-type", "authorization"}
PLACES = ("path", "query", "header", "cookie")


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)


def opened(source: object, *include: str, name: str = "service", base_url: str = "", **environ: str) -> Toolset:
    return open_toolset(
        str(source), name=name, include=include, base_url=base_url, environ=environ, note=lambda _: None
    )


def call_all(toolset: Toolset, calls: Sequence[tuple[str, Any]], **environ: str) -> list[Outcome]:
    """Serve a toolset in this process, make calls one after the other, and return their outcomes."""
    catalogue.register(toolset)
    flags = {"toolsets": toolset.name, "journal": False}

    async def run() -> list[Outcome]:
        server = build_server(resolve(Settings.read(environ, flags)))
        try:
            return [await walk(server, name, arguments) for name, arguments in calls]
        finally:
            await server.close()

    try:
        return asyncio.run(run())
    finally:
        catalogue.TOOLSETS.remove(toolset.name)
        del catalogue._registered[toolset.name]
        catalogue.find_toolset.cache_clear()


class Sample:
    """What one operation is called with, and what must arrive."""

    def __init__(self, mock: MockService, operation: Operation, takes: Mapping[str, Any]) -> None:
        self.arguments: dict[str, Any] = {}
        self.parameters: dict[tuple[str, str], Any] = {}
        self.body: Any = None
        for place in PLACES:
            for one in operation.parameters:
                if one["in"] == place and (place != "header" or one["name"].lower() not in OWN_HEADERS):
                    self._parameter(mock, one)
        if operation.body is not None and operation.method not in {"GET", "HEAD"}:
            self._body(mock, operation, takes)

    def _parameter(self, mock: MockService, one: dict[str, Any]) -> None:
        schema = one["schema"] if "schema" in one else next(iter(one["content"].values()))["schema"]
        given = mock.requests.value(schema, "abc") if one["in"] == "header" else mock.requests.value(schema)
        if given not in ([], {}):
            self.arguments[self._free(one["name"], one["in"])] = given
            self.parameters[one["name"], one["in"]] = given

    def _free(self, name: str, place: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")
        return f"{place}_{plain}" if plain in self.arguments else plain

    def _body(self, mock: MockService, operation: Operation, takes: Mapping[str, Any]) -> None:
        content = (operation.body or {})["content"]
        order = ("json", "urlencoded", "multipart")
        media_type = min(content, key=lambda one: next((n for n, word in enumerate(order) if word in one), 9))
        schema = content[media_type].get("schema", {})
        self.body = mock.requests.value(schema)
        if not any(word in media_type for word in order):
            data = b"\x00\xffdata"
            text_like = "text" in media_type or "xml" in media_type
            self.arguments["body"] = "some text" if text_like else base64.b64encode(data).decode()
            self.body = b"some text" if text_like else data
        elif ("body" in takes and takes["body"] is not None and not isinstance(self.body, dict)) or (
            isinstance(self.body, dict)
            and "body" in takes
            and "body" not in mock.requests.schema(schema).get("properties", {})
        ):
            self.arguments["body"] = self.body
        else:
            self._fields(
                mock.requests.schema(schema).get("properties", {}), mock, is_multipart="multipart" in media_type
            )

    def _fields(self, properties: Mapping[str, Any], mock: MockService, *, is_multipart: bool) -> None:
        for name, value in self.body.items():
            argument = self._free(name, "body")
            if is_multipart and mock.requests.schema(properties[name]).get("format") == "binary":
                self.body[name] = b"\x00\xffdata"
                self.arguments[argument] = base64.b64encode(b"\x00\xffdata").decode()
            else:
                self.arguments[argument] = value


def expected_result(mock: MockService, operation: Operation) -> Any:
    """Return what a tool is to return for the mock's answer."""
    status, media_type, body, value = mock.answer(operation, "*/*")
    if not body:
        return {"status": status}
    if "json" in media_type and isinstance(value, dict):
        return value
    if "json" in media_type or media_type.startswith("text/") or "xml" in media_type:
        return {"result": value}
    return {"result": base64.b64encode(body).decode(), "contentType": media_type.lower(), "encoding": "base64"}


def mistakes(path: Path, tag: str = "") -> Iterator[str]:
    """Call every operation of a document, or of a tag, and yield what is not as the document says."""
    mock = MockService(read(path))
    mock.operations = [one for one in mock.operations if not tag or tag in one.raw["tags"]]
    include = [f"tag:{tag}"] if tag else []
    with serving(mock) as url:
        toolset = opened(path, *include, base_url=url)
        tools = toolset.tools()
        bundles = {slug: json.loads(one) for slug, one in toolset.bundles().items()}
        takes = [bundles[tool.slug]["input"]["properties"] for tool in tools]
        samples = [Sample(mock, one, own) for one, own in zip(mock.operations, takes, strict=True)]
        calls = [(tool.name, sample.arguments) for tool, sample in zip(tools, samples, strict=True)]
        outcomes = call_all(toolset, calls)
    yield from mock.troubles
    seen = iter(mock.seen)
    for operation, sample, outcome in zip(mock.operations, samples, outcomes, strict=True):
        where = f"{operation.method} {operation.path}"
        if outcome.fault is not None:
            cause = outcome.fault.__cause__
            yield f"{where}: {outcome.fault.message} {cause} <- {sample.arguments}"
            if outcome.fault.stage != "output":
                continue
        came = next(seen)
        if came.operation is not operation:
            yield f"{where}: {came.operation.method} {came.operation.path} was asked"
        if came.parameters != sample.parameters:
            yield f"{where}: {came.parameters} came for {sample.parameters}"
        if came.body != sample.body:
            yield f"{where}: the body {came.body} came for {sample.body}"
        wanted = expected_result(mock, operation)
        if outcome.result not in (wanted, {"result": wanted}) and outcome.fault is None:
            yield f"{where}: {str(outcome.result)[:300]} is the result, and not {str(wanted)[:300]}"
