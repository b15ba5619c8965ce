"""YAML as OpenAPI has it: the values of JSON, keys that are texts, no key twice, and aliases with a bound. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from .failure import DocumentError, shown

__all__ = ["parse_yaml"]

MAX_VALUES: Final = 3_000_000
"""The most values that a document has when every alias is written out."""
MAX_DEPTH: Final = 300
MAX_MERGED: Final = 10_000
MAX_MERGES: Final = 50

PLAIN: Final = {
    "tag:yaml.org,2002:null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    "tag:yaml.org,2002:bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    "tag:yaml.org,2002:int": (r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    "tag:yaml.org,2002:float": (
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
    "tag:yaml.org,2002:merge": (r"^<<$", ["<"]),
}
"""How scalars without quotes are read: the JSON values of YAML 1.2, so that `on`, `12:30` and dates are texts."""


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML document; raise DocumentError if it cannot be used."""
    try:
        import yaml
    except ImportError:
        message = f"{name} is YAML, and PyYAML is not installed: pip install 'signet-mcp[openapi]', or give it as JSON"
        raise DocumentError(message) from None
    try:
        value = yaml.load(text, _loader())  # noqa: S506 - a loader of plain values alone
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise DocumentError(f"{name} is no YAML that can be used: {shown(problem)}{place}") from None
    except (RecursionError, ValueError, TypeError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else shown(error)
        raise DocumentError(f"{name} is no YAML that can be used: {why}") from None
    _check_bounds(value, name)
    return value


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {shown(key.value)!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        loader.flatten_mapping(node)
        return {key.value: loader.construct_object(value, deep=deep) for key, value in node.value}

    def flatten_mapping(loader: Any, node: Any) -> None:
        merged = [value for key, value in node.value if key.tag == "tag:yaml.org,2002:merge"]
        if any(isinstance(value, yaml.SequenceNode) and len(value.value) > MAX_MERGES for value in merged):
            raise yaml.constructor.ConstructorError(None, None, "it merges too much", node.start_mark)
        base.flatten_mapping(loader, node)
        if merged and len(node.value) > MAX_MERGED:
            raise yaml.constructor.ConstructorError(None, None, "it merges too much", node.start_mark)

    names = {"construct_mapping": construct_mapping, "flatten_mapping": flatten_mapping, "yaml_implicit_resolvers": {}}
    loader: Any = type("PlainLoader", (base,), names)
    for tag, (pattern, first) in PLAIN.items():
        loader.add_implicit_resolver(tag, re.compile(pattern), first)
    return loader


def _check_bounds(value: Any, name: str) -> None:
    """Raise DocumentError if a value is too deep, or too large with its aliases written out."""
    stack: list[tuple[Any, int]] = [(value, 1)]
    count = 0
    while stack:
        one, depth = stack.pop()
        children = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        count += 1 + len(children)
        if depth > MAX_DEPTH:
            raise DocumentError(f"{name} is nested more than {MAX_DEPTH} deep: it cannot be used")
        if count > MAX_VALUES:
            raise DocumentError(f"{name} has more than {MAX_VALUES:,} values, aliases written out: it cannot be used")
        stack.extend((child, depth + 1) for child in children if isinstance(child, dict | list))
        if not isinstance(one, dict | list | str | int | float | None):
            raise DocumentError(f"{name} has a value that JSON has not ({type(one).__name__})")
