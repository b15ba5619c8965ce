"""Which schemas of others are over their budget, and which values are judged otherwise than by the validator alone.

    python scripts/schema_witnesses.py FOLDER …

A folder has JSON files: cases of the JSON Schema Test Suite (`[{schema, tests: [{data}]}]`), or lists of servers with
their tools (`[{tools: [{name, inputSchema, outputSchema}]}]`). A schema that the validator cannot compile is passed
over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec

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
        for path in sorted(Path(folder).rglob("*.json")):
            for name, schema, data in _cases(path):
                draft = _draft_of(path, schema)
                before = _validator(draft, schema)
                if before is None:
                    continue
                schemas += 1
                try:
                    contract = Contract(schema, "", draft)
                except ValueError as error:
                    told.append(f"{path.name}: {name}: over its budget: {error}")
                    continue
                for value in data:
                    values += 1
                    if contract.is_valid(value) != before.is_valid(value):
                        told.append(f"{path.name}: {name}: another verdict on {str(value)[:80]}")
    for line in told:
        print(line)
    print(f"{schemas:,} schemas that compile, {values:,} values: {len(told)} judged otherwise")
    return 1 if told else 0


def _cases(path: Path) -> Iterator[tuple[str, Any, list[Any]]]:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except ValueError:
        return
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict) and "schema" in one:
            yield one.get("description", ""), one["schema"], [test["data"] for test in one.get("tests", ())]
        for tool in one.get("tools", ()) if isinstance(one, dict) else ():
            for side in ("inputSchema", "outputSchema"):
                if side in tool:
                    yield f"{one.get('server', '')} {tool['name']} {side}", tool[side], [{}, {"a": 1}]


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
