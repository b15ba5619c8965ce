"""Statistics of the Bank of Japan: observations and lists of series, read from its public API (spec 3)."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, json

from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, SandboxSpec, Toolset, UpstreamSpec
from signet.kernel.upstream import UpstreamRequest
from signet.settings.fields import setting

__all__ = ["PUBLIC_ORIGIN", "TOOLSET", "BojSettings", "interval_s", "is_public", "max_result_bytes"]

PUBLIC_ORIGIN: Final = "https://www.stat-search.boj.or.jp"
PUBLIC_INTERVAL_MS: Final = 1000
"""The Bank publishes no limit and blocks clients that ask too often; other clients keep to one request per second."""

MAX_U32: Final = 2**32 - 1
MAX_U64: Final = 2**64 - 1
"""Spec 3 counts milliseconds in 64 bits, more than a timer can wait: what is above a year counts as a year."""
A_YEAR_MS: Final = 365 * 24 * 3_600_000

MAX_MB: Final = 1024
BYTES_PER_MB: Final = 1_048_576

PROBE: Final = UpstreamRequest(
    "/api/v1/getDataCode?format=json&lang=en&db=FM08&startDate=202401&endDate=202401&code=FXERD01"
)
"""One month of one series: some 2 KB."""


class BojSettings(Struct, frozen=True, kw_only=True):
    """How the Bank of Japan's API is asked."""

    base_url: Annotated[
        str, setting("origin of the Bank of Japan's API, without /api/v1", metavar="URL", flag=True)
    ] = PUBLIC_ORIGIN  # rule: 3.config.base-url
    timeout_ms: Annotated[
        int, Meta(ge=0, le=A_YEAR_MS), setting("milliseconds that one attempt may take", metavar="MS", up_to=MAX_U64)
    ] = 10_000  # rule: 3.config.timeout
    retry_max: Annotated[
        int, Meta(ge=0, le=MAX_U32), setting("number of further attempts", metavar="N", recorded=True)
    ] = 2  # rule: 3.retry.default
    retry_backoff_ms: Annotated[
        int,
        Meta(ge=0, le=A_YEAR_MS),
        setting("milliseconds before the first retry, doubled each time", metavar="MS", up_to=MAX_U64),
    ] = 200  # rule: 3.config.retry-backoff
    min_interval_ms: Annotated[
        Annotated[int, Meta(ge=0, le=60_000)] | None,
        setting("least milliseconds between requests", metavar="MS", default_text="1000 for the public host, else 0"),
    ] = None
    cache_s: Annotated[
        int, Meta(ge=0, le=86_400), setting("seconds for which lists of series are kept", metavar="S")
    ] = 3600
    max_body_mb: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_MB)] | None,
        setting(
            "largest answer of the Bank that is read, in MiB",
            metavar="MB",
            default_text="16; 128 for boj-mcp-server",
            recorded=True,
        ),
    ] = None
    max_result_mb: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_MB)] | None,
        setting(
            "largest result that is passed on, in MiB",
            metavar="MB",
            default_text="4; 128 for boj-mcp-server",
            recorded=True,
        ),
    ] = None
    index_dir: Annotated[
        str,
        setting(
            "folder of the index that boj_search needs",
            metavar="DIR",
            default_text="signet/boj in the user's cache folder; memory for a server on this machine",
            flag=True,
        ),
    ] = ""
    index_days: Annotated[
        int, Meta(ge=1, le=365), setting("days after which a list of the index is asked for again", metavar="N")
    ] = 7


def is_public(origin: str) -> bool:
    """Return True if the origin is the Bank's own host."""
    return _host(origin) == _host(PUBLIC_ORIGIN)


def interval_s(settings: BojSettings) -> float:
    """Return the least time between two requests: the given one, or the default of the origin."""
    if settings.min_interval_ms is not None:  # rule: 3.polite.settable
        return settings.min_interval_ms / 1000
    return PUBLIC_INTERVAL_MS / 1000 if is_public(settings.base_url) else 0.0  # rule: 3.polite.spaced


def max_body_bytes(settings: BojSettings | None) -> int:
    """Return the limit of a response of the Bank."""
    from .models import MAX_BODY_BYTES

    limit = settings.max_body_mb if settings is not None else None
    return MAX_BODY_BYTES if limit is None else limit * BYTES_PER_MB


def max_result_bytes(settings: BojSettings | None) -> int:
    """Return the limit of a result of the three tools."""
    from .models import MAX_RESULT_BYTES

    limit = settings.max_result_mb if settings is not None else None
    return MAX_RESULT_BYTES if limit is None else limit * BYTES_PER_MB


def _host(origin: str) -> str:
    return origin.strip().lower().partition("://")[2].partition("/")[0].partition(":")[0].removesuffix(".")


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _upstream(settings: BojSettings) -> UpstreamSpec:
    from .tools import may_cache

    return UpstreamSpec(
        base_url=settings.base_url,
        called="the Bank of Japan",
        address_setting="BOJ_BASE_URL",
        allows_path=True,
        timeout_s=settings.timeout_ms / 1000,
        max_body_bytes=max_body_bytes(settings),
        gzip=True,  # rule: 3.request.headers
        interval_s=interval_s(settings),
        cache_s=settings.cache_s,
        may_cache=may_cache,
        coalesce=True,
        probe=PROBE,
    )


def _sandbox(token: str | None = None, **more: Any) -> Any:
    from .sandbox.api import build

    return build(token, **more)


def _corpus() -> Sequence[CorpusRow]:
    from importlib.resources import files

    rows: list[CorpusRow] = json.decode((files(__package__) / "corpus.json").read_bytes())
    return rows


TOOLSET = Toolset(
    name="boj",
    title="Bank of Japan",
    tools=_tools,
    instructions=(
        "Bank of Japan statistics: call boj_get_metadata with a database (db) first to find codes or layers, then"
        " boj_get_data_code or boj_get_data_layer. Give lang=en unless Japanese is wanted. Periods are 2024 (year) or"
        " 202401 (half, quarter, month; months for days and weeks). While next_position is not null, call again with"
        " start_position set to it."
    ),
    settings=BojSettings,
    upstream=_upstream,
    sandbox=SandboxSpec("the Bank of Japan's statistics API with sample series", _sandbox),
    without_waiting={"retry_backoff_ms": 0, "min_interval_ms": 0, "cache_s": 0},
    corpus=_corpus,
)
