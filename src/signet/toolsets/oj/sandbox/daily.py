"""The daily challenge: the problem of a date, or the notice that it is still being fetched.

Every date from 2020-04-01 on has a problem, except that `2024-02-29` is always still being fetched, and `2024-02-28`
is being fetched at its first request (once for each domain).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault

from .problem_store import SampleProblem

__all__ = ["RETRY_AFTER_S", "DailyCalendar"]

FIRST_DAY: Final = date(2020, 4, 1)
ALWAYS_FETCHING: Final = date(2024, 2, 29)
FIRST_FETCHING: Final = date(2024, 2, 28)
RETRY_AFTER_S: Final = 30

DOMAINS: Final = {"com": "leetcode.com", "cn": "leetcode.cn"}
ZONES: Final = {"com": UTC, "cn": timezone(timedelta(hours=8))}

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class DailyCalendar:
    """The dates and the problems that are assigned to them in turn."""

    def __init__(self, problems: list[SampleProblem], clock: Callable[[], datetime]) -> None:
        self._problems = [it for it in problems if it.content is not None and it.title is not None]
        self._clock = clock
        self._fetched: set[str] = set()

    def find(self, query: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the problem of the requested date, or None while it is being fetched.

        Raises:
            Fault: the date, the domain or the source is invalid.
        """
        domain = _domain(query.get("domain"), query.get("source"))
        day = self._day(query.get("date"), domain)
        if day == ALWAYS_FETCHING or (day == FIRST_FETCHING and domain not in self._fetched):
            self._fetched.add(domain)
            return None
        # Another step for the second domain, so that the two domains differ.
        place = day.toordinal() * (1 if domain == "com" else 5)
        fields = msgspec.structs.asdict(self._problems[place % len(self._problems)])
        del fields["source"]
        return {"date": day.isoformat(), "domain": domain, **fields}

    def _day(self, text: str | None, domain: str) -> date:
        today = self._clock().astimezone(ZONES[domain]).date()
        if text is None:
            return today
        if not _DATE.fullmatch(text):
            raise _invalid("invalid date format, expected YYYY-MM-DD")
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise _invalid("invalid calendar date") from None
        if day < FIRST_DAY:
            raise _invalid("date must be >= " + FIRST_DAY.isoformat())
        if day > today:
            raise _invalid("date must be <= today")
        return day


def _domain(domain: str | None, source: str | None) -> str:
    if domain is not None and domain not in DOMAINS:
        raise _invalid("domain must be 'com' or 'cn'")
    if source is None:
        return domain or "com"
    source_domain = next((short for short, name in DOMAINS.items() if name == source), None)
    if source_domain is None:
        message = f"invalid source '{source}', expected 'leetcode.com' or 'leetcode.cn'"
        raise _invalid(message)
    if domain not in (None, source_domain):
        raise _invalid("domain and source conflict")
    return source_domain


def _invalid(detail: str) -> Fault:
    return Fault(Code.INVALID_INPUT, detail)
