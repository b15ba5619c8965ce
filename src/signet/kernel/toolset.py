"""A toolset: one value that holds everything the rest of Signet needs to know about it. Pure.

catalogue ── Toolset ─┬─ settings    flags, environment, --help, reference page
                      ├─ upstream    how its service is reached
                      ├─ service     what the tools find in place of the upstream itself: an index, an engine
                      ├─ sandbox     a stand-in for that service, with sample data
                      ├─ corpus      the calls that `signet parity` makes
                      ├─ checks      what `signet doctor` looks at
                      └─ tools       loaded when the toolset is enabled
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .tools import Tool
from .upstream import Upstream, UpstreamRequest, UpstreamResponse

if TYPE_CHECKING:
    from .checkup import Check

__all__ = ["CorpusRow", "PageContent", "PageSpec", "SandboxSpec", "Toolset", "UpstreamSpec"]

MAX_REDIRECTS: Final = 10

CorpusRow = tuple[str, str, Mapping[str, Any]] | tuple[str, str, Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""A call for the parity corpus: its name, the tool, the arguments, and the faults that the sandbox plays for it."""


class NoSettings(msgspec.Struct, frozen=True):
    """The settings of a toolset that has none."""


def _no_checks(_: Any) -> Sequence[Check]:
    return ()


def _never(_: UpstreamRequest, __: UpstreamResponse) -> bool:
    return False


class UpstreamSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How the service behind a toolset is reached."""

    base_url: str | None
    """The origin of the service; None where the settings name none."""
    called: str = "the service"
    """What messages call the service."""
    address_setting: str = "the base URL"
    """Where the origin is set, for a message that asks to check it."""
    allows_path: bool = False
    """Whether the base URL may have a path."""
    token: str | None = None
    """The bearer token that requests carry."""
    timeout_s: float = 30.0
    """From the first byte sent to the last byte read, redirects included."""
    max_body_bytes: int = 1_048_576
    gzip: bool = False
    """Whether responses may come compressed."""
    max_redirects: int = MAX_REDIRECTS
    only_public: str = ""
    """Why only public addresses are connected to, for a message; empty where the origin may be anywhere."""
    interval_s: float = 0.0
    """The least time between the starts of two requests."""
    cache_s: float = 0.0
    """How long a response that may be cached is kept."""
    may_cache: Callable[[UpstreamRequest, UpstreamResponse], bool] = _never
    retries: int = 0
    """How often a GET or HEAD is sent again after a network failure or a status that may pass."""
    coalesce: bool = False
    """Whether equal requests that are under way at once are sent once; needed for the cache too."""
    probe: UpstreamRequest | None = None
    """A cheap request that the service answers with JSON and status 200, for `signet doctor`."""


class SandboxSpec(msgspec.Struct, frozen=True):
    """A stand-in for the service behind a toolset, on loopback."""

    plays: str
    """What it plays, for people."""
    build: Callable[..., Any]
    """Build a `signet.sandbox.message.Sandbox`; called with the bearer token to ask for and, where given, a `clock`."""
    wants_token: bool = False
    """Whether it is started with a token, so that every tool can be tried."""


class PageContent(msgspec.Struct, frozen=True):
    """What a page shows: bytes, and how long they may be kept."""

    body: bytes
    content_type: str
    max_age_s: int = 0


class PageSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that can be read with GET: each is one call of a tool, whose result is shown as bytes."""

    prefix: str
    """How the paths begin."""
    tool: str
    """The name of the tool."""
    arguments: Callable[[str], Mapping[str, Any]]
    """Return the arguments for the rest of a path; raise Fault where it stands for none."""
    content: Callable[[Any], PageContent]
    """Return the page of a result."""


class Toolset(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the rest of Signet needs to know about one toolset."""

    name: str
    """The word behind `--toolsets`; the prefix of its flags, its variables and its tools' slugs."""
    title: str
    """What people call the service."""
    tools: Callable[[], tuple[Tool, ...]]
    """Return the tools, importing them: it is called when the toolset is enabled."""
    instructions: str = ""
    """What a model should do first with these tools: a part of the server's `instructions`."""
    shared_instructions: str = ""
    """The same for the tools of this toolset and of the one that it extends: where both are enabled, it stands in place
    of both texts."""
    extends: str = ""
    """The toolset of the same domain whose settings, upstream and sandbox this one uses; its tools' slugs have that
    toolset's name as their prefix."""
    settings: type[Any] = NoSettings
    """A frozen struct whose fields are annotated with `setting`; tools find its value in their context."""
    needs: str = ""
    """The setting without which the toolset is not enabled by default."""
    upstream: Callable[[Any], UpstreamSpec] | None = None
    """Return the upstream for a value of `settings`."""
    service: Callable[[Any, Upstream | None], Upstream | None] | None = None
    """Return what the tools find as their upstream, for a value of `settings`: around the upstream, or in its place.

    It is recorded and replayed as an upstream is, so a tool that asks it is the same in a replay.
    """
    has_services: bool = False
    """Whether its tools name the service that they ask in each request, and how it is reached."""
    secrets: Callable[[], Iterable[str]] = tuple
    """Return the values that must not be written anywhere, beside the secret ones of `settings`."""
    sandbox: SandboxSpec | None = None
    without_waiting: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Settings under which no call waits and nothing is cached, for parity runs and replays."""
    legacy_paths: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Further REST paths, each with the name of the tool behind it, answered in the flat shape."""
    pages: Callable[[], Sequence[PageSpec]] = tuple
    """Return the pages over tools that the HTTP server offers beside its doors."""
    corpus: Callable[[], Sequence[CorpusRow]] = tuple
    """Return the calls that a parity run makes."""
    checks: Callable[[Any], Sequence[Check]] = _no_checks
    """Return what `signet doctor` looks at, for a value of `settings`, beside the upstream."""
    schema_root: str | None = None
    """The folder with `tools/<slug>.json`, where the contracts are not among Signet's own; for those that are derived
    from types, the folder in which they are frozen, if it is there."""
    bundles: Callable[[], Mapping[str, bytes]] = dict
    """Return the contracts that are derived from types, by slug; those that are frozen in files must be equal."""
    version: str = ""
    """The version of contracts that are derived from types; empty where the author writes none."""
    is_part: bool = False
    """Whether these are some of the tools whose contracts are frozen together."""
    is_foreign: bool = False
    """Whether the tools are those of somebody else's service: no check calls them, and nothing of them is frozen."""

    @property
    def domain(self) -> str:
        """The name under which the settings stand: the toolset's own, or that of the toolset that it extends."""
        return self.extends or self.name
