"""The arguments of a tool as its input schema states them: types in words, values read from text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from signet.system.text import cut

__all__ = ["Argument", "arguments_in", "with_texts"]

Schema = Mapping[str, Any]

MAX_DEPTH: Final = 8
"""How deep references and alternatives are followed; a server may send a schema that refers to itself."""
MAX_OPTIONS: Final = 500
"""The alternatives of one argument that are looked at."""
MAX_STEPS: Final = 2_000
MAX_PATTERN_CHARS: Final = 40
"""The characters of a pattern that are shown: a line of a narrow terminal has room for them."""
SWITCHES: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
JSON_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
NAMES: Final = {"array": "list"}


class Argument(msgspec.Struct, frozen=True):
    """One argument of a tool."""

    name: str
    schema: Schema
    options: tuple[Schema, ...]
    """The alternatives of the schema, each with one type at most."""
    required: bool = False

    @property
    def types(self) -> frozenset[str]:
        """The JSON types that the argument may have; empty where the schema names none."""
        return frozenset(kind for option in self.options if (kind := _type_of(option)))

    @property
    def choices(self) -> list[Any]:
        """The values that the argument may have, where the schema lists them."""
        return [value for option in self.options for value in _values(option) if value is not None]

    @property
    def examples(self) -> list[Any]:
        """Values to try: those that the schema states, or lists."""
        stated = next((one["examples"] for one in (self.schema, *self.options) if one.get("examples")), None)
        return stated if isinstance(stated, list) else self.choices

    @property
    def sample(self) -> Any:
        """A value of the argument's type, to be shown where nobody stated an example."""
        if self.examples:
            return self.examples[0]
        option = next((one for one in self.options if _type_of(one) != "null"), self.schema)
        if option.get("default") is not None:
            return option["default"]
        least = option.get("minimum", 1)
        samples = {"string": "text", "integer": least, "number": least, "boolean": True, "array": [], "object": {}}
        return samples.get(_type_of(option) or "string")

    @property
    def description(self) -> str:
        """What the argument means."""
        text = self.schema.get("description", "")
        return text if isinstance(text, str) else ""

    def words(self) -> str:
        """Return the type, its limits and the default, as people read them."""
        texts = list(dict.fromkeys(_option_words(option) for option in self.options if _type_of(option) != "null"))
        if "null" in self.types:
            texts.append("null")
        has_limits = any("," in text or ":" in text for text in texts)
        words = ("; or " if has_limits else " or ").join(texts) or "any value"
        default = self.schema.get("default")
        return words if default is None else f"{words}; default: {_json(default)}"

    def read(self, text: str) -> Any:
        """Return the value of a text; one that has not the argument's type is left for the contract to report."""
        types = self.types - {"null"}
        if "array" in types and ("string" not in types or text.startswith("[")):
            return self._read_list(text)
        if not types or "string" in types:
            return text
        if text == "null" and "null" in self.types:
            return None
        if types == {"boolean"}:
            return SWITCHES.get(text.lower(), text)
        return _read_json(text)

    def _read_list(self, text: str) -> Any:
        """Return the items of a list: a JSON array, or items between commas or on lines of their own."""
        if text.lstrip().startswith("["):
            return _read_json(text)
        items = [part.strip() for part in text.replace("\n", ",").split(",")]
        return [self._item().read(item) for item in items if item]

    def _item(self) -> Argument:
        """Return the items of a list as an argument of their own."""
        schema = next((option.get("items") for option in self.options if _type_of(option) == "array"), None)
        schema = schema if isinstance(schema, Mapping) else {}
        return Argument(self.name, schema, tuple(_options(schema, {})))

    def with_text(self, value: Any) -> Any:
        """Return a number as text if the argument is a string and no number; so too within a list of strings."""
        if isinstance(value, list) and "array" in self.types:
            return [self._item().with_text(item) for item in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and "string" in self.types and not self.types & {"integer", "number"}:
            return _json(value)
        return value


def arguments_in(schema: Schema) -> dict[str, Argument]:
    """Return the arguments that an input schema names, the required ones first."""
    properties, required = schema.get("properties"), schema.get("required")
    properties = properties if isinstance(properties, Mapping) else {}
    names = {one for one in required if isinstance(one, str)} if isinstance(required, list) else set()
    found = [
        Argument(name, part, tuple(_options(part, schema)), required=name in names)
        for name, part in properties.items()
        if isinstance(part, Mapping)
    ]
    return {argument.name: argument for argument in sorted(found, key=lambda one: not one.required)}


def with_texts(values: dict[str, Any], arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """Return values in which a number that stands for a string has become one."""
    return {name: arguments[name].with_text(value) if name in arguments else value for name, value in values.items()}


def _options(schema: Schema, root: Schema) -> list[Schema]:
    """Return the alternatives of a schema, the first where there are many; references within the root are followed."""
    found: list[Schema] = []
    waiting = [(schema, MAX_DEPTH)]
    for _ in range(MAX_STEPS):
        if not waiting or len(found) >= MAX_OPTIONS:
            break
        part, depth = waiting.pop()
        further = _further(part, root)
        if depth == 0:
            found.append({})
        elif further is None:
            types = part.get("type")
            found += [{**part, "type": kind} for kind in types[:MAX_OPTIONS]] if isinstance(types, list) else [part]
        else:
            waiting += ((one, depth - 1) for one in reversed(further))
    return found


def _further(schema: Schema, root: Schema) -> list[Schema] | None:
    """Return the schemas in the place of which one stands, or None if it stands for itself."""
    target = _target(schema.get("$ref"), root)
    if target is not None:
        return [target]
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and parts and (word != "allOf" or len(parts) == 1):
            return [part for part in parts[:MAX_OPTIONS] if isinstance(part, Mapping)]
    return None


def _target(reference: object, root: Schema) -> Schema | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference[2:].split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _values(option: Schema) -> list[Any]:
    values = option.get("enum")
    if isinstance(values, list):
        return values
    return [option["const"]] if "const" in option else []


def _type_of(option: Schema) -> str:
    kind = option.get("type")
    if isinstance(kind, str):
        return kind
    kinds = {JSON_TYPES.get(type(value), "null") for value in _values(option)}
    return kinds.pop() if len(kinds) == 1 else ""


def _option_words(option: Schema) -> str:
    values = [value for value in _values(option) if value is not None]
    if values:
        return f"one of: {', '.join(value if isinstance(value, str) else _json(value) for value in values)}"
    kind = _type_of(option)
    if kind == "array":
        items = option.get("items")
        inner = _option_words(items).partition(",")[0] if isinstance(items, Mapping) else "any value"
        return _joined(f"list of {inner}", _count(option, "Items", "item"))
    if kind == "string":
        pattern = option.get("pattern")
        matching = f"matching {cut(pattern, MAX_PATTERN_CHARS)}" if isinstance(pattern, str) else ""
        return _joined("string", _count(option, "Length", "character"), matching)
    return _joined(NAMES.get(kind, kind) or "any value", _range(option))


def _joined(*notes: str) -> str:
    return ", ".join(filter(None, notes))


def _count(option: Schema, of: str, unit: str) -> str:
    """Return the least and greatest length in words."""
    least, most = option.get(f"min{of}"), option.get(f"max{of}")
    text = _between(least or None, most)
    return f"{text} {unit}{'' if (most or least) == 1 else 's'}" if text else ""


def _range(option: Schema) -> str:
    above, below = option.get("exclusiveMinimum"), option.get("exclusiveMaximum")
    text = _between(option.get("minimum"), option.get("maximum"))
    edges = (f"above {above}" if above is not None else "", f"below {below}" if below is not None else "")
    return _joined(text, *edges)


def _between(least: object, most: object) -> str:
    if least is not None and most is not None:
        return f"{least} to {most}"
    if most is not None:
        return f"at most {most}"
    return f"at least {least}" if least is not None else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode() if not isinstance(value, str) else value


def _read_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
