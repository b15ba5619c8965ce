"""The online judge for tests: its played API, sample responses, and `oj-mcp-rs` at the end of two pipes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from door_calls import rpc
from processes import BIN, Pipe, piping
from signet.toolsets.oj.sandbox.api import build
from upstream_harness import DIRECT, UpstreamHarness, playing

OJ = str(BIN / "oj-mcp-rs")
TOOLS = ["get_daily_challenge", "get_problem", "find_similar_problems", "resolve_problem", "get_platform_status"]

PROBLEM = {
    "id": "1", "source": "leetcode", "slug": "two-sum", "title": "Two Sum", "title_cn": "", "difficulty": "Easy",
    "ac_rate": 57.08, "rating": 0.0, "contest": None, "problem_index": None, "tags": ["Array", "Hash Table"],
    "link": "https://leetcode.com/problems/two-sum/", "category": "Algorithms", "paid_only": 0,
    "content": "<p>Add <b>two</b> numbers.</p>", "content_cn": None, "similar_questions": [],
}  # fmt: skip
PAGE = """\
# Two Sum

- Source: leetcode | ID: 1 | Difficulty: Easy
- Tags: Array, Hash Table
- Link: https://leetcode.com/problems/two-sum/
- AC Rate: 57.1%

---

Add **two** numbers."""
"""The Markdown page of that problem."""

HIT = {
    "source": "leetcode", "id": "167", "title": "Two Sum II", "difficulty": "Medium", "link": "https://x.example/167",
    "similarity": 0.79,
}  # fmt: skip
SIMILAR = {"rewritten_query": "pairs that add up", "results": [HIT]}
STATUS = {
    "version": "1.2.3",
    "platforms": [
        {"source": "spoj", "total": 12984, "missing_content": 100, "not_embedded": 1000},
        {"source": "atcoder", "total": 0, "missing_content": 0, "not_embedded": 0},
        {"source": "leetcode", "total": 1234567, "missing_content": 999, "not_embedded": 8356},
    ],
}
SAMPLE = ("leetcode", "9001")
"""The source and the id of a problem in the sandbox."""

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

Said = tuple[str, Any]
"""("answer", text), ("told", text) for a result with `isError`, or ("failed", code) for a JSON-RPC error."""


def encoded(text: str) -> str:
    """Percent-encode a text byte by byte, independently of any library."""
    return "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode())


OjHarness = UpstreamHarness
"""The judge needs nothing beyond the common harness."""


def oj_sandbox(token: str | None = None) -> contextlib.AbstractContextManager[OjHarness]:
    """Play the judge until the block ends; with a token, requests must send it."""
    return playing(build(token), OjHarness)


def serving_oj(url: str, *flags: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Pipe]:
    """Run `oj-mcp-rs` against an upstream until the block ends; without logs by default, so that stderr never fills."""
    return piping(OJ, "--base-url", url, *flags, env={**DIRECT, "RUST_LOG": "off", **(env or {})})


def call(pipe: Pipe, name: str, **arguments: Any) -> Said:
    """Call a tool and return its reply in one form."""
    return said(pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments})))


def said(answer: dict[str, Any]) -> Said:
    """Return a reply in one form, checked against the common shape."""
    if "error" in answer:
        return "failed", answer["error"]["code"]
    result = answer["result"]
    assert set(result) - {"_meta", "resultType"} == {"content", "isError"}
    [block] = result["content"]
    assert set(block) == {"type", "text"}
    assert block["type"] == "text"
    return "told" if result["isError"] else "answer", block["text"]
