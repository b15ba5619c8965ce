"""The machine: processor, versions, and the load of other processes; nothing that identifies it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from bench.contenders import MCP_PROXY, PROXY_ENVIRONMENT, ROOT, node

__all__ = ["Bystanders", "hardware", "versions"]

ABSENT = "(not installed)"
PACKAGES = (
    "signet-mcp", "mcp", "fastmcp", "uvicorn", "uvloop", "httptools", "pydantic", "msgspec", "jsonschema-rs",
    "markdownify",
)  # fmt: skip
NPM_PACKAGES = ("@modelcontextprotocol/sdk", "@modelcontextprotocol/server")


def hardware() -> str:
    """Return the processor, its cores, the system and the interpreter as text."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libc = " ".join(platform.libc_ver()).strip()
    system = f"{platform.system()} {platform.machine()}" + (f", {libc}" if libc else "")
    return f"{_processor()}, {os.cpu_count()} cores, {system}, {python}"


def versions() -> str:
    """Return the versions of the packages that are compared and of the libraries below them."""
    found = {name: _version(name) for name in PACKAGES}
    found |= {MCP_PROXY: _proxy_version()}
    found |= {name: _npm_version(name) for name in NPM_PACKAGES}
    found |= {"Node.js": _told(node(), "--version"), "Redis": _told("redis-server", "--version")}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _npm_version(name: str) -> str:
    file = ROOT / "node_modules" / name / "package.json"
    return str(json.loads(file.read_bytes())["version"]) if file.exists() else ABSENT


def _told(*command: str) -> str:
    """Return the version that a program tells."""
    if shutil.which(command[0]) is None:
        return ABSENT
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    match = re.search(r"\d+(\.\d+)+", text)
    return match[0] if match else ABSENT


def _proxy_version() -> str:
    folders = [str(folder) for folder in PROXY_ENVIRONMENT.glob("lib/python*/site-packages")]
    return next((one.version for one in distributions(name=MCP_PROXY, path=folders)), ABSENT)


def _version(name: str) -> str:
    """Return the version of a package; not every benchmark needs them all."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ABSENT


class Bystanders:
    """The processor time of other processes since the start; the page reports it, as it disturbs a run."""

    def __init__(self) -> None:
        """Start counting."""
        self._begun, self._busy_s, self._own_s = time.perf_counter(), _busy_s(), _own_s()

    def share(self) -> float | None:
        """Return the share of all cores that other processes took, or None if the kernel does not tell."""
        busy_s = _busy_s()
        if busy_s is None or self._busy_s is None:
            return None
        others_s = busy_s - self._busy_s - (_own_s() - self._own_s)
        return max(0.0, others_s / ((time.perf_counter() - self._begun) * (os.cpu_count() or 1)))


def _busy_s() -> float | None:
    """Return the processor time of all processes since boot, with stolen time and without interrupts."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, _irq, _softirq, steal = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Return the processor time of this process and its ended children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _processor() -> str:
    """Return the model of the processor, if the kernel tells it."""
    info = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return match[1].strip() if match else platform.processor() or "unknown processor"
