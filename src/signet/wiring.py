"""What a toolset is handed at the start: its way out, and what it was told."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from signet.kernel.upstream import Upstream
from signet.logs import DEBUG, Log
from signet.runs import LiveRun
from signet.settings import Settings, UsageError

__all__ = ["ToolsetRuntime", "build_runtime"]

OJ_BODY_BYTES: Final = 1_048_576
"""Spec 1's limit on what is read of an answer."""


class ToolsetRuntime(msgspec.Struct, frozen=True):
    """What the tools of one toolset find in their context."""

    upstream: Upstream | None = None
    options: Any = None


def build_runtime(toolset: str, settings: Settings, log: Log, run: LiveRun | None = None) -> ToolsetRuntime:
    """Fit a toolset out as the settings say.

    Raises:
        UsageError: they do not say where its upstream is, or what they say cannot be used.
    """
    make = {"oj": _judge, "boj": _bank}.get(toolset)
    try:
        return (
            ToolsetRuntime() if make is None else make(settings, partial(log.line, DEBUG, "upstream"), run or LiveRun())
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _judge(settings: Settings, log: Any, run: LiveRun) -> ToolsetRuntime:
    from signet.toolsets.oj.api import utc_today
    from signet.upstream.http import HttpUpstream, Limits, check_token
    from signet.upstream.origin import parse_origin

    def outside() -> Upstream:
        if settings.oj_base_url is None:
            message = "the oj toolset has no backend: write --oj-base-url or set OJ_BASE_URL"
            raise ValueError(message)
        limits = Limits(settings.oj_timeout_s, OJ_BODY_BYTES)
        token = check_token(settings.oj_token)
        origin = parse_origin(settings.oj_base_url)
        return HttpUpstream(origin, limits, token=token, proxied=not settings.sandbox, log=log)

    return ToolsetRuntime(run.upstream_for("oj", outside), run.today_for("oj", utc_today))


def _bank(settings: Settings, log: Any, run: LiveRun) -> ToolsetRuntime:
    from signet.toolsets.boj.models import MAX_BODY_BYTES
    from signet.toolsets.boj.rate_policy import interval_s, may_keep
    from signet.toolsets.boj.retry import Retry
    from signet.upstream.caching import CachePolicy, CachingUpstream
    from signet.upstream.http import HttpUpstream, Limits
    from signet.upstream.origin import parse_origin
    from signet.upstream.rate_limiter import RateLimiter

    origin = parse_origin(settings.boj_base_url, with_path=True)
    limits = Limits(settings.boj_timeout_ms / 1000, MAX_BODY_BYTES)
    # Processes do not know of each other: each keeps the pace of all.
    pace = RateLimiter(interval_s(origin, settings.boj_min_interval_ms) * settings.workers)
    manners = CachePolicy(settings.boj_cache_s, may_keep)

    def outside() -> Upstream:
        proxied = not settings.sandbox
        asked = HttpUpstream(origin, limits, packed=True, proxied=proxied, pace=pace, log=log)
        return CachingUpstream(asked, manners)

    # Recorded as the tools see it: what was kept or shared then is not asked anew when it is replayed.
    return ToolsetRuntime(
        run.upstream_for("boj", outside), Retry(settings.boj_retry_max, settings.boj_retry_backoff_ms)
    )
