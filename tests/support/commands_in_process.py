"""A `signet` command in this process: for what does not depend on a process, at a twentieth of its cost."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from processes import ROOT, clean_env
from signet import sandbox
from signet.authoring import neighbours
from signet.commands.cli import main
from signet.settings import catalogue

__all__ = ["run_here", "signet_here"]

FOLDERS = f"{tempfile.gettempdir()}{os.sep}"
"""How the paths of the folders of tests begin, wherever `--basetemp` has them."""
KEPT = (f"{ROOT}{os.sep}", f"{sys.prefix}{os.sep}", f"{sys.base_prefix}{os.sep}")
"""How the paths of all else begin; a checkout may be in the same folder."""


def run_here(
    *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run one `signet` command to its end, as `processes.run` does, in this process."""
    return signet_here(ROOT, *args, stdin=stdin, environ=clean_env(env))


def signet_here(
    folder: Path, *args: str, stdin: bytes = b"", environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder as a new process would: what it loads is forgotten, what it prints is returned."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    printed = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    given = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
    environ = mock.patch.dict(os.environ, clean_env() if environ is None else environ, clear=True)
    with _fresh(), _sandboxes_ended(), environ, contextlib.chdir(folder), given, printed[0], printed[1]:
        try:
            status = main(list(args))
        except SystemExit as error:
            status = int(error.code or 0)
    texts = [stream.buffer.getvalue() for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(["signet", *args], status, *texts)


@contextlib.contextmanager
def _sandboxes_ended() -> Iterator[None]:
    """End the sandboxes that a command starts with `--sandbox`, as the end of its process would."""
    start_in_thread = sandbox.start_in_thread
    with contextlib.ExitStack() as stops:

        def start(*args: Any, **more: Any) -> Any:
            url, stop = start_in_thread(*args, **more)
            stops.callback(stop)
            return url, stop

        with mock.patch.object(sandbox, "start_in_thread", start):
            yield


@contextlib.contextmanager
def _fresh() -> Iterator[None]:
    """Forget what is loaded from folders of tests before and after the block, targets, and places to import from.

    Signals are handled after the block as before it.
    """
    path = list(sys.path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    sys.path[:] = [place for place in path if not _is_of_a_test(place)]
    known = [list(catalogue.TOOLSETS), dict(catalogue._registered), dict(catalogue._loaded)]
    # A file that is written twice within a second, with one size, has the bytecode of the first.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _forget_modules()
    catalogue._loaded.clear()
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.path[:] = path
        _forget_modules()
        catalogue.TOOLSETS[:] = known[0]
        for kept, now in zip(known[1:], (catalogue._registered, catalogue._loaded), strict=True):
            now.clear()
            now.update(kept)
        catalogue.find_toolset.cache_clear()


def _forget_modules() -> None:
    for name, module in list(sys.modules.items()):
        if _is_of_a_test(getattr(module, "__file__", None) or ""):
            del sys.modules[name]
    importlib.invalidate_caches()
    neighbours._folders.clear()


def _is_of_a_test(path: str) -> bool:
    return path.startswith(FOLDERS) and not path.startswith(KEPT)
