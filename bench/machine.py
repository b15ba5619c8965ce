"""On what it was measured, and how quiet it was there; nothing that names the machine."""

from __future__ import annotations

import os
import platform
import re
import time
from importlib.metadata import version
from pathlib import Path

__all__ = ["Bystanders", "hardware", "versions"]

PACKAGES = (
    "signet-mcp", "mcp", "fastmcp", "uvicorn", "uvloop", "httptools", "pydantic", "msgspec", "html-to-markdown",
    "markdownify",
)  # fmt: skip


def hardware() -> str:
    """Name the processor, its cores, the system and the interpreter."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libc = " ".join(platform.libc_ver()).strip()
    system = f"{platform.system()} {platform.machine()}" + (f", {libc}" if libc else "")
    return f"{_processor()}, {os.cpu_count()} cores, {system}, {python}"


def versions() -> str:
    """Name the versions of everything compared and of what carries it."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


class Bystanders:
    """What other work took of the processor since a moment; a noisy run should say that it was one."""

    def __init__(self) -> None:
        """Begin to count."""
        self._begun, self._busy_s, self._own_s = time.perf_counter(), _busy_s(), _own_s()

    def share(self) -> float | None:
        """Give the part of all cores' time that neither we nor our children took, where the kernel tells."""
        busy_s = _busy_s()
        if busy_s is None or self._busy_s is None:
            return None
        others_s = busy_s - self._busy_s - (_own_s() - self._own_s)
        return max(0.0, others_s / ((time.perf_counter() - self._begun) * (os.cpu_count() or 1)))


def _busy_s() -> float | None:
    """Sum what all processes ever took, and what the host took away; interrupts are left out."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, _irq, _softirq, steal = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Sum what this process and its ended children took."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _processor() -> str:
    """Name the model where the kernel tells it."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1].strip() if found else platform.processor() or "unknown processor"
