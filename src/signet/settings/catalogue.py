"""The catalogue: which toolsets exist. One word each; a toolset is imported when it is looked up.

a name ────── Signet's own, `signet.toolsets.<name>`
a target ──── the user's own: loaded, registered, and known by the names of its toolsets from then on
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, Final

import msgspec

from signet.kernel.toolset import Toolset

from .fields import split_list
from .usage import UnknownTargetError, UsageError

__all__ = [
    "TOOLSETS",
    "default_toolsets",
    "file_of",
    "find_toolset",
    "freezing_target",
    "load",
    "load_toolsets",
    "loaded_files",
    "loaded_targets",
    "provider",
    "register",
    "registered",
    "target_again",
    "target_of",
]

TOOLSETS: Final = ["plantuml", "plantuml-tools", "boj", "boj-explore", "oj", "oj-practice"]
"""The toolsets in the order in which their tools are listed: each is the `TOOLSET` of `signet.toolsets.<word>`, where
the module's name has an underscore for a hyphen."""

DOCUMENT: Final = "openapi:"
"""How the target of an OpenAPI document begins."""

_registered: Final[dict[str, Toolset]] = {}
_loaded: Final[dict[str, list[str]]] = {}
"""The names of the toolsets of each target that was loaded."""
_targets: Final[dict[str, str]] = {}
"""The targets of the toolsets that were registered with one."""


@cache
def provider(name: str) -> Any:
    """Return a part of a room above by its name in the table."""
    from signet.features import PROVIDERS

    module, _, attribute = PROVIDERS[name].partition(":")
    return getattr(import_module(module), attribute)


def register(toolset: Toolset, *, target: str | None = None) -> None:
    """Add a toolset that is not part of Signet, for this process.

    `target` is how another process is given the toolset: empty if it is not chosen by `--toolsets`, None if it is
    known by its name or was loaded from a target.
    """
    if toolset.name not in TOOLSETS:
        TOOLSETS.append(toolset.name)
    _registered[toolset.name] = toolset
    if target is not None:
        _targets[toolset.name] = target
    find_toolset.cache_clear()


def load_toolsets(text: str) -> list[str]:
    """Return the names of the toolsets in a list of names and targets; load them, or raise UsageError."""
    given = split_list(text)
    return list(dict.fromkeys(name for target in given for name in load(target)))


def load(target: str) -> list[str]:
    """Return the names of the toolsets of a target; the name of a toolset is its own target.

    Raises:
        UsageError: it cannot be loaded.
    """
    if target in TOOLSETS:
        return [target]
    target = next((known for known in _loaded if _is_same(known, target)), target)
    if target not in _loaded:
        try:
            is_document = target.startswith(DOCUMENT)
            toolsets = [provider("document")(target, os.environ)] if is_document else provider("target")(target)
        except UnknownTargetError:
            if not target.replace("-", "_").isidentifier():
                raise
            known = f"write --toolsets with one or more of: {', '.join(TOOLSETS)}"
            forms = provider("target.forms")
            raise UsageError(f"there is no toolset '{target}'; {known}; or a target: {forms}") from None
        for toolset in toolsets:
            if toolset.name in TOOLSETS and _registered.get(toolset.name) is not toolset:
                advice = "rename the file, or give its tools a signet.Toolset with another name="
                raise UsageError(f"{target}: there is a toolset '{toolset.name}' already; {advice}")
            register(toolset)
        _loaded[target] = [toolset.name for toolset in toolsets]
    return _loaded[target]


def registered() -> Iterable[Toolset]:
    """Return the toolsets that are not part of Signet."""
    return map(find_toolset, _registered)


def _is_same(known: str, target: str) -> bool:
    """Return whether two targets are one file or folder, written in two ways."""
    return known == target or (os.path.exists(target) and os.path.realpath(known) == os.path.realpath(target))


def target_of(toolset: Toolset) -> str:
    """Return the target that a toolset was loaded from; for a script that serves itself, its file."""
    targets = (target for target, names in _loaded.items() if toolset.name in names)
    return next(targets, None) or file_of(toolset)


def target_again(name: str) -> str:
    """Return the target with which another process finds a toolset or a target; empty if it needs none."""
    return _targets.get(name, name)


def freezing_target(toolset: Toolset) -> str:
    """Return the target to freeze a toolset by: a part of one is frozen with the whole file."""
    return file_of(toolset) if toolset.is_part else target_of(toolset)


def file_of(toolset: Toolset) -> str:
    """Return the file of a toolset's code, as one writes it here; the toolset's name if it has none."""
    folder = (toolset.schema_root or toolset.name).rpartition("/")[0]
    places = [tool.defined_at[0] for tool in toolset.tools() if tool.defined_at is not None]
    path = min(places, key=lambda place: os.path.dirname(place) != folder, default=folder) or toolset.name
    near = os.path.relpath(path)
    return path if near.startswith(os.pardir) else near


def loaded_files() -> set[str]:
    """Return the files among the targets that were loaded: all their toolsets are known."""
    return {os.path.realpath(target) for target in _loaded if target.endswith(".py")}


def default_toolsets() -> list[str]:
    """Return the toolsets that are served where none is chosen: all but those of targets and of wrapped services."""
    own = {name for names in _loaded.values() for name in names}
    own |= {name for name, toolset in _registered.items() if toolset.is_foreign}
    return [name for name in TOOLSETS if name not in own]


def loaded_targets() -> list[str]:
    """Return the targets that were loaded."""
    return list(_loaded)


@cache
def find_toolset(name: str) -> Toolset:
    """Return the toolset with this name, importing it now; one that extends another has what it takes from there."""
    toolset: Toolset
    toolset = _registered.get(name) or import_module(f"signet.toolsets.{name.replace('-', '_')}").TOOLSET
    if not toolset.extends:
        return toolset
    base = find_toolset(toolset.extends)
    return msgspec.structs.replace(
        toolset,
        settings=base.settings,
        needs=base.needs,
        upstream=toolset.upstream or base.upstream,
        service=toolset.service or base.service,
        without_waiting=base.without_waiting,
    )
