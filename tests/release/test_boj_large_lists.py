"""The largest list of the Bank of Japan, 100 MB, through `boj-mcp-server`: whole, and in at most 600 MB of memory.

`make test-release` runs this: each list takes up to a minute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from boj_harness import CODE, METADATA, SPOT, BojHarness, boj_sandbox, call, peak_mib, request, serving_boj
from processes import Pipe

pytestmark = pytest.mark.timeout(900)

ROWS = 166_517
"""The series of the TANKAN, and four headings."""
MAX_MB = 600


@pytest.fixture(scope="module")
def bank() -> Iterator[BojHarness]:
    with boj_sandbox() as harness:
        yield harness


def pongs_until(pipe: Pipe, request_id: str) -> tuple[int, bytes]:
    """Ping until a call is answered; return how many pings were answered before, and the answer's line."""
    count = 0
    while True:
        pipe.send({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
        line = pipe.line()
        if line.startswith(b'{"jsonrpc":"2.0","id":"' + request_id.encode()):
            return count, line
        count += 1


@pytest.mark.spec("3.limits.whole", "3.limits.memory")
@pytest.mark.parametrize("lang", ["jp", "en"])
@pytest.mark.parametrize("layout", ["json", "csv"])
def test_the_list_of_the_tankan_is_answered_whole(bank: BojHarness, layout: str, lang: str) -> None:
    with serving_boj(bank.url, "--timeout-ms", "600000") as pipe:
        call(pipe, CODE, **SPOT)
        pipe.send(request(METADATA, {"db": "CO_WHOLE", "format": layout, "lang": lang}, "whole"))

        pongs, line = pongs_until(pipe, "whole")

        peak_mb = peak_mib(pipe) * 1024 * 1024 / 1_000_000
    result = json.loads(line)["result"]
    listed = result["structuredContent"]
    print(f"{layout} {lang}: {len(listed['entries']):,} rows, {len(line):,} bytes, {peak_mb:.0f} MB, {pongs:,} pings")
    assert (listed["entries_count"], len(listed["entries"])) == (ROWS, ROWS)
    same = json.loads(result["content"][0]["text"]) == listed
    assert same
    assert peak_mb <= MAX_MB
    assert pongs >= 10
