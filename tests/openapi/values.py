"""Values that keep the schemas of an OpenAPI document: written for tests, without a line of the code that they test."""

from __future__ import annotations

import re
from typing import Any

TEXT = "ä/b?c&d=e,f%g+h"
"""What an encoding must carry; without the delimiters of the styles that have no way to write them."""
CANDIDATES = ("a", "A1", "top", "first", "a.json", "abc-def", "2026-01-02", "1", "1.0", "1.0.0", "#aabbcc",
              "aaaaaaaaaaaa", "http://a.example", "a@b.example", "0123456789abcdef0123456789abcdef",
              "+15555550100", "12:30", "true", "aaaa-aaaa", "2026-01-02T03:04:05Z", "0123456789abcdef01234567",
              "01234567-89ab-cdef-0123-456789abcdef")  # fmt: skip


def look_up(document: Any, reference: str) -> Any:
    value = document
    for part in reference.removeprefix("#/").split("/"):
        value = value[part.replace("~1", "/").replace("~0", "~")]
    return value


class Values:
    """Makes a value for each schema of one document."""

    def __init__(self, document: Any, direction: str) -> None:
        self.document = document
        self.hidden = {"request": "readOnly", "response": "writeOnly"}[direction]

    def schema(self, schema: Any) -> Any:
        """Return a schema without references at its top, and with all that it is made of."""
        for _ in range(20):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            schema = look_up(self.document, schema["$ref"])
        if not isinstance(schema, dict):
            return {}
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema.get("allOf", ()):
            one = self.schema(part)
            both = {**one.get("properties", {}), **merged.get("properties", {})}
            required = [*one.get("required", ()), *merged.get("required", ())]
            merged = {**one, **merged}
            merged |= {"properties": both} if both else {}
            merged |= {"required": required} if required else {}
        for choice in ("oneOf", "anyOf"):
            branches = [self.schema(one) for one in merged.get(choice, ())]
            if branches:
                first = next((one for one in branches if one.get("type") != "null"), branches[0])
                rest = {key: value for key, value in merged.items() if key != choice}
                both = {**first.get("properties", {}), **rest.get("properties", {})}
                required = [*first.get("required", ()), *rest.get("required", ())]
                merged = {**first, **rest}
                merged |= {"properties": both} if both else {}
                merged |= {"required": required} if required else {}
        return merged

    def kind(self, schema: Any) -> str:
        """Return the type of the values of a schema."""
        schema = self.schema(schema)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next(one for one in kind if one != "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        return str(kind)

    def value(self, schema: Any, text: str = TEXT, depth: int = 0) -> Any:
        """Return a value; properties that need not be there are left out below the second level."""
        schema = self.schema(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        kind = self.kind(schema)
        if kind == "object":
            return self._object(schema, text, depth)
        if kind == "array":
            return self._array(schema, text, depth)
        if kind == "boolean":
            return True
        if kind in {"integer", "number"}:
            return self._number(schema, kind)
        return None if kind == "null" else _text(schema, text)

    def _object(self, schema: Any, text: str, depth: int) -> Any:
        required = schema.get("required", [])
        found = {}
        for name, one in schema.get("properties", {}).items():
            if self.schema(one).get(self.hidden) is True:
                continue
            if name in required or depth < 2:
                found[name] = self.value(one, text, depth + 1)
        for name in required:
            if name not in schema.get("properties", {}):
                found[name] = text
        return found

    def _array(self, schema: Any, text: str, depth: int) -> Any:
        least = schema.get("minItems", 0)
        items = schema.get("items", {})
        if depth > 4 and not least:
            return []
        if isinstance(items, dict) and schema.get("uniqueItems") and (values := self.schema(items).get("enum")):
            return values[: max(least, 1)]
        count = max(least, 2 if depth == 0 else 1)
        if schema.get("uniqueItems"):
            count = max(least, 1)
        return [self.value(items, text, depth + 1)] * min(count, schema.get("maxItems", count))

    def _number(self, schema: Any, kind: str) -> Any:
        low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
        value = low if low is not None else 3
        if above is True:
            value += 1
        elif above is not None and above is not False:
            value = above + 1
        if schema.get("maximum") is not None:
            value = min(value, schema["maximum"])
        step = schema.get("multipleOf")
        value = step or value
        return int(value) if kind == "integer" else value + 0.0


def _text(schema: Any, text: str) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", 10_000)
    if pattern := schema.get("pattern"):
        # The first that fits: some patterns take for ever on texts that do not.
        fitting = (one for one in CANDIDATES if least <= len(one) <= most and re.search(pattern, one))
        found = next(fitting, None)
        assert found is not None, f"no value for the pattern {pattern}"
        return found
    if schema.get("format") in {"uri", "date", "date-time", "uuid", "email", "int64"}:
        return {"uri": "https://a.example/b", "date": "2026-01-02", "uuid": "01234567-89ab-cdef-0123-456789abcdef",
                "email": "a@b.example", "int64": "1"}.get(schema["format"], "2026-01-02T03:04:05Z")  # fmt: skip
    return (text * (least // len(text) + 1))[:most] if least > len(text) or most < len(text) else text
