"""The trend of a run's samples: a leak is found, and what wanders or settles is none."""

from __future__ import annotations

import pytest

from attack.observation import MIB
from attack.trend import Sample, Trend, slope


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], 0.0),
        ([(1, 5)], 0.0),
        ([(1, 5), (1, 7)], 0.0),
        ([(0, 1), (1, 3), (2, 5)], 2.0),
        ([(0, 0), (1, 3), (2, 0)], 0.0),
        ([(0, 4), (10, 0)], -0.4),
    ],
)
def test_the_slope_is_that_of_the_line_that_fits_best(points: list[tuple[float, float]], expected: float) -> None:
    assert slope(points) == pytest.approx(expected)


def samples(memory: list[float], descriptors: list[int]) -> list[Sample]:
    """Return samples of ten minutes, one every half a minute."""
    pairs = enumerate(zip(memory, descriptors, strict=True), 1)
    return [Sample(place * 30, int(size * MIB), count) for place, (size, count) in pairs]


def test_a_server_that_fills_its_caches_and_then_wanders_has_no_trend() -> None:
    memory = [60.0 + 5 * place for place in range(10)] + [110.0 + place % 3 for place in range(10)]

    assert Trend.of(samples(memory, [100 + place * 7 % 50 for place in range(20)])).complaints() == []


def test_memory_that_rises_to_the_end_is_told() -> None:
    memory = [60.0 + 3 * place for place in range(20)]

    assert Trend.of(samples(memory, [100] * 20)).complaints() == ["memory rises by 6.0 MiB a minute"]


def test_descriptors_that_rise_to_the_end_are_told() -> None:
    descriptors = [100 + 20 * place for place in range(20)]

    assert Trend.of(samples([60.0] * 20, descriptors)).complaints() == ["descriptors rise by 40 a minute"]


def test_a_run_of_seconds_has_no_trend() -> None:
    assert Trend.of([Sample(1, MIB, 10), Sample(2, 500 * MIB, 5000)]).complaints() == []
