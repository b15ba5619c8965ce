"""Benchmark of decoding: 60,000 points, the most in one response of the Bank of Japan, against `json.loads`.

`json.loads` only makes Python values of the text; Signet also checks the response and rebuilds its points.
"""

from __future__ import annotations

import gc
import json
import random
import time
import tracemalloc
from collections.abc import Callable, Sequence

from bench.contenders import Contender
from bench.plan import Plan
from bench.rows import SIGNET, Metric, Row, Sheet, rotated
from signet.kernel.upstream import UpstreamResponse
from signet.toolsets.boj.decode import read_data
from signet.toolsets.boj.query import DataCodeIn

__all__ = ["measure"]

LOADS = "json.loads"
SHAPES = {"250 series of 240 points": (250, 240), "one series of 60,000 points": (1, 60_000)}
MISSING = 0.1
RUNS = 5
"""The runs per round, of which the fastest counts: other work on the machine can only slow a run down."""


def measure(plan: Plan, _: Sequence[Contender]) -> list[Row]:
    """Measure both decoders on the same bodies; time and memory in separate runs, because tracing memory takes time."""
    sheet = Sheet()
    for shape, (series, points) in SHAPES.items():
        body = response_body(series, points)
        response, query = UpstreamResponse(200, "application/json", body), DataCodeIn("CO", ("A",))
        decoders: list[tuple[str, Callable[[], object]]] = [
            (SIGNET, lambda response=response, query=query: read_data(response, query)),
            (LOADS, lambda body=body: json.loads(body)),
        ]
        time_metric = Metric("decoding", f"{shape}, time", "ms", "less")
        memory_metric = Metric("decoding", f"{shape}, memory at its peak", "% of the body", "less")
        for number in range(plan.stdio_rounds):
            for name, decode in rotated(decoders, number):
                sheet.add(time_metric, name, fastest_ms(decode))
                sheet.add(memory_metric, name, peak_bytes(decode) / len(body) * 100)
    return sheet.rows((SIGNET, LOADS))


def fastest_ms(decode: Callable[[], object]) -> float:
    """Return the shortest time of a decoder over several runs."""
    decode()
    times: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        decode()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def peak_bytes(decode: Callable[[], object]) -> int:
    """Return the peak memory of a decoder, without the body."""
    gc.collect()
    tracemalloc.start()
    try:
        decode()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def response_body(series: int, points: int) -> bytes:
    """Return a response in the Bank's format, with a tenth of the values missing."""
    generator = random.Random(60_000)
    rows = [
        {
            "SERIES_CODE": f"TK99F{number:015}",
            "NAME_OF_TIME_SERIES_J": "D.I./業況/大企業/製造業/実績",
            "UNIT_J": "%ポイント",
            "FREQUENCY": "DAILY" if series == 1 else "MONTHLY",
            "CATEGORY_J": "全国短観・判断項目",
            "LAST_UPDATE": 20251216,
            "VALUES": {
                "SURVEY_DATES": list(range(19_000_101, 19_000_101 + points) if series == 1 else months(points)),
                "VALUES": [None if generator.random() < MISSING else figure(generator) for _ in range(points)],
            },
        }
        for number in range(series)
    ]
    head = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "正常に終了しました。", "NEXTPOSITION": None}
    return json.dumps({**head, "RESULTSET": rows}, ensure_ascii=False, separators=(",", ":")).encode()


def months(count: int) -> list[int]:
    """Return the months from January 2000 on."""
    return [(2000 + at // 12) * 100 + at % 12 + 1 for at in range(count)]


def figure(generator: random.Random) -> float:
    """Return a random value with as many digits as the Bank's values have."""
    return round(generator.uniform(-200, 20_000), generator.choice((0, 1, 2, 4)))
