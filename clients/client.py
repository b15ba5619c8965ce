"""The list of clients, read from clients.toml, and the environment of each: locked, installed below build/clients."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["HERE", "ROOT", "Client", "InstallError", "read_clients"]

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
BUILD: Final = ROOT / "build" / "clients"
OLDEST_PYTHON: Final = "3.11"
INSTALL_S: Final = 600
"""How long the installation of one environment may take."""
UV: Final = os.environ.get("UV", "uv")


class InstallError(Exception):
    """An environment cannot be made; the text says why."""


@dataclass(frozen=True)
class Client:
    """One client of the table: what it is made of and how it is tried."""

    name: str
    title: str
    packages: tuple[str, ...]
    probe: str
    doors: tuple[str, ...]
    bridge: tuple[str, ...] = ()
    path: str = ""
    relay: tuple[str, ...] = ()
    expected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The cells that are not "yes", by column: the word, and why it is so."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Versions of packages further down that npm is told to take."""

    @property
    def is_python(self) -> bool:
        """True if the client is installed by pip, False if by npm."""
        return self.probe.endswith(".py")

    @property
    def version(self) -> str:
        """The version that is pinned for the client itself."""
        return re.split(r"==|@", self.packages[0])[-1]

    @property
    def lock(self) -> Path:
        """The lock file."""
        return HERE / ("python" if self.is_python else "node") / "locks" / f"{self.name}.{self._lock_type}"

    @property
    def environment(self) -> Path:
        """The folder that the client is installed in."""
        return BUILD / self.name

    @property
    def command(self) -> tuple[str, ...]:
        """The command that runs the probe, without the plan."""
        if self.is_python:
            return (str(self.environment / "bin" / "python"), str(self.environment / self.probe))
        return (node(), str(self.environment / self.probe))

    @property
    def _lock_type(self) -> str:
        return "txt" if self.is_python else "json"

    def install(self) -> bool:
        """Make the environment unless it is there for this lock; return True if it was made.

        Raises:
            InstallError: the installer failed.
        """
        stamp = self.environment / ".installed"
        wanted = hashlib.sha256(self.lock.read_bytes()).hexdigest()
        made = not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted
        if made:
            shutil.rmtree(self.environment, ignore_errors=True)
            self.environment.mkdir(parents=True)
            self._install_python() if self.is_python else self._install_node()
            stamp.write_text(wanted, encoding="utf-8")
        for script in self._scripts():
            shutil.copy(script, self.environment)
        return made

    def write_lock(self) -> None:
        """Resolve the packages anew, with hashes and without the host they came from."""
        self.lock.parent.mkdir(exist_ok=True)
        if self.is_python:
            options = ("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--no-emit-index-url")
            quiet = ("-q", "--no-header", "--no-annotate", "-", "-o", str(self.lock))
            _run((UV, "pip", "compile", *options, *quiet), ROOT, "\n".join(self.packages))
            return
        folder = BUILD / f"{self.name}.lock"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._write_package_file(folder)
        _run(("npm", "install", "--package-lock-only", "--ignore-scripts", "--loglevel=error"), folder)
        shutil.copy(folder / "package-lock.json", self.lock)
        shutil.rmtree(folder)

    def _scripts(self) -> list[Path]:
        shared = "plan.py" if self.is_python else "plan.mjs"
        folder = HERE / ("python" if self.is_python else "node")
        return [folder / shared, folder / self.probe]

    def _install_python(self) -> None:
        _run((UV, "venv", "-q", "--allow-existing", "--python", sys.executable, "."), self.environment)
        python = str(self.environment / "bin" / "python")
        _run((UV, "pip", "sync", "-q", "--python", python, "--require-hashes", str(self.lock)), self.environment)

    def _install_node(self) -> None:
        self._write_package_file(self.environment)
        shutil.copy(self.lock, self.environment / "package-lock.json")
        _run(("npm", "ci", "--ignore-scripts", "--loglevel=error"), self.environment)

    def _write_package_file(self, folder: Path) -> None:
        pins = dict(package.rsplit("@", 1) for package in self.packages)
        content = {"name": self.name, "private": True, "dependencies": pins, "overrides": self.overrides}
        (folder / "package.json").write_text(json.dumps(content), encoding="utf-8")
        shutil.copy(ROOT / ".npmrc", folder)


def node() -> str:
    """Return the Node.js that `scripts/install_tools.sh` chose."""
    beside = ROOT / "build" / "node" / "bin" / "node"
    return str(beside) if beside.exists() else "node"


def read_clients() -> list[Client]:
    """Return the clients of clients.toml, in its order."""
    with (HERE / "clients.toml").open("rb") as file:
        tables = tomllib.load(file)["client"]
    lists = ("packages", "doors", "bridge", "relay")
    return [Client(**{**table, **{key: tuple(table.get(key, ())) for key in lists}}) for table in tables]


def _run(command: tuple[str, ...], folder: Path, given: str = "") -> None:
    env = {**os.environ, "UV_NO_PROGRESS": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, input=given, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except FileNotFoundError:
        raise InstallError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise InstallError(f"{command[0]} took more than {INSTALL_S} s") from None
    if done.returncode != 0:
        raise InstallError(done.stderr.strip() or done.stdout.strip())
