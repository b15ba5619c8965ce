"""Which schemas of others are over their budget, and which values are judged otherwise than by the validator alone.

    python scripts/schema_witnesses.py FOLDER …

A folder has JSON files with any of these objects, at any depth: cases of the JSON Schema Test Suite
(`{schema, tests: [{data}]}`), tools as servers list them (`{name, inputSchema, outputSchema}`), and contracts
(`{tool, input, output}`). A schema that comes without values is tried on an example of it, and on changes of that.
A schema that the validator cannot compile is passed over. A folder without a schema is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec

from signet.compatibility.satisfaction import example_of
from signet.kernel.schemas import Contract

DRAFTS = {
    "draft4": jsonschema_rs.Draft4Validator,
    "draft6": jsonschema_rs.Draft6Validator,
    "draft7": jsonschema_rs.Draft7Validator,
    "draft2019-09": jsonschema_rs.Draft201909Validator,
}


def main(folders: list[str]) -> int:
    """Print the counts, and each schema or value that is judged otherwise; return 1 if there is one."""
    schemas = values = 0
    told: list[str] = []
    for folder in folders:
        cases = [(path, *case) for path in sorted(Path(folder).rglob("*.json")) for case in _cases(path)]
        if not cases:
            print(f"{folder}: there is no schema", file=sys.stderr)
            return 2
        for path, name, schema, data in cases:
            draft = _draft_of(path, schema)
            before = _validator(draft, schema)
            if before is None:
                continue
            tried = _values(schema) if data is None else data
            schemas, values = schemas + 1, values + len(tried)
            told += [f"{path.name}: {name}: {what}" for what in _differences(draft, schema, before, tried)]
    for line in told:
        print(line)
    print(f"{schemas:,} schemas that compile, {values:,} values: {len(told)} judged otherwise")
    return 1 if told else 0


def _differences(draft: Any, schema: Any, before: Any, values: list[Any]) -> Iterator[str]:
    """Yield what the contract of a schema judges otherwise than the validator alone."""
    try:
        contract = Contract(schema, "", draft)
    except ValueError as error:
        yield f"over its budget: {error}"
        return
    for value in values:
        if contract.is_valid(value) != before.is_valid(value):
            yield f"another verdict on {str(value)[:80]}"


def _cases(path: Path) -> Iterator[tuple[str, Any, list[Any] | None]]:
    """Yield the name, the schema and the values of each case; None for the values where there are none."""
    try:
        todo = [msgspec.json.decode(path.read_bytes())]
    except ValueError:
        return
    while todo:
        one = todo.pop()
        found = list(_schemas(one)) if isinstance(one, dict) else []
        yield from found
        if not found and isinstance(one, list | dict):
            todo += one.values() if isinstance(one, dict) else reversed(one)


def _schemas(one: dict[str, Any]) -> Iterator[tuple[str, Any, list[Any] | None]]:
    name = str(one.get("name", one.get("tool", one.get("description", ""))))
    if isinstance(one.get("schema"), dict | bool):
        yield name, one["schema"], [test["data"] for test in one["tests"] if "data" in test] if "tests" in one else None
    for side in ("inputSchema", "outputSchema", "input", "output"):
        if isinstance(one.get(side), dict):
            yield f"{name} {side}", one[side], None


def _values(schema: Any) -> list[Any]:
    """Return values for a schema: an example, the example without a member or with another value there, and others."""
    try:
        example = example_of(schema)
    except (TypeError, ValueError):
        # It is read as the newest draft there, and the schema is of an older one.
        example = msgspec.UNSET
    found: list[Any] = [{}, {"a": 1}, [], None, "a"]
    if not isinstance(example, dict):
        return found if example is msgspec.UNSET else [example, *found]
    for key in example:
        found.append({name: value for name, value in example.items() if name != key})
        found += [example | {key: value} for value in (None, 7.5, "a", [example[key]], {"a": 1})]
    return [example, *found]


def _draft_of(path: Path, schema: Any) -> Any:
    named = schema.get("$schema", "") if isinstance(schema, dict) else ""
    for name, draft in DRAFTS.items():
        if name in path.parts or name.replace("draft", "draft-0") in named or name.removeprefix("draft") in named:
            return draft
    return jsonschema_rs.Draft202012Validator


def _validator(draft: Any, schema: Any) -> Any:
    """Return the validator of a schema as it was compiled before there was a budget; None if it cannot be compiled."""
    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
    try:
        return partial(draft, pattern_options=options)(schema, retriever=_nowhere)
    except ValueError:
        return None


def _nowhere(uri: str) -> Any:
    raise ValueError(f"there is no network: {uri}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
