"""On what it was measured: processor, system, interpreter, versions; nothing that names the machine."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

__all__ = ["hardware", "versions"]

PACKAGES = ("signet-mcp", "mcp", "fastmcp", "uvicorn", "uvloop", "httptools", "pydantic", "msgspec")


def hardware() -> str:
    """Name the processor, the cores this process may use, the system and the interpreter."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libc = " ".join(platform.libc_ver()).strip()
    system = f"{platform.system()} {platform.machine()}" + (f", {libc}" if libc else "")
    return f"{_processor()}, {cores} cores, {system}, {python}"


def versions() -> str:
    """Name the versions of everything compared and of what carries it."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def _processor() -> str:
    """Name the model where the kernel tells it."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1].strip() if found else platform.processor() or "unknown processor"
