"""What several of these tests need: a diagram, a second opinion on its encoding, and the outside programs."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from processes import PATIENCE_S, ROOT, clean_env
from upstream_harness import DIRECT

INSPECTOR: Final = ROOT / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOL: Final = "encodePlantUML"
READY_TOOLS: Final = (
    "encodePlantUML", "decodePlantUML", "checkPlantUML", "renderPlantUML", "linkPlantUML",
    "boj_get_data_code", "boj_get_data_layer", "boj_get_metadata",
    "boj_search", "boj_list_databases", "boj_get_series",
)  # fmt: skip
"""The tools that need no setting, in the order in which they are listed."""
JUDGE_TOOLS: Final = (
    "get_daily_challenge", "get_problem", "find_similar_problems", "resolve_problem", "get_platform_status",
    "get_samples",
)  # fmt: skip
"""The tools that need the address of a judge's backend, or the sandbox; they are listed behind the others."""
SOURCE: Final = "@startuml\nBob -> Alice : hello\n@enduml"
URL_PREFIX: Final = "https://www.plantuml.com/plantuml/svg/"

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
META: Final = {
    VERSION_KEY: "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "witness", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of the 2026-07-28 protocol carries."""

_ours = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_base64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def source_of(url: str) -> str:
    """Read the diagram back out of its address, by the alphabet and the inflate of the standard library."""
    encoded = url.removeprefix(URL_PREFIX).encode().translate(bytes.maketrans(_ours, _base64))
    return zlib.decompress(base64.b64decode(encoded + b"=" * (-len(encoded) % 4)), wbits=-15).decode()


def node() -> str:
    """The Node.js that `scripts/install_tools.sh` chose."""
    beside = ROOT / "build" / "node" / "bin" / "node"
    return str(beside) if beside.exists() else "node"


def run_outside(*command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run one outside program to its end; a missing one fails with the way to get it."""
    assert shutil.which(command[0]), f"{command[0]} is not installed: run scripts/install_tools.sh"
    return subprocess.run(
        list(command),
        cwd=ROOT,
        env=clean_env(env),
        capture_output=True,
        encoding="utf-8",
        timeout=4 * PATIENCE_S,
        check=False,
    )


def inspected(target: tuple[str, ...], era: str, home: Path, *options: str) -> Any:
    """Run the Inspector's command line on a server, and give the result that it shows."""
    done = run_outside(
        node(), str(INSPECTOR), "--cli", "--protocol-era", era, "--format", "json", "--quiet", *options, *target,
        env={**DIRECT, "HOME": str(home)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["result"]
