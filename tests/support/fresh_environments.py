"""A fresh environment: a virtual one with pip, the built wheel to install, and no way to a package index."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from processes import ROOT, clean_env

__all__ = ["build_wheel", "environ_of", "link_packages", "make_environment"]


def build_wheel(folder: Path) -> Path:
    """Put the wheel of the checkout into a folder of this run, and return it; it is built once in a run."""
    is_parallel = "PYTEST_XDIST_WORKER" in os.environ
    shared = folder.parent.parent if is_parallel else folder.parent
    built = shared / "built-wheel"
    with (shared / "built-wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(built.glob("*.whl")):
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
            done = subprocess.run(command, cwd=ROOT, env=environ_of(), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    (wheel,) = built.glob("*.whl")
    return Path(shutil.copy(wheel, folder))


def make_environment(folder: Path, packages: Iterable[str] = ()) -> Path:
    """Make a virtual environment with pip that has what Signet needs, and these packages; return its programs' folder.

    The packages are links into the environment of the tests, since no index can be asked; pip too, which takes seconds
    to install.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], env=environ_of(), check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    needs = {"aiohttp", "httptools", "jsonschema-rs", "latex2mathml", "markdown-it-py", "msgspec", "rich", "uvloop"}
    link_packages(site_packages, {"pip", *needs, *packages})
    pip = folder / "bin" / "pip"
    pip.write_text(f"#!{folder}/bin/python\nfrom pip._internal.cli.main import main\n\nraise SystemExit(main())\n")
    pip.chmod(0o755)
    return folder / "bin"


def environ_of(programs: Path | None = None, wheels: Path | None = None) -> dict[str, str]:
    """Return an environment in which no variable leads to the checkout; its pip finds the wheels of a folder alone."""
    env = {name: value for name, value in clean_env().items() if not name.startswith(("PYTHON", "COVERAGE", "PIP_"))}
    # What is compiled is what is used; pip reads a false value as "do not compile".
    env |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "PIP_NO_COMPILE": "0"}
    if wheels is not None:
        env["PIP_FIND_LINKS"] = str(wheels)
    if programs is not None:
        env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
        env["VIRTUAL_ENV"] = str(programs.parent)
    return env


def link_packages(site_packages: Path, names: Iterable[str]) -> None:
    """Link packages, and what they need, from the environment of the tests."""
    for name in _with_needs(names):
        package = distribution(name)
        for part in {path.parts[0] for path in package.files or ()} - {"..", "__pycache__"}:
            if not (site_packages / part).exists():
                os.symlink(package.locate_file(part), site_packages / part)


def _with_needs(names: Iterable[str]) -> Iterator[str]:
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        yield name
        waiting += [re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in needs if "extra ==" not in need]
