"""Projects of users for tests: a folder with tools and tests of their own, and a run of pytest in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from processes import clean_env

__all__ = ["counts", "make_user_project", "run_pytest"]

LONG_S = 240.0


def make_user_project(folder: Path, tools: str, tests: str, toolsets: str = '["tools.py"]') -> Path:
    """Write a project whose tests import nothing but Signet and its own tools."""
    (folder / "tools.py").write_text(tools, encoding="utf-8")
    (folder / "test_tools.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    if toolsets:
        (folder / "signet.toml").write_text(f"toolsets = {toolsets}\n", encoding="utf-8")
    return folder


def run_pytest(folder: Path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a project with Signet's plugin and no other, every warning an error."""
    kept = {name: value for name, value in clean_env().items() if name != "CI" and not name.startswith("PYTEST_")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "signet.testing.plugin",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            *flags,
        ],
        cwd=folder,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env},
        capture_output=True,
        encoding="utf-8",
        timeout=LONG_S,
        check=False,
    )


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return how many tests passed, failed, and so on."""
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    return {word.removesuffix("s"): int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", last)}
