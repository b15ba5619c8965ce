"""Results as Markdown: the layouts of spec 2, and statements in whatever form the judge stores them.

    content ──▶ Markdown without tags: as it is
            ──markdown.convert────▶ Markdown with its inline tags translated
                      └─ HTML ──blocks.from_html──▶ Markdown

Pure and bounded; nothing here raises. The conversion is loaded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from .models import Fetching, FullProblem, Problem, Similar, Status

__all__ = ["problem_page", "similar_page", "status_page", "truncate", "wait_note", "with_chinese"]

MAX_TEXT_BYTES: Final = 102_400
SUFFIX: Final = "\n\n... (truncated)"  # rule: 1.S5.2.suffix
NOTHING: Final = "N/A"  # rule: 2.T1.nullable
NO_DESCRIPTION: Final = "No description available."
"""The text of a problem without a statement."""
RATING: Final = "Rating: "
LUOGU: Final = "https://www.luogu.com.cn/"
"""The judge that mirrors the problems of SPOJ, where backends read them."""
MAX_RATING: Final = 100_000
"""No judge rates a problem above 4,000; a larger number is no rating."""

BLANK: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
)
"""White space, and three other characters that show nothing."""


def truncate(text: str) -> str:
    """Cut a text at the last character that fits into the limit, and add a note; call this once per text."""
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES:  # rule: 1.S5.2.limit
        return text
    return data[:MAX_TEXT_BYTES].decode(errors="ignore") + SUFFIX  # rule: 1.S5.2.outside


def to_markdown(content: str | None) -> str:
    """Return a statement as Markdown; Markdown without tags is returned as it is."""
    text = _replace_surrogates(content or "")
    if _is_blank(text):
        return NO_DESCRIPTION
    if "<" not in text:  # rule: 2.T1.converted
        return text
    from .markdown import convert

    written = convert(text)  # rule: 1.S5.2.output
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
    """Return the page of a problem: spec 2's, and of a full problem with what the template has no place for.

    `source` is shown if the problem names none.
    """
    extras = list(_extras(problem)) if isinstance(problem, FullProblem) else []
    problem = with_chinese(problem) if isinstance(problem, FullProblem) else problem
    tags = ", ".join(tag for tag in problem.tags or () if isinstance(tag, str))
    is_rated = any(line.startswith(RATING) for line in extras)
    head = (
        f"# {_line(problem.title)}\n\n"  # rule: 2.T2.title
        f"- Source: {_line(problem.source or source)} | ID: {_line(str(problem.id))}"  # rule: 2.T1.success
        f"{'' if is_rated else f' | Difficulty: {_line(problem.difficulty)}'}\n"
        f"- Tags: {_line(tags or None)}\n"  # rule: 2.T1.template
        f"- Link: {_line(problem.link)}\n"
        f"- AC Rate: {NOTHING if problem.ac_rate is None else f'{problem.ac_rate:.1f}%'}\n"
    )
    head += "".join(f"- {line}\n" for line in extras) + "\n---\n\n"
    return truncate(head + to_markdown(problem.content))


def with_chinese(problem: FullProblem) -> FullProblem:
    """Return a problem with its Chinese title and statement where it has no others, and a SPOJ problem's own link."""
    texts = (("title", problem.title_cn), ("content", problem.content_cn))
    changes: dict[str, Any] = {
        name: chinese
        for name, chinese in texts
        if _is_blank(getattr(problem, name) or "") and isinstance(chinese, str) and not _is_blank(chinese)
    }
    is_mirrored = problem.source == "spoj" and (problem.link or "").startswith(LUOGU)
    if is_mirrored and isinstance(problem.slug, str) and problem.slug.isascii() and problem.slug.isalnum():
        changes["link"] = f"https://www.spoj.com/problems/{problem.slug.upper()}/"
    return replace(problem, **changes) if changes else problem


def _extras(problem: FullProblem) -> Iterator[str]:
    """Yield the lines below the template of spec 2, for problems that have what the template has no place for."""
    rating = problem.rating
    # The judges without difficulties rate their problems; zero stands for no rating.
    if problem.difficulty is None and type(rating) in {int, float} and 0 < rating < MAX_RATING:
        yield f"{RATING}{rating:.1f}".removesuffix(".0")
    if problem.paid_only == 1:
        yield "Paid only: yes, the judge shows it to subscribers"
    if isinstance(problem.date, str) and problem.date:
        host = {"com": " (leetcode.com)", "cn": " (leetcode.cn)"}.get(str(problem.domain), "")
        yield f"Daily challenge: {_line(problem.date)}{host}"


def similar_page(similar: Similar, note: str = "") -> str:
    """Return the page of a search: a table of the problems that match; under an empty one a note, if there is one."""
    heads = ("#", "Source", "ID", "Title", "Difficulty", "Similarity", "Link")  # rule: 2.T3.table
    rows = [
        # rule: 2.T3.table/2
        (str(number), it.source, str(it.id), it.title, it.difficulty, f"{it.similarity * 100:.1f}%", it.link)
        for number, it in enumerate(similar.results, 1)  # rule: 2.T3.numbered
    ]
    query = NOTHING if similar.rewritten_query is None else similar.rewritten_query
    below = f"\n{note}\n" if note and not rows else ""
    # rule: 2.T3.rewritten-query
    return truncate(f"# Similar Problems\n\nQuery: {query}\n\n{_table(heads, rows)}{below}")


def status_page(status: Status) -> str:
    """Return the page of the platforms: a table of what the backend has of each judge."""
    heads = ("Platform", "Problems", "Missing Content", "Not Embedded")  # rule: 2.T5.columns
    # rule: 2.T5.rows
    rows = [(it.source, f"{it.total:,}", f"{it.missing_content:,}", f"{it.not_embedded:,}") for it in status.platforms]
    return truncate(f"# OJ Platform Status (v{_line(status.version)})\n\n{_table(heads, rows)}")  # rule: 2.T5.heading


def wait_note(fetching: Fetching, day: str) -> str:
    """Return a note that the backend does not have a daily challenge yet."""
    # rule: 2.T1.retry-after
    when = "retry later." if fetching.retry_after is None else f"retry after {fetching.retry_after} seconds."
    # rule: 1.S4.5.retry
    return f"The daily challenge of {day} is being fetched by the backend and is not there yet; {when}"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str | None, ...]]) -> str:
    """Return a table; the rule under each head is as long as the head and its padding."""
    rule = "|" + "|".join("-" * (len(head) + 2) for head in heads) + "|"
    lines = ["| " + " | ".join(heads) + " |", rule]
    # rule: 2.T3.cells
    lines += ["| " + " | ".join(_line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _line(text: str | None) -> str:
    """Return a value as one line; a missing value is shown as such."""
    if text is None:
        return NOTHING
    # rule: 2.T1.one-line
    return " ".join(part for part in text.replace("\t", "\n").splitlines() if part) if not text.isprintable() else text
