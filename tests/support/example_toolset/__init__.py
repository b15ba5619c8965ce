"""A complete toolset outside the package: a weather station with an upstream, settings, a sandbox and a corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from signet.kernel.checkup import CONFIGURED, Check, note, ok
from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, SandboxSpec, Toolset, UpstreamSpec
from signet.settings.fields import setting

__all__ = ["TOOLSET", "StationSettings"]


class StationSettings(Struct, frozen=True, kw_only=True):
    """How the station's API is reached."""

    base_url: Annotated[
        str | None, setting("origin of the station's API; enables station", metavar="URL", flag=True)
    ] = None
    token: Annotated[
        str | None, setting("bearer token for the station's API", metavar="TOKEN", flag=True, secret=True)
    ] = None
    timeout_s: Annotated[float, Meta(gt=0, le=30), setting("seconds that a request may take", metavar="S")] = 10.0
    unit: Annotated[str, setting("unit of temperatures that callers do not name", recorded=True)] = "celsius"


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _upstream(settings: StationSettings) -> UpstreamSpec:
    return UpstreamSpec(base_url=settings.base_url, token=settings.token, timeout_s=settings.timeout_s)


def _sandbox(token: str | None = None, **_: Any) -> Any:
    from .sandbox import build

    return build(token)


def _corpus() -> Sequence[CorpusRow]:
    from .corpus import ROWS

    return ROWS


def _checks(settings: StationSettings) -> Sequence[Check]:
    found = ok("a token is set") if settings.token else note("no token is set", "set STATION_TOKEN")
    return (Check(CONFIGURED, "token of station", lambda: found),)


TOOLSET = Toolset(
    name="station",
    title="Weather station",
    tools=_tools,
    settings=StationSettings,
    needs="base_url",
    upstream=_upstream,
    sandbox=SandboxSpec("a weather station with sample readings", _sandbox, wants_token=True),
    legacy_paths={"/station/v0/reading": "station_read"},
    corpus=_corpus,
    checks=_checks,
    schema_root=str(Path(__file__).parent / "schemas"),
)
