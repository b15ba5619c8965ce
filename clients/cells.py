"""The judgement of what a probe saw, and the page that shows it.

Pure. A cell is a word: `yes`, `at close` (a call that was given up ends when its client leaves), `in part` (a list
without permitted values), a dash (the client has no such feature), or `no`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from client import Client

__all__ = ["ABSENT", "AT_CLOSE", "CALLS", "COLUMNS", "NO", "TOOL", "YES", "Cell", "judge", "page", "worst"]

COLUMNS: Final = ("list", "call", "error", "cancel", "progress")
YES, AT_CLOSE, IN_PART, ABSENT, NO = "yes", "at close", "in part", "\N{EN DASH}", "no"
RANK: Final = (YES, AT_CLOSE, IN_PART, ABSENT, NO)
"""The words, from the best to the worst."""

TOOL: Final = "boj_get_data_code"
SERIES: Final = {"db": "FM08", "codes": ["FXERD01"]}
CALLS: Final[Mapping[str, dict[str, Any]]] = {
    "good": {**SERIES, "start_date": "202601", "end_date": "202602"},
    "wrong_code": {"db": "FM08", "codes": ["NONE"], "start_date": "202601", "end_date": "202602"},
    "wrong_order": {**SERIES, "start_date": "202602", "end_date": "202601"},
    "slow": {**SERIES, "start_date": "202507", "end_date": "202507"},
    "hang": {**SERIES, "start_date": "202508", "end_date": "202508"},
}
"""The arguments of the calls; the runner orders the sandbox to be slow, or to hang, for two of the months."""
GOOD_SIGN: Final = "163.52"
"""A value of the sample series in January 2026."""
SLOW_SIGN: Final = "20250701"
CODE_SIGN: Final = "boj_get_metadata"
"""A wrong code: the sentence says where right ones are found."""
ORDER_SIGN: Final = "comes after"


@dataclass(frozen=True)
class Cell:
    """One cell of the table, and what to tell about it."""

    word: str
    note: str = ""


def worst(cells: Sequence[Cell]) -> Cell:
    """Return the worst cell: a client has a feature if it has it on each of its doors."""
    return max(cells, key=lambda cell: RANK.index(cell.word))


def judge(seen: Mapping[str, Any], published: Mapping[str, Any], ended: str) -> Cell:
    """Return the cell of one column.

    Args:
        seen: the line that the probe printed.
        published: the input schema of each tool, as the server publishes it.
        ended: when the journal showed the end of the hanging call, as a word; for the column `cancel` alone.
    """
    if "lacks" in seen:
        return Cell(ABSENT, seen["lacks"])
    if "failed" in seen:
        return Cell(NO, seen["failed"])
    column = seen["column"]
    if column == "list":
        problem, values = _lost(published, seen["tools"]), _lost_values(published, seen["tools"])
        if values and not problem:
            return Cell(IN_PART, values)
    elif column == "error":
        signs = ((CODE_SIGN, seen["code"]), (ORDER_SIGN, seen["order"]), (GOOD_SIGN, seen.get("text", GOOD_SIGN)))
        problem = "".join(f"{sign!r} is not in {text!r}; " for sign, text in signs if sign not in text)
    elif column == "progress":
        problem = _missing(SLOW_SIGN, seen["text"]) or ("" if seen["progress"] else "no progress was reported")
    else:
        problem = _missing(GOOD_SIGN, seen["text"])
    if problem:
        return Cell(NO, problem)
    if column == "cancel":
        return Cell(ended, f"the journal shows no end of it; the client said {seen.get('said')}" if ended == NO else "")
    return Cell(YES)


def _missing(sign: str, text: str) -> str:
    return "" if sign in text else f"{sign!r} is not in {text[:300]!r}"


def _lost(published: Mapping[str, Any], tools: Mapping[str, Any]) -> str:
    """Return what a client's list lacks: a tool, an argument, a part of it, or that it is required."""
    if set(published) != set(tools):
        return f"the tools are {sorted(tools)}"
    lost = []
    for name, schema in published.items():
        theirs = tools[name] or {}
        kept = theirs.get("properties") or {}
        for argument, rule in schema.get("properties", {}).items():
            lost += [f"{part} of {name}.{argument}" for part in _lost_parts(rule, kept.get(argument))]
        if set(schema.get("required", ())) - set(theirs.get("required") or ()):
            lost.append(f"the required arguments of {name}")
    return f"lost: {', '.join(lost)}" if lost else ""


def _lost_parts(rule: Mapping[str, Any], kept: Mapping[str, Any] | None) -> list[str]:
    """Return the parts of an argument that a client's form of it lacks: all, the description, the type."""
    if kept is None:
        return ["all"]
    lost = [] if rule.get("description", "") in kept.get("description", "") else ["the description"]
    text = json.dumps(kept)
    if not any(word in text for word in ('"type"', '"anyOf"', '"enum"', '"const"', '"$ref"')):
        lost.append("the type")
    return lost


def _lost_values(published: Mapping[str, Any], tools: Mapping[str, Any]) -> str:
    """Return the arguments whose permitted values a client's list lacks."""
    lost = [
        f"{name}.{argument}"
        for name, schema in published.items()
        for argument, rule in schema.get("properties", {}).items()
        if not all(
            json.dumps(value) in json.dumps(tools.get(name, {}).get("properties", {}).get(argument))
            for form in (rule, *rule.get("anyOf", ()))
            for value in form.get("enum", ())
            if value is not None
        )
    ]
    return f"lost: the permitted values of {', '.join(lost)}" if lost else ""


INTRO: Final = f"""# Clients

The clients that `make clients` runs against `signet stdio` and `signet serve`, each in an environment of its own with
locked packages, all on loopback: the sandboxes stand in for the Bank of Japan and the online judge, and a scripted
model for the model. This page is written by that run.

- **list**: all tools arrive, with every argument, its type, description and permitted values, and whether it is
  required. *in part*: all but the permitted values.
- **call**: a call returns the right result.
- **error**: a code that does not exist and dates in the wrong order come back as sentences that the framework hands to
  its model (the SDKs: to their caller), and the run goes on.
- **cancel**: the client gives up a call that hangs; the journal shows that the call has ended, and the next call is
  served. *at close*: the call ended when the client left, because nothing before told the server whose call to end.
- **progress**: a call that waits reports its progress; the TypeScript SDK's `resetTimeoutOnProgress` holds a call that
  takes longer than its timeout.

A cell holds for each of the doors in its row. {ABSENT}: the client has no such feature; the note says why.
"""


def page(rows: Sequence[tuple[Client, Mapping[str, Cell]]]) -> str:
    """Return docs/clients.md."""
    lines = ["| client | version | door | " + " | ".join(COLUMNS) + " |", "|---" * (3 + len(COLUMNS)) + "|"]
    notes: list[str] = []
    for client, cells in rows:
        words = [_with_note(cells[column], notes) for column in COLUMNS]
        doors = ", ".join(client.doors)
        lines.append(f"| {client.title} | {client.version} | {doors} | {' | '.join(words)} |")
    footnotes = [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    return "\n".join([INTRO, *lines, "", *footnotes]).rstrip() + "\n"


def _with_note(cell: Cell, notes: list[str]) -> str:
    if cell.word == NO:
        return f"**{NO}**"
    if not cell.note:
        return cell.word
    text = cell.note[0].upper() + cell.note[1:] + "."
    if text not in notes:
        notes.append(text)
    return f"{cell.word} ({notes.index(text) + 1})"
