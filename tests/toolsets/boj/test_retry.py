"""When the Bank of Japan is asked again: spec 3's policy, without waiting for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj import BojSettings
from signet.toolsets.boj.faults import refused, too_large, transport, undecodable, validation
from signet.toolsets.boj.tools import delay_ms

PASSING = [transport("refused"), refused(500, "M181090S", "…"), refused(503, "M181091S", "…")]
LASTING = [
    validation("CODE is required"),
    undecodable("it has no STATUS"),
    too_large("it has more than 5 bytes", "Ask for less."),
    *(refused(status, "M181005E", "…") for status in (0, 400, 404, 429, 501, 502, 504)),
    Fault(Code.INTERNAL_ERROR, "a bug"),
]


def delays(settings: BojSettings, fault: Fault) -> list[int]:
    """Return the delays until the policy gives up."""
    found: list[int] = []
    while (delay := delay_ms(settings, len(found), fault)) is not None:
        found.append(delay)
    return found


@pytest.mark.spec("3.retry.only", "3.retry.default")
@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_what_may_pass_is_asked_twice_more_after_200_and_400_ms(fault: Fault) -> None:
    assert delays(BojSettings(), fault) == [200, 400]


@pytest.mark.spec("3.retry.only")
@pytest.mark.parametrize("fault", LASTING, ids=str)
def test_nothing_else_is_asked_again(fault: Fault) -> None:
    assert delays(BojSettings(retry_max=5), fault) == []


@pytest.mark.spec("3.retry.count")
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_number_of_retries_is_settable(count: int) -> None:
    assert len(delays(BojSettings(retry_max=count), PASSING[0])) == count


@pytest.mark.spec("3.retry.backoff")
@given(st.integers(0, 10_000), st.integers(0, 40))
def test_the_wait_doubles_each_time(backoff_ms: int, attempt: int) -> None:
    assert (
        delay_ms(BojSettings(retry_max=50, retry_backoff_ms=backoff_ms), attempt, PASSING[0]) == backoff_ms * 2**attempt
    )


@pytest.mark.spec("3.retry.backoff")
def test_without_a_backoff_there_is_no_wait() -> None:
    assert delays(BojSettings(retry_max=3, retry_backoff_ms=0), PASSING[0]) == [0, 0, 0]


@pytest.mark.spec("3.retry.backoff")
@given(st.integers(1, 2**64 - 1), st.integers(63, 2**32 - 2))
def test_the_wait_stops_growing_where_timers_end(backoff_ms: int, attempt: int) -> None:
    assert delay_ms(BojSettings(retry_max=2**32 - 1, retry_backoff_ms=backoff_ms), attempt, PASSING[0]) == 2**63 - 1
