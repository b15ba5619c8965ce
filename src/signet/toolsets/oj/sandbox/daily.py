"""The daily challenge: which date may be asked for, which problem it has, and when it is still being fetched.

Any date from 2020-04-01 on has a problem, except that `2024-02-29` is always still being fetched, and
`2024-02-28` is when it is asked for the first time (once for each domain).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault

from .problem import SampleProblem

__all__ = ["ALWAYS_FETCHING", "FIRST_DAY", "FIRST_FETCHING", "RETRY_AFTER_S", "Calendar"]

FIRST_DAY: Final = date(2020, 4, 1)
ALWAYS_FETCHING: Final = date(2024, 2, 29)
FIRST_FETCHING: Final = date(2024, 2, 28)
RETRY_AFTER_S: Final = 30

DOMAINS: Final = {"com": "leetcode.com", "cn": "leetcode.cn"}
ZONES: Final = {"com": UTC, "cn": timezone(timedelta(hours=8))}

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Calendar:
    """The days, and the problems that take turns in them."""

    def __init__(self, problems: list[SampleProblem], clock: Callable[[], datetime]) -> None:
        self._problems = [one for one in problems if one.content is not None and one.title is not None]
        self._clock = clock
        self._asked: set[str] = set()

    def ask(self, query: Mapping[str, str]) -> dict[str, Any] | None:
        """Give the problem of a day, None while it is being fetched.

        Raises:
            Fault: the query names no such day.
        """
        domain = _domain(query.get("domain"), query.get("source"))
        day = self._day(query.get("date"), domain)
        if day == ALWAYS_FETCHING or (day == FIRST_FETCHING and domain not in self._asked):
            self._asked.add(domain)
            return None
        # Odd, so that the two domains do not walk in step.
        turn = day.toordinal() * (1 if domain == "com" else 5)
        fields = msgspec.structs.asdict(self._problems[turn % len(self._problems)])
        del fields["source"]
        return {"date": day.isoformat(), "domain": domain, **fields}

    def _day(self, text: str | None, domain: str) -> date:
        today = self._clock().astimezone(ZONES[domain]).date()
        if text is None:
            return today
        if not _DATE.fullmatch(text):
            raise _bad("invalid date format, expected YYYY-MM-DD")
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise _bad("invalid calendar date") from None
        if day < FIRST_DAY:
            raise _bad("date must be >= " + FIRST_DAY.isoformat())
        if day > today:
            raise _bad("date must be <= today")
        return day


def _domain(domain: str | None, source: str | None) -> str:
    if domain is not None and domain not in DOMAINS:
        raise _bad("domain must be 'com' or 'cn'")
    if source is None:
        return domain or "com"
    named = next((short for short, name in DOMAINS.items() if name == source), None)
    if named is None:
        message = f"invalid source '{source}', expected 'leetcode.com' or 'leetcode.cn'"
        raise _bad(message)
    if domain not in (None, named):
        raise _bad("domain and source conflict")
    return named


def _bad(detail: str) -> Fault:
    return Fault(Code.INVALID_INPUT, detail)
