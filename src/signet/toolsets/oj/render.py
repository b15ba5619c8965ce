"""Markdown for people and models: the layouts of spec 2, safe against what a table would break on."""

from __future__ import annotations

from typing import Final

from .convert import to_markdown
from .models import Fetching, Platform, Problem, Similar, SimilarProblem, Status

__all__ = ["MAX_TEXT_BYTES", "problem_page", "similar_page", "status_page", "truncate", "wait_note"]

MAX_TEXT_BYTES: Final = 102_400
SUFFIX: Final = "\n\n... (truncated)"
NOTHING: Final = "N/A"


def truncate(text: str) -> str:
    """Cut a text at a character's end within its bytes, and say so behind it; to be applied once."""
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES:
        return text
    return data[:MAX_TEXT_BYTES].decode(errors="ignore") + SUFFIX


def problem_page(problem: Problem, *, source: str = NOTHING) -> str:
    """Show one problem; `source` stands in where it names none."""
    tags = ", ".join(tag for tag in problem.tags or () if isinstance(tag, str))
    head = (
        f"# {_line(problem.title)}\n\n"
        f"- Source: {_line(problem.source or source)} | ID: {_line(str(problem.id))} "
        f"| Difficulty: {_line(problem.difficulty)}\n"
        f"- Tags: {_line(tags or None)}\n"
        f"- Link: {_line(problem.link)}\n"
        f"- AC Rate: {NOTHING if problem.ac_rate is None else f'{problem.ac_rate:.1f}%'}\n\n---\n\n"
    )
    return truncate(head + to_markdown(problem.content))


def similar_page(found: Similar) -> str:
    """Show what a search found."""
    heads = ("#", "Source", "ID", "Title", "Difficulty", "Similarity", "Link")
    rows = [_similar_row(number, one) for number, one in enumerate(found.results, 1)]
    query = NOTHING if found.rewritten_query is None else found.rewritten_query
    return truncate(f"# Similar Problems\n\nQuery: {query}\n\n{_table(heads, rows)}")


def _similar_row(number: int, one: SimilarProblem) -> tuple[str | None, ...]:
    similarity = f"{one.similarity * 100:.1f}%"
    return str(number), one.source, str(one.id), one.title, one.difficulty, similarity, one.link


def status_page(status: Status) -> str:
    """Show how much of each judge is there."""
    heads = ("Platform", "Problems", "Missing Content", "Not Embedded")
    rows = [_status_row(platform) for platform in status.platforms]
    return truncate(f"# OJ Platform Status (v{_line(status.version)})\n\n{_table(heads, rows)}")


def _status_row(platform: Platform) -> tuple[str, ...]:
    counts = (platform.total, platform.missing_content, platform.not_embedded)
    return platform.source, *(f"{count:,}" for count in counts)


def wait_note(waiting: Fetching, day: str) -> str:
    """Say that a daily challenge is on its way."""
    when = "retry later." if waiting.retry_after is None else f"retry after {waiting.retry_after} seconds."
    return f"The daily challenge of {day} is being fetched by the backend and is not there yet; {when}"


def _table(heads: tuple[str, ...], rows: list[tuple[str | None, ...]] | list[tuple[str, ...]]) -> str:
    """Write a table; the rule under each head is as long as the head and its padding."""
    rule = "|" + "|".join("-" * (len(head) + 2) for head in heads) + "|"
    lines = ["| " + " | ".join(heads) + " |", rule]
    lines += ["| " + " | ".join(_line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _line(text: str | None) -> str:
    """Keep a value to one line; one that is not there is shown as such."""
    if text is None:
        return NOTHING
    return " ".join(part for part in text.replace("\t", "\n").splitlines() if part) if not text.isprintable() else text
