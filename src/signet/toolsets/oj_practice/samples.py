"""The samples of a statement as data. What the statement does not mark as input or output is never guessed.

    parts ── label ──▶ input, output, explanation, a place for samples, or none of them
          └─ code ───▶ the value of the label before it

A judge names its samples ("Sample Input 1", 样例输入 #1), or it has a section for them ("Example") in which a plain
"Input" is a label. Pure, and linear in the statement's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct, field

from .statement import Kind, StatementPart, parts_of

__all__ = ["MAX_SAMPLES", "Sample", "Samples", "samples_of"]

MAX_SAMPLES: Final = 50
"""The samples of one statement; those with the most have about ten."""

MAX_CHARS: Final = 131_072
"""The part of a statement that is read; the longest have a quarter of it."""

_NUMBER: Final = r"\s*(?:#|№|no\.?|\()?\s*(?P<number>\d{1,3})?\s*\)?\s*"
_INPUT, _OUTPUT = r"(?:inputs?|输入|入力)", r"(?:outputs?|输出|出力)"
_SAMPLE: Final = r"(?:samples?|examples?|sample\s+(?:tests?|cases?)|(?:输入输出)?样例|示例|例子|サンプル)"


def _named(word: str) -> str:
    return rf"(?:{_SAMPLE}\s*{word}|{word}\s*(?:{_SAMPLE}|例)|{word}\s*例)(?:\s*(?:data|格式))?"


class Role(Enum):
    """What a label says about the text behind it."""

    INPUT = "input"
    OUTPUT = "output"
    EXPLANATION = "explanation"
    SECTION = "samples"
    NOTE = "note"
    END = "end"
    """The end of the samples."""


_LABELS: Final = tuple(
    (role, re.compile(rf"(?:{words}){_NUMBER}(?P<colon>[:：])?\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL), is_plain)
    for role, words, is_plain in (
        (Role.EXPLANATION, rf"explanations?(?:\s+(?:for|of)\s+{_SAMPLE})?|样例解释|样例说明|解释", False),
        (Role.INPUT, _named(_INPUT), False),
        (Role.OUTPUT, _named(_OUTPUT), False),
        (Role.NOTE, r"notes?", False),
        (Role.END, r"constraints?|follow[- ]?up|hints?|提示|说明/提示|数据范围|制約", False),
        (Role.SECTION, _SAMPLE, False),
        (Role.INPUT, _INPUT, True),
        (Role.OUTPUT, _OUTPUT, True),
    )
)
"""The labels: what they are for, how they are written, and whether they count in a section of samples only."""

_DECORATION: Final = "*_ \t`"
MAX_LABEL_CHARS: Final = 40


class Label(Struct, frozen=True):
    """A label, and what stands behind it on its line."""

    role: Role
    rest: str
    is_plain: bool


class Sample(Struct, frozen=True):
    """One sample, without the line feed at the end of its texts."""

    input: str
    output: str
    explanation: str | None = None


class Samples(Struct, frozen=True):
    """The samples of a statement, and why some or all are missing."""

    samples: list[Sample]
    reason: str | None = None


class _Draft(Struct):
    """A sample of which some texts are known."""

    input: str | None = None
    output: str | None = None
    explanation: list[str] = field(default_factory=list)


def samples_of(content: str) -> Samples:
    """Return the samples that a statement marks as such."""
    reader = _Reader()
    for part in parts_of(content[:MAX_CHARS]):
        reader.take(part)
    found = reader.finish()
    if len(content) > MAX_CHARS:
        return Samples(found.samples, f"only the first {MAX_CHARS} characters of the statement were read")
    return found


def label_of(line: str, *, in_section: bool) -> Label | None:
    """Return the label with which a line begins; a plain one counts in a section of samples only."""
    bare = line.strip(_DECORATION)
    for role, pattern, is_plain in _LABELS:
        match = pattern.fullmatch(bare) if not is_plain or in_section else None
        if match is None:
            continue
        rest = match["rest"].strip(_DECORATION.replace("`", "") + ":：")
        # Without a colon the label is all of its line: "Input files are large" is a sentence.
        if not rest or match["colon"] or ("**" in line and len(line) <= MAX_LABEL_CHARS):
            return Label(role, rest if match["colon"] or not rest else "", is_plain)
    return None


class _Reader:
    """Reads a statement part by part."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._pending: Label | None = None
        self._in_section = False
        self._is_explained = False
        """Whether text now explains the last sample."""
        self._tables = False
        self._announced = False

    def take(self, part: StatementPart) -> None:
        """Take the next part."""
        if part.kind is Kind.CODE:
            self._take_code(part.text)
        elif part.kind is Kind.TABLE:
            self._take_table(part)
        elif part.kind is Kind.HEADING:
            self._is_explained, self._pending = False, None
            label = label_of(part.text, in_section=self._in_section)
            if label is None:
                self._in_section = False
            else:
                self._take_label(label, part.text)
        else:
            self._take_text(part)

    def finish(self) -> Samples:
        """Return the samples that are whole."""
        whole = [
            Sample(draft.input, draft.output, "\n".join(draft.explanation).strip() or None)
            for draft in self._drafts
            if draft.input is not None and draft.output is not None
        ]
        half = next((n for n, draft in enumerate(self._drafts, 1) if draft.input is None or draft.output is None), None)
        if half is not None:
            lacks = "input" if self._drafts[half - 1].input is None else "output"
            return Samples(whole[:MAX_SAMPLES], f"sample {half} shows no {lacks}")
        if len(whole) > MAX_SAMPLES:
            return Samples(whole[:MAX_SAMPLES], f"the statement has {len(whole)} samples; these are the first")
        return Samples(whole, None if whole else self._why_none())

    def _why_none(self) -> str:
        if self._tables:
            return "the samples stand in a table that does not say which lines belong together"
        if self._announced:
            return "the statement has examples, but does not mark their input and output"
        return "the statement shows no samples"

    def _take_label(self, label: Label, line: str) -> None:
        self._is_explained = False
        self._pending = None
        if label.role in {Role.SECTION, Role.END}:
            self._in_section = label.role is Role.SECTION
            self._announced |= self._in_section
        elif label.role is Role.NOTE:
            # A note explains the samples; with several it does not say which.
            self._is_explained = line.strip().lower().startswith("note") and len(self._drafts) == 1
        elif label.role is Role.EXPLANATION:
            self._is_explained = bool(self._drafts)
            if label.rest:
                self._explain(label.rest)
        elif label.rest:
            self._set(label, label.rest)
        else:
            self._announced = True
            self._pending = label
        if label.role in {Role.INPUT, Role.OUTPUT} and not label.is_plain:
            self._in_section = True

    def _take_text(self, part: StatementPart) -> None:
        lines = part.text.split("\n")
        label = label_of(lines[0], in_section=self._in_section)
        if label is None or part.kind is Kind.ITEM or (self._is_explained and label.role is Role.OUTPUT):
            self._explain(f"- {part.text}" if part.kind is Kind.ITEM else part.text)
            return
        self._take_labelled(part.text)

    def _take_labelled(self, text: str) -> None:
        """Take lines of which some are labels; the lines behind one are its value."""
        for label, line, value in _labelled(text, in_section=self._in_section):
            self._take_label(label, line)
            if value and self._pending is not None:
                self._set(self._pending, value)
            elif value:
                self._append(label.role, value)

    def _take_code(self, text: str) -> None:
        if self._pending is not None:
            self._set(self._pending, text)
        elif self._in_section and next(_labelled(text, in_section=True), None) is not None:
            self._take_labelled(text)
        else:
            self._explain(text)

    def _take_table(self, part: StatementPart) -> None:
        """Take the samples of a table with columns for input and output."""
        heads = [label_of(cell, in_section=True) for cell in part.rows[0]] if part.rows else []
        roles = [head.role if head is not None and not head.rest else None for head in heads]
        if Role.INPUT not in roles or Role.OUTPUT not in roles or not self._in_section_or_named(heads):
            return
        self._announced = True
        columns = roles.index(Role.INPUT), roles.index(Role.OUTPUT)
        pairs = [_pair(row, *columns) for row in part.rows[1:]]
        is_numbered = len(roles) > len(columns)
        has_lines = any("\n" in cell for pair in pairs for cell in pair)
        if is_numbered or has_lines or len(pairs) == 1:
            self._drafts += [_Draft(input=one, output=two) for one, two in pairs]
        elif any(not cell for pair in pairs for cell in pair):
            # Each row is a line of one sample: an output may be shorter than its input.
            first, second = ("\n".join(column).rstrip("\n") for column in zip(*pairs, strict=True))
            self._drafts.append(_Draft(input=first, output=second))
        else:
            self._tables = True

    def _in_section_or_named(self, heads: list[Label | None]) -> bool:
        return self._in_section or any(head is not None and head.role is Role.SECTION for head in heads)

    def _set(self, label: Label, text: str) -> None:
        self._pending = None
        text = text.removesuffix("\n")
        if label.role is Role.INPUT:
            self._drafts.append(_Draft(input=text))
        elif self._drafts and self._drafts[-1].output is None:
            self._drafts[-1].output = text
        else:
            self._drafts.append(_Draft(output=text))
        # Text under "Sample Output 1" is about that sample; in a section of samples it may be about anything.
        self._is_explained = label.role is Role.OUTPUT and not label.is_plain

    def _append(self, role: Role, value: str) -> None:
        """Add the further lines of a value that began on its label's line."""
        draft = self._drafts[-1] if self._drafts else None
        if draft is None:
            return
        if role is Role.INPUT:
            draft.input = f"{draft.input or ''}\n{value}".strip("\n")
        elif role is Role.OUTPUT:
            draft.output = f"{draft.output or ''}\n{value}".strip("\n")
        else:
            self._explain(value)

    def _explain(self, text: str) -> None:
        if self._is_explained and self._drafts:
            self._drafts[-1].explanation.append(text)


def _pair(row: tuple[str, ...], first: int, second: int) -> tuple[str, str]:
    """Return two cells of a row, which may be short."""
    return row[first] if first < len(row) else "", row[second] if second < len(row) else ""


def _labelled(text: str, *, in_section: bool) -> Iterator[tuple[Label, str, str]]:
    """Yield the labels in some lines, each with its line and the lines behind it up to the next label."""
    found: tuple[Label, str] | None = None
    behind: list[str] = []
    for line in text.split("\n"):
        label = label_of(line, in_section=in_section)
        is_explanation = found is not None and found[0].role is Role.EXPLANATION
        if label is None or label.role is Role.NOTE or (is_explanation and label.role in {Role.INPUT, Role.OUTPUT}):
            # An explanation may speak of inputs and outputs.
            behind.append(line)
            continue
        if found is not None:
            yield *found, "\n".join(behind).strip("\n")
        found, behind = (label, line), []
    if found is not None:
        yield *found, "\n".join(behind).strip("\n")
