"""What a server says in one conversation, and how two conversations differ."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from wrap.callers import PREFIX, Answer, Caller
from wrap.catalogue import Listed

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
TRANSLATED = ("resultType", "ttlMs", "cacheScope")
"""Fields that one era has and the other has not."""


@dataclass
class Transcript:
    """Everything that a server said."""

    server_info: Any = None
    instructions: str = ""
    lists: dict[str, list[bytes]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


def filled(value: Any, places: dict[str, str]) -> Any:
    """Put folders and addresses into a description."""
    text = json.dumps(value)
    for place, words in places.items():
        text = text.replace("{" + place + "}", words)
    return json.loads(text)


def told(answer: Answer, volatile: tuple[str, ...] = ()) -> str:
    """Return a response without what translation between eras may change, and without what no two runs write alike."""
    if "error" in answer.message:
        said: Any = {"error": answer.error}
    else:
        said = {key: value for key, value in answer.result.items() if key not in TRANSLATED}
        meta = {key: value for key, value in said.pop("_meta", {}).items() if not key.startswith(PREFIX)}
        said.update({"_meta": meta} if meta else {})
    text = json.dumps(said, ensure_ascii=False)
    for pattern in volatile:
        text = re.sub(pattern, "…", text)
    return text


def converse(caller: Caller, server: Listed, places: dict[str, str]) -> Transcript:
    """Ask a server everything that its description names."""
    caller.answers.update({
        "roots/list": lambda _: {"roots": []},
        "elicitation/create": lambda _: {"action": "decline"},
    })  # fmt: skip
    caller.open()
    said = Transcript(instructions=caller.greeting.get("instructions", ""))
    meta = caller.greeting.get("_meta", {})
    said.server_info = caller.greeting.get("serverInfo", meta.get(f"{PREFIX}serverInfo"))
    for method, field_name in LISTS.items():
        said.lists[method] = caller.pages(method, field_name)
    asked = [
        *(("tools/call", {"name": name, "arguments": given}) for name, given in server.calls),
        *(("resources/read", {"uri": uri}) for uri in server.reads),
        *(("prompts/get", {"name": name, "arguments": given}) for name, given in server.prompts),
    ]
    for number, (method, params) in enumerate(asked):
        answer = caller.call(method, filled(params, places))
        key = f"{number} {method} {params.get('name', params.get('uri'))}"
        said.answers[key] = told(answer, server.volatile)
    return said


def differences(expected: Transcript, seen: Transcript) -> list[str]:
    """Return a line for each difference between two conversations."""
    lines: list[str] = []
    if expected.server_info != seen.server_info:
        lines.append(f"server info: {expected.server_info} is now {seen.server_info}")
    if expected.instructions != seen.instructions:
        lines.append(f"instructions: {expected.instructions[:80]!r} are now {seen.instructions[:80]!r}")
    for method, entries in expected.lists.items():
        now = seen.lists[method]
        if len(entries) != len(now):
            lines.append(f"{method}: {len(entries)} entries are now {len(now)}")
        lines += [f"{method}: {_apart(old, new)}" for old, new in zip(entries, now, strict=False) if old != new]
    for key, words in expected.answers.items():
        if words != seen.answers[key]:
            lines.append(f"{key}: {_apart(words.encode(), seen.answers[key].encode())}")
    return lines


def _apart(old: bytes, new: bytes) -> str:
    """Return the two texts from shortly before the first difference on."""
    at = next((n for n, (one, two) in enumerate(zip(old, new, strict=False)) if one != two), min(len(old), len(new)))
    start = max(0, at - 30)
    return f"{old[start : at + 90].decode(errors='replace')!r} is now {new[start : at + 90].decode(errors='replace')!r}"
