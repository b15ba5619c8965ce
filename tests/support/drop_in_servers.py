"""The two drop-in servers as data: what each is called, offers and needs, for the tests that hold for both."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boj_harness
import oj_harness
from processes import BIN, ROOT, Pipe, piping
from upstream_harness import DIRECT, UpstreamHarness

ORIGIN = "https://upstream.example"
TOKEN = "a-token-for-the-clients"


def package_version() -> str:
    """Return the version of the package where its builder reads it, without an import of what is tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    source = (ROOT / project["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(\d+\.\d+\.\d+)"$', source, re.MULTILINE)
    return str(version)


VERSION = package_version()


@dataclass(frozen=True)
class DropInServer:
    """One drop-in server, the toolset behind it and the sandbox that plays its upstream."""

    name: str
    toolset: str
    tools: list[str]
    calls: dict[str, dict[str, Any]]
    """Valid arguments for each tool."""
    play: Callable[[], AbstractContextManager[UpstreamHarness]]
    url_variable: str
    start_flags: tuple[str, ...] = ()
    """Flags without which the server does not start."""
    upstream_flags: tuple[str, ...] = ()
    """Flags beside the base URL for calls to the sandbox."""
    upstream_environ: dict[str, str] = field(default_factory=dict)
    """The same as variables of `signet`."""
    loud: dict[str, str] = field(default_factory=dict)
    """Variables that make the server log as much as it can."""
    url_status: int = 2
    """The exit status for a base URL that cannot be used."""
    structured: bool = True
    """Whether results have structured content beside their text, and tools an output schema."""

    @property
    def command(self) -> str:
        return str(BIN / self.name)

    def slug(self, tool: str) -> str:
        return f"{self.toolset}.{tool.removeprefix('boj_')}"

    def flags(self, upstream: UpstreamHarness) -> tuple[str, ...]:
        return ("--base-url", upstream.url, *self.upstream_flags)

    def environ(self, upstream: UpstreamHarness) -> dict[str, str]:
        """Return the variables by which `signet` learns of the upstream."""
        return {**DIRECT, self.url_variable: upstream.url, **self.upstream_environ}

    def piping(self, upstream: UpstreamHarness, **env: str) -> AbstractContextManager[Pipe]:
        """Run the server against an upstream until the block ends."""
        return piping(self.command, *self.flags(upstream), env={**DIRECT, "RUST_LOG": "off", **env})


OJ_SERVER = DropInServer(
    name="oj-mcp-rs",
    toolset="oj",
    tools=oj_harness.TOOLS,
    calls={
        "get_daily_challenge": {"domain": "cn", "date": "2024-01-01"},
        "get_problem": {"source": oj_harness.SAMPLE[0], "id": oj_harness.SAMPLE[1]},
        "find_similar_problems": {"query": "pairs in an array", "limit": 3, "threshold": 0.0},
        "resolve_problem": {"query": ":".join(oj_harness.SAMPLE)},
        "get_platform_status": {},
    },
    play=partial(oj_harness.oj_sandbox, TOKEN),
    url_variable="OJ_BASE_URL",
    start_flags=("--base-url", ORIGIN),
    upstream_flags=("--token", TOKEN),
    upstream_environ={"OJ_TOKEN": TOKEN},
    loud={"RUST_LOG": "trace"},
    url_status=1,
    structured=False,
)
BOJ_SERVER = DropInServer(
    name="boj-mcp-server",
    toolset="boj",
    tools=boj_harness.TOOLS,
    calls=boj_harness.CALLS,
    play=boj_harness.boj_sandbox,
    url_variable="BOJ_BASE_URL",
    upstream_flags=("--retry-backoff-ms", "0"),
    upstream_environ={"BOJ_RETRY_BACKOFF_MS": "0"},
    loud={"SIGNET_LOG": "trace"},
)
SERVERS = {server.name: server for server in (OJ_SERVER, BOJ_SERVER)}
