"""Changes of contracts: the keywords of a JSON Schema that refuse something, loosened or tightened one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .mutants import Mutant, numbered, shortened

__all__ = ["mutate_contract"]

BOUNDS = {"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "exclusiveMinimum",
          "minProperties", "maxProperties", "exclusiveMaximum"}  # fmt: skip
Edit = tuple[str, Any, Any]
"""The pointer of a keyword, its value, and the value to put there."""


def mutate_contract(path: str, source: str) -> list[Mutant]:
    """Return every mutant of a contract; each one takes the place of the whole file, which is read as JSON only."""
    document = json.loads(source)
    found = []
    for pointer, old, new in _edits(document, ""):
        keyword = pointer.rpartition("/")[2]
        text = json.dumps(_replaced(document, pointer.split("/")[1:], new), indent=2, ensure_ascii=False) + "\n"
        shown = [f"{keyword}: {json.dumps(value, ensure_ascii=False)}" for value in (old, new)]
        before, after = (shortened(one) for one in shown)
        if before == after:  # both are cut: what is gone is told instead
            after = shortened(f"{keyword} without {', '.join(str(one) for one in old if one not in new)}")
        lines = source.count("\n")
        found.append(Mutant(path, pointer, "contract", before, after, 0, len(source), text, 1, lines))
    return numbered(found)


def _edits(schema: Any, pointer: str) -> Iterator[Edit]:
    """Give the edits of a schema and of all schemas within it; what is only an example holds no rule."""
    if isinstance(schema, list):
        for place, one in enumerate(schema):
            yield from _edits(one, f"{pointer}/{place}")
    if not isinstance(schema, dict):
        return
    for name, value in schema.items():
        where = f"{pointer}/{name}"
        edits = list(_keyword_edits(name, value))
        yield from ((where, value, new) for new in edits)
        if not edits and name not in {"examples", "example", "default", "const"}:
            yield from _edits(value, where)


def _keyword_edits(name: str, value: Any) -> Iterator[Any]:
    """Give the values that a keyword may take instead."""
    if name in BOUNDS and isinstance(value, int | float):
        looser = 1 if "ax" in name else -1
        yield from (value - looser, value + looser)
    elif name in {"enum", "required"} and isinstance(value, list):
        yield from (value[:place] + value[place + 1 :] for place in range(len(value)))
    elif name in {"additionalProperties", "uniqueItems"} and isinstance(value, bool):
        yield not value
    elif name == "pattern" and isinstance(value, str):
        yield ""


def _replaced(node: Any, path: list[str], new: Any) -> Any:
    """Return a copy of a document in which one value is another."""
    if not path:
        return new
    if isinstance(node, list):
        place = int(path[0])
        return [*node[:place], _replaced(node[place], path[1:], new), *node[place + 1 :]]
    return {**node, path[0]: _replaced(node[path[0]], path[1:], new)}
