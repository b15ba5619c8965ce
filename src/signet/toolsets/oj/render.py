"""Results as Markdown: the layouts of spec 2, and statements in whatever form the judge stores them.

    content ──▶ Markdown without tags: as it is
            ──markdown.translate──▶ Markdown with its inline tags translated
                      └─ HTML ──blocks.from_html──▶ Markdown

Pure and bounded; nothing here raises. The conversion is loaded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .models import Fetching, Problem, Similar, Status

__all__ = ["problem_page", "similar_page", "status_page", "truncate", "wait_note"]

MAX_TEXT_BYTES: Final = 102_400
MAX_CONVERTED_CHARS: Final = 131_072
"""The part of a statement with tags that is converted; the longest have a quarter of it, and hostile ones take 5 µs
per character, most of it in a few steps that no other thread can interrupt."""
SUFFIX: Final = "\n\n... (truncated)"
NOTHING: Final = "N/A"
NO_DESCRIPTION: Final = "No description available."
"""The text of a problem without a statement."""
NO_SIMILAR: Final = "No similar problems were found."
MAX_RATING: Final = 100_000
"""No judge rates a problem above 4,000; a larger number is no rating."""

BLANK: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
)
"""White space, and three other characters that show nothing."""


def truncate(text: str, *, is_cut: bool = False) -> str:
    """Cut a text at the last character that fits into the limit, and add a note; call this once per text.

    The note is also added to a text that is cut already.
    """
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES and not is_cut:
        return text
    return data[:MAX_TEXT_BYTES].decode(errors="ignore") + SUFFIX


def to_markdown(content: str | None) -> str:
    """Return a statement as Markdown; Markdown without tags is returned as it is."""
    text = _replace_surrogates(content or "")
    if _is_blank(text):
        return NO_DESCRIPTION
    if "<" not in text:
        return text
    from .markdown import translate

    written = translate(text)
    return NO_DESCRIPTION if _is_blank(written) else written


def _is_blank(text: str) -> bool:
    return not text.strip(BLANK)


def _replace_surrogates(text: str) -> str:
    """Join surrogate pairs, and replace halves of pairs, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def problem_page(problem: Problem, *, source: str = NOTHING) -> str:
    """Return the page of a problem; `source` is shown if the problem names none."""
    tags = ", ".join(tag for tag in problem.tags or () if isinstance(tag, str))
    head = (
        f"# {_line(problem.title)}\n\n"
        f"- Source: {_line(problem.source or source)} | ID: {_line(str(problem.id))} "
        f"| Difficulty: {_line(problem.difficulty)}\n"
        f"- Tags: {_line(tags or None)}\n"
        f"- Link: {_line(problem.link)}\n"
        f"- AC Rate: {NOTHING if problem.ac_rate is None else f'{problem.ac_rate:.1f}%'}\n"
    )
    head += "".join(f"- {line}\n" for line in _extras(problem)) + "\n---\n\n"
    content = problem.content or ""
    is_cut = len(content) > MAX_CONVERTED_CHARS and "<" in content
    return truncate(head + to_markdown(content[:MAX_CONVERTED_CHARS] if is_cut else content), is_cut=is_cut)


def _extras(problem: Problem) -> Iterator[str]:
    """Yield the lines below the template of spec 2, for problems that have what the template has no place for."""
    rating = problem.rating
    # The judges without difficulties rate their problems; zero stands for no rating.
    if problem.difficulty is None and type(rating) in {int, float} and 0 < rating < MAX_RATING:
        yield f"Rating: {rating:.1f}"
    if problem.paid_only == 1:
        yield "Paid only: yes, the judge shows it to subscribers"
    if isinstance(problem.date, str) and problem.date:
        host = {"com": " (leetcode.com)", "cn": " (leetcode.cn)"}.get(str(problem.domain), "")
        yield f"Daily challenge: {_line(problem.date)}{host}"


def similar_page(similar: Similar) -> str:
    """Return the page of a search: a table of the problems that match, or a sentence under its head."""
    heads = ("#", "Source", "ID", "Title", "Difficulty", "Similarity", "Link")
    rows = [
        (str(number), it.source, str(it.id), it.title, it.difficulty, f"{it.similarity * 100:.1f}%", it.link)
        for number, it in enumerate(similar.results, 1)
    ]
    query = NOTHING if similar.rewritten_query is None else similar.rewritten_query
    note = "" if rows else f"\n{NO_SIMILAR}\n"
    return truncate(f"# Similar Problems\n\nQuery: {query}\n\n{_table(heads, rows)}{note}")


def status_page(status: Status) -> str:
    """Return the page of the platforms: a table of what the backend has of each judge."""
    heads = ("Platform", "Problems", "Missing Content", "Not Embedded")
    rows = [(it.source, f"{it.total:,}", f"{it.missing_content:,}", f"{it.not_embedded:,}") for it in status.platforms]
    return truncate(f"# OJ Platform Status (v{_line(status.version)})\n\n{_table(heads, rows)}")


def wait_note(fetching: Fetching, day: str) -> str:
    """Return a note that the backend does not have a daily challenge yet."""
    when = "retry later." if fetching.retry_after is None else f"retry after {fetching.retry_after} seconds."
    return f"The daily challenge of {day} is being fetched by the backend and is not there yet; {when}"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str | None, ...]]) -> str:
    """Return a table; the rule under each head is as long as the head and its padding."""
    rule = "|" + "|".join("-" * (len(head) + 2) for head in heads) + "|"
    lines = ["| " + " | ".join(heads) + " |", rule]
    lines += ["| " + " | ".join(_line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _line(text: str | None) -> str:
    """Return a value as one line; a missing value is shown as such."""
    if text is None:
        return NOTHING
    return " ".join(part for part in text.replace("\t", "\n").splitlines() if part) if not text.isprintable() else text
