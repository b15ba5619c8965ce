"""Documents with junk in them are refused with a sentence, or served with contracts that compile."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from signet.openapi.toolset import DocumentError

from .documents import made
from .every_operation import EXAMPLES, read

NAMES = ("3.0/json/petstore.json", "3.1/json/train-travel.json", "3.0/json/security.json", "3.0/json/file-uploads.json")
JUNK: list[Any] = [
    None, 5, -1.5, "", [], {}, True, [1], {"a": 1}, ["a", "a"], {"$ref": 5}, {"$ref": "#/paths"}, {"type": ["x"]},
    "\ud800",
    {"allOf": 5}, {"anyOf": [5]}, {"properties": [1]}, {"properties": {"a": 5}}, {"type": "object", "required": "a"},
    10**30, {"in": "query"}, {"name": 5, "in": "query"}, {"application/json": 5}, {"url": 5}, {"type": {"a": 1}},
]  # fmt: skip


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a value: what holds it, and its key there."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [spot for key in keys for spot in ((value, key), *spots(value[key]))]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_with_junk_is_refused_with_a_sentence_or_served(tmp_path: Path, name: str) -> None:
    chance, whole = random.Random(name), read(EXAMPLES / name)
    served = 0
    for _ in range(60):
        value = copy.deepcopy(whole)
        for holder, key in chance.sample(spots(value), 4):
            holder[key] = chance.choice(JUNK)
        try:
            bundles = made(tmp_path, value).bundles()
        except DocumentError:
            continue
        served += 1
        for bundle in bundles.values():
            Draft202012Validator(json.loads(bundle)["input"])
            Draft202012Validator(json.loads(bundle)["output"])

    assert served > 20
