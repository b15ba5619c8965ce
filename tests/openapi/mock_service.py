"""A service made from an OpenAPI document: it reads each request by the document itself, and answers with an example.

It shares no line with the code under test: parameters are decoded here by the tables of the specification, and bodies
by the standard library.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from .values import Values, look_up

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
IGNORED = ("accept", "content-type", "authorization")
"""Header parameters that the specification wants to be ignored."""
DEFAULT_STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}


@dataclass
class Operation:
    """One operation as the document states it, references at its top followed."""

    method: str
    path: str
    parameters: list[dict[str, Any]]
    body: dict[str, Any] | None
    responses: dict[str, Any]
    raw: dict[str, Any]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{[^{}]+\}", self.path.partition("#")[0])
        return re.compile("([^/]*)".join(map(re.escape, parts)))


@dataclass
class Seen:
    """What a request held, decoded."""

    operation: Operation
    parameters: dict[tuple[str, str], Any]
    body: Any = None
    accept: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    target: str = ""


class MockService:
    """Answers requests as a document says."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.operations = list(self._operations())
        self.seen: list[Seen] = []
        self.troubles: list[str] = []
        self._asked: Counter[int] = Counter()
        self.requests, self.responses = Values(document, "request"), Values(document, "response")

    def follow(self, value: Any) -> Any:
        while isinstance(value, dict) and "$ref" in value:
            value = look_up(self.document, value["$ref"])
        return value

    def _operations(self) -> Iterator[Operation]:
        for path, given in self.document["paths"].items():
            item = self.follow(given)
            for method in METHODS:
                if method in item:
                    raw = item[method]
                    found = {(one["name"], one["in"]): one for one in map(self.follow, item.get("parameters", ()))}
                    found |= {(one["name"], one["in"]): one for one in map(self.follow, raw.get("parameters", ()))}
                    for name in re.findall(r"\{([^{}]+)\}", path):
                        found.setdefault((name, "path"), {"name": name, "in": "path", "schema": {"type": "string"}})
                    body = self.follow(raw.get("requestBody"))
                    yield Operation(method.upper(), path, list(found.values()), body, raw.get("responses", {}), raw)

    def find(self, method: str, path: str) -> tuple[Operation, tuple[str, ...]]:
        """Return the operation of a raw path with the fewest parameters, and its raw values."""
        found = [(one, match.groups()) for one in self.operations if one.method == method
                 and (match := one.pattern.fullmatch(path))]  # fmt: skip
        assert found, f"the document has no {method} {path}"
        # Some documents tell operations of one path apart by a fragment, which is not sent: they are asked in order.
        operation, groups = min(found, key=lambda pair: (len(pair[1]), self._asked[id(pair[0])]))
        self._asked[id(operation)] += 1
        return operation, groups

    def read(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Seen:
        """Return what a request holds, by the document; fail where it holds less, or what nobody knows."""
        parts = urlsplit(target)
        operation, raw = self.find(method, parts.path)
        in_path = dict(zip(re.findall(r"\{([^{}]+)\}", operation.path), raw, strict=True))
        query = [tuple(pair.partition("=")[::2]) for pair in parts.query.split("&") if pair]
        cookies = [tuple(one.partition("=")[::2]) for one in headers.get("cookie", "").split("; ") if one]
        seen = Seen(operation, {}, accept=headers.get("accept", ""), headers=headers, target=target)
        for one in operation.parameters:
            name, place = one["name"], one["in"]
            if place == "header" and name.lower() in IGNORED:
                continue
            decoder = Decoder(self.requests, one)
            if place == "path":
                value = decoder.path(in_path[name])
            elif place == "header":
                value = decoder.header(headers.get(name.lower()))
            else:
                value = decoder.pairs(query if place == "query" else cookies)
            if value is not None:
                seen.parameters[name, place] = value
            else:
                assert one.get("required") is not True, f"{name} in {place} is missing"
        if body:
            seen.body = self._body(operation, headers.get("content-type", ""), body)
        return seen

    def _body(self, operation: Operation, content_type: str, body: bytes) -> Any:
        assert operation.body is not None, "a body that the document does not know"
        offered = {one.partition(";")[0].lower(): schema for one, schema in operation.body["content"].items()}
        base = content_type.partition(";")[0]
        assert base in offered or "*/*" in offered, f"the document offers {list(offered)}, and {base} came"
        if "json" in base:
            return json.loads(body)
        schema = self.requests.schema(offered[base].get("schema", {}))
        properties = schema.get("properties", {})
        if base == "application/x-www-form-urlencoded":
            values = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True)
            return {name: self._typed(properties.get(name, {}), texts) for name, texts in values.items()}
        if base == "multipart/form-data":
            parsed = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
            texts_of: dict[str, list[Any]] = {}
            for part in parsed.iter_parts():
                name = part.get_param("name", header="content-disposition")
                data = part.get_payload(decode=True)
                is_file = part.get_filename() is not None
                texts_of.setdefault(str(name), []).append(bytes(data) if is_file else data.decode())
            return {name: self._typed(properties.get(name, {}), texts) for name, texts in texts_of.items()}
        return body

    def _typed(self, schema: Any, texts: list[Any]) -> Any:
        kind = self.requests.kind(schema)
        if kind == "array":
            items = self.requests.schema(schema).get("items", {})
            return [self._typed(items, [text]) for text in texts]
        assert len(texts) == 1
        if isinstance(texts[0], bytes):
            return texts[0]
        return json.loads(texts[0]) if kind in {"object", "integer", "number", "boolean"} else texts[0]

    def answer(self, operation: Operation, accept: str) -> tuple[int, str, bytes, Any]:
        """Return status, media type and body of an example of the first response of 2xx, and its value."""
        for status in sorted(operation.responses):
            if re.fullmatch(r"2[0-9xX]{2}", status):
                content = self.follow(operation.responses[status]).get("content") or {}
                number = int(re.sub("[xX]", "0", status))
                if not content or operation.method == "HEAD" or number == 204:
                    return number, "", b"", None
                accepted = [one.partition(";")[0].strip() for one in accept.split(",")]
                media_type = next((one for one in content if "json" in one), next(iter(content)))
                assert "*/*" in accepted or media_type.partition(";")[0].strip() in accepted, (media_type, accept)
                if "json" not in media_type and "*" not in media_type:
                    return number, media_type, b"some text", "some text"
                value = self.responses.value(content[media_type].get("schema", {"type": "string"}))
                return (
                    number,
                    "application/json" if "*" in media_type else media_type,
                    json.dumps(value).encode(),
                    value,
                )
        return 200, "", b"", None


class Decoder:
    """Decodes one parameter by its style, as the tables of the specification have it."""

    def __init__(self, values: Values, parameter: dict[str, Any]) -> None:
        self.name = parameter["name"]
        content = parameter.get("content")
        self.is_json = content is not None
        self.schema = values.schema(next(iter(content.values()))["schema"] if content else parameter.get("schema", {}))
        self.style = parameter.get("style", DEFAULT_STYLES[parameter["in"]])
        self.explode = parameter.get("explode", self.style == "form")
        self.values = values
        self.kind = values.kind(self.schema)

    def path(self, raw: str) -> Any:
        if self.is_json:
            return json.loads(unquote(raw))
        if self.style == "matrix":
            assert raw.startswith(";")
            parts = raw[1:].split(";")
            if self.explode and self.kind == "object":
                return self._object([part.partition("=")[::2] for part in parts])
            values = [part.partition("=")[2] for part in parts]
            assert all(part.partition("=")[0] == self.name for part in parts)
            return self._list(values) if self.explode and self.kind == "array" else self._joined(values[0], ",")
        if self.style == "label":
            assert raw.startswith(".")
            raw = raw[1:]
            if self.explode and self.kind in {"object", "array"}:
                parts = raw.split(".")
                is_list = self.kind == "array"
                return self._list(parts) if is_list else self._object([part.partition("=")[::2] for part in parts])
            return self._joined(raw, ",")
        if self.explode and self.kind == "object":
            return self._object([part.partition("=")[::2] for part in raw.split(",")])
        return self._joined(raw, ",")

    def header(self, raw: str | None) -> Any:
        if raw is None:
            return None
        return json.loads(raw) if self.is_json else self.path(raw)

    def pairs(self, pairs: list[Any]) -> Any:
        if self.style == "deepObject":
            return self._deep(pairs)
        if self.explode and self.kind == "object" and not self.is_json:
            known = self.schema.get("properties", {})
            found = [(name, raw) for name, raw in pairs if unquote(name) in known]
            return self._object(found) if found else None
        raws = [raw for name, raw in pairs if unquote(name) == self.name]
        if not raws:
            return None
        if self.is_json:
            return json.loads(unquote(raws[0]))
        if self.explode and self.kind == "array":
            return self._list(raws)
        assert len(raws) == 1, f"{self.name} came twice"
        return self._joined(raws[0], {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(self.style, ","))

    def _deep(self, pairs: list[Any]) -> Any:
        found: dict[str, Any] = {}
        for name, raw in pairs:
            plain = unquote(name)
            assert "[" not in name, "a bracket is to be encoded"
            if plain.startswith(f"{self.name}["):
                keys = re.findall(r"\[([^\]]*)\]", plain)
                inner = found
                for key in keys[:-1]:
                    inner = inner.setdefault(key, {})
                inner[keys[-1]] = raw
        return self._rebuilt(found, self.schema) if found else None

    def _rebuilt(self, found: Any, schema: Any) -> Any:
        schema = self.values.schema(schema)
        if isinstance(found, str):
            return self._typed(found, schema)
        if self.values.kind(schema) == "array":
            return [self._rebuilt(found[str(place)], schema.get("items", {})) for place in range(len(found))]
        return {key: self._rebuilt(one, schema.get("properties", {}).get(key, {})) for key, one in found.items()}

    def _joined(self, raw: str, delimiter: str) -> Any:
        if self.kind == "array":
            return self._list(raw.split(delimiter))
        if self.kind == "object":
            parts = raw.split(delimiter)
            return self._object(list(zip(parts[::2], parts[1::2], strict=True)))
        return self._typed(raw, self.schema)

    def _list(self, raws: list[str]) -> Any:
        return [self._typed(raw, self.schema.get("items", {})) for raw in raws]

    def _object(self, pairs: Any) -> Any:
        known = self.schema.get("properties", {})
        return {unquote(name): self._typed(raw, known.get(unquote(name), {})) for name, raw in pairs}

    def _typed(self, raw: str, schema: Any) -> Any:
        kind = self.values.kind(schema)
        text = unquote(raw, errors="strict")
        if kind in {"integer", "number", "boolean", "object", "array"}:
            return json.loads(text)
        return text


@contextlib.contextmanager
def serving(mock: MockService) -> Iterator[str]:
    """Serve a mock on loopback until the block ends; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are two writes.
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                seen = mock.read(self.command, self.path, headers, body)
                mock.seen.append(seen)
                status, media_type, data, _ = mock.answer(seen.operation, seen.accept)
            except (AssertionError, ValueError, KeyError, IndexError) as error:
                mock.troubles.append(f"{self.command} {self.path}: {error!r}")
                status, media_type, data = 400, "text/plain", repr(error).encode()
            self.send_response(status)
            if media_type:
                self.send_header("Content-Type", media_type)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    for method in METHODS:
        setattr(Handler, f"do_{method.upper()}", Handler.handle_any)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
