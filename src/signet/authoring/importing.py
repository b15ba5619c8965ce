"""The import of a user's module: bounded in time, its output kept from ours, its failure told by its own frames."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from signet.settings.usage import UsageError

from .traces import own_trace

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["import_target"]

IMPORT_S: Final = 10.0
"""What a target may take to import."""


class _TooSlowError(Exception):
    """An import has taken too long; a target's own TimeoutError is another thing."""


def import_target(name: str, shown: str, path: str | None = None, folder: str = "") -> ModuleType | None:
    """Import a module, or the module of a file; return None if there is none. What it prints goes to standard error.

    Args:
        name: the name of the module.
        shown: the target as a person wrote it.
        path: the file of the module, which another module of that name does not replace.
        folder: the folder that the module's name begins below.

    Raises:
        UsageError: it fails, or takes too long.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr), _time_limit():
            if path is not None:
                _import_package(name, path, folder)
                if _is_taken(name, path):
                    return _import_file(name, path)
            return import_module(name)
    except _TooSlowError as error:
        message = f"{shown} took more than {IMPORT_S:g} s to import: do the long work in a tool, not at the import"
        raise UsageError(message, own_trace(error)) from None
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        advice = f"install {error.name}, or mend its name" if error.name else "see above"
        raise UsageError(f"{shown} does not import ({error}): {advice}", own_trace(error)) from None
    except BaseException as error:  # a target may raise anything, even SystemExit
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UsageError(
            f"{shown} does not import ({type(error).__name__}); its traceback is above", own_trace(error)
        ) from None


def _is_taken(name: str, path: str) -> bool:
    """Return whether `import name` would find another module than the file: one of Python's own, or another target."""
    from importlib.util import find_spec

    if "." in name:
        return False
    try:
        spec = find_spec(name)
    except (ValueError, ImportError):
        return True
    return spec is None or spec.origin != path


def _import_package(name: str, path: str, folder: str) -> None:
    """Import the package around a file from its own folder, where an installed copy of it would be imported instead.

    A copy has the same file; another package of that name is left alone.
    """
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    package = name.partition(".")[0]
    inside = os.path.relpath(path, os.path.join(folder, package))
    if package in sys.modules or package in sys.stdlib_module_names or inside.startswith(os.pardir):
        return
    other = find_spec(package)
    if other is None or other.origin is None:
        return
    copy = os.path.join(os.path.dirname(other.origin), inside)
    own = PathFinder.find_spec(package, [folder])
    if own is not None and os.path.exists(copy) and not os.path.samefile(copy, path):
        _execute(own)


def _import_file(name: str, path: str) -> ModuleType:
    """Import a file under a name of its own."""
    from importlib.util import spec_from_file_location

    spec = spec_from_file_location(f"signet_target_{len(sys.modules)}_{name}", path)
    if spec is None:
        raise ImportError(f"{path} is no Python file")
    return _execute(spec)


def _execute(spec: ModuleSpec) -> ModuleType:
    """Run a module and make it known by its name; one that fails is forgotten."""
    from importlib.util import module_from_spec

    if spec.loader is None:
        raise ImportError(f"{spec.name} has no code")
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Raise _TooSlowError in what runs for too long; only the main thread of a system with timers can be stopped."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    # It rings again: the code may have caught the first one.
    signal.setitimer(signal.ITIMER_REAL, IMPORT_S, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
