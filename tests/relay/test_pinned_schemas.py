"""Any change of a pinned tool: nothing that is listed, blocked or refused repeats a string that was not pinned."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from lock.snapshots import locked, snapshot
from signet.lock.policy import LockPolicy, judge
from signet.relay.listing import Terms, list_tools

MARK = "zqnew"
TOOL: dict[str, Any] = {
    "name": "work",
    "title": "Work",
    "description": "Do some work.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "maxLength": 9, "description": "Where."},
            "mode": {"enum": ["text", "binary"]},
            "kind": {"anyOf": [{"const": "a"}, {"type": "integer", "maximum": 5}]},
        },
        "required": ["path"],
        "$defs": {"part": {"type": "string"}},
    },
    "outputSchema": {"type": "object", "properties": {"state": {"enum": ["on", "off"]}}, "required": ["state"]},
    "annotations": {"title": "Work", "readOnlyHint": True},
    "_meta": {"ui": {"title": "Work"}, "note": "a"},
}
KEYWORDS = [
    *(
        "title",
        "description",
        "default",
        "examples",
        "$comment",
        "$anchor",
        "$id",
        "$ref",
        "format",
        "pattern",
        "const",
    ),
    *("contentMediaType", "contentEncoding", "enum", "required", "x-note", f"{MARK}-name", "name", "icons"),
]
MARKED = st.sampled_from([MARK, f"{MARK} reads all", f"a/{MARK}", f"https://{MARK}.example", f"{MARK}\u200b"])
VALUES = MARKED | st.lists(MARKED, max_size=2) | st.dictionaries(MARKED, MARKED | st.booleans(), max_size=2)
BAD = [{}, {"path": 5}, {"path": "a", "mode": "none"}, {"path": "a" * 99}, {"path": "a", "kind": "b"}, 5, {MARK[:3]: 1}]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return each place in a value at which something can be changed: its holder, and the key in it."""
    if isinstance(value, dict):
        return [*((value, key) for key in value), *(one for inner in value.values() for one in places(inner))]
    if isinstance(value, list):
        return [*((value, at) for at in range(len(value))), *(one for inner in value for one in places(inner))]
    return []


@st.composite
def changed_tools(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the tool with some strings added, replaced or renamed, beside a limit that is raised or not."""
    tool = deepcopy(TOOL)
    for _ in range(draw(st.integers(1, 4))):
        holder, key = draw(st.sampled_from(places(tool)))
        match draw(st.sampled_from(["replace", "add", "rename", "raise"])):
            case "replace":
                holder[key] = draw(VALUES)
            case "add" if isinstance(holder, dict):
                holder[draw(st.sampled_from(KEYWORDS))] = draw(VALUES)
            case "add":
                holder.append(draw(VALUES))
            case "rename" if isinstance(holder, dict):
                holder[draw(MARKED)] = holder.pop(key)
            case _:
                part: Any = tool
                for step in ("inputSchema", "properties", "path"):
                    part = part.get(step) if isinstance(part, dict) else None
                if isinstance(part, dict):
                    part["maxLength"] = 99
    return tool


@settings(max_examples=300, deadline=None)
@given(changed_tools(), st.sampled_from(["note", "block"]))
def test_no_change_brings_a_new_string_to_a_caller(tool: dict[str, Any], text: Any) -> None:
    told: list[str] = []
    pinned = locked(TOOL, instructions="Work.")
    judgement = judge(pinned, snapshot(tool, instructions=MARK), LockPolicy(text=text))
    terms = Terms("s", "", {}, lambda *_: lambda *_: None, lambda *_, **__: None, {}, judgement.wider)

    (listed,) = list_tools(judgement.served.tools, terms)
    io = listed.compile()
    for value in BAD:
        told += [message for _, message in io.input_validator.places(value)]
        told += [message for _, message in io.output_validator.places(value)]

    assert msgspec.json.decode(listed.entry) == TOOL
    assert judgement.served.instructions == "Work."
    assert [one for one in (*told, *judgement.blocked.values()) if MARK in one] == []
    assert set(judgement.wider) <= ({"work"} if ("tool", "work") not in judgement.blocked else set())
    assert io.input_validator.is_valid({"path": "a", "mode": "text"}), "what was promised is taken"
