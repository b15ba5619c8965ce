"""Online judges: problems, daily challenges and searches, read from one backend (specs 1 and 2)."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, json

from signet.kernel.checkup import CONFIGURED, Check, CheckupResult, note, ok
from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, SandboxSpec, Toolset, UpstreamSpec
from signet.kernel.upstream import Upstream, UpstreamRequest
from signet.settings.fields import setting

__all__ = ["TOOLSET", "OjSettings"]


class OjSettings(Struct, frozen=True, kw_only=True):
    """How the online-judge backend is reached."""

    base_url: Annotated[
        str | None, setting("origin of the online-judge backend; enables oj", metavar="URL", flag=True)
    ] = None
    token: Annotated[
        str | None,
        setting(
            "bearer token for the backend; a process list shows a flag, but not a variable",
            metavar="TOKEN",
            flag=True,
            secret=True,
        ),
    ] = None
    timeout_s: Annotated[
        # rule: 1.S2.1.timeout
        float, Meta(gt=0, le=30), setting("seconds that a request to the backend may take", metavar="S")
    ] = 30.0  # rule: 1.S2.1.timeout/2
    cache: Annotated[
        str | None, setting("folder in which statements are kept, since they do not change", metavar="DIR", flag=True)
    ] = None
    offline: Annotated[bool, setting("answer from the folder of statements alone")] = False
    as_specified: Annotated[bool, setting("", recorded=True)] = False
    """Whether pages have the lines of spec 2 and no others, and messages name the flags of `oj-mcp-rs`."""


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _upstream(settings: OjSettings) -> UpstreamSpec:
    from .api import MAX_BODY_BYTES

    return UpstreamSpec(
        base_url=settings.base_url,
        called="the online-judge backend",
        address_setting=f"the backend's base URL ({'--base-url' if settings.as_specified else 'OJ_BASE_URL'})",
        token=settings.token,
        timeout_s=settings.timeout_s,
        max_body_bytes=MAX_BODY_BYTES,
        # The status shows whether a token is demanded, and accepted. The health is open, and bad without embeddings.
        probe=UpstreamRequest("/status"),
    )


def _checks(settings: OjSettings) -> Sequence[Check]:
    def token() -> CheckupResult:
        if settings.token:
            return ok("the backend is sent a token")
        return note("no token: get_platform_status needs one, and most backends do for all tools", "set OJ_TOKEN")

    return (Check(CONFIGURED, "token of oj", token),)


def _service(settings: OjSettings, upstream: Upstream | None) -> Upstream | None:
    """Return the backend, behind the folder of statements where there is one."""
    if upstream is None or settings.cache is None:
        return upstream
    from .statement_cache import StatementCache

    return StatementCache(upstream, settings.cache, offline=settings.offline)


def _sandbox(token: str | None = None, **more: Any) -> Any:
    from .sandbox.api import build

    return build(token, **more)


def _corpus() -> Sequence[CorpusRow]:
    from importlib.resources import files

    rows: list[CorpusRow] = json.decode((files(__package__) / "corpus.json").read_bytes())
    return rows


TOOLSET = Toolset(
    name="oj",
    title="Online judge",
    tools=_tools,
    instructions=(
        "Online-judge problems: call resolve_problem first with a URL, slug or id; get_problem needs the exact judge"
        " (source) and id, find_similar_problems a query, or source and id."
    ),
    settings=OjSettings,
    needs="base_url",
    upstream=_upstream,
    service=_service,
    sandbox=SandboxSpec("an online-judge backend with sample problems", _sandbox, wants_token=True),
    corpus=_corpus,
    checks=_checks,
)
