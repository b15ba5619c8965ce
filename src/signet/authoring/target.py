"""Targets: where one's own tools are: a file, a folder, `package.module[:attribute]`, or an installed toolset."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Final

from msgspec import structs

from signet.kernel.toolset import Toolset
from signet.settings.usage import UnknownTargetError, UsageError

from .declaration import LISTED, ToolDeclaration, ToolsetDeclaration, declared
from .importing import import_target
from .neighbours import check_neighbours
from .toolset import FOLDER, DeclarationError, build_toolset, toolset_name

__all__ = ["FORMS", "GROUP", "installed", "is_target", "load_target", "toolset_of_script"]

GROUP: Final = "signet.toolsets"
"""The entry-point group of packages that bring toolsets."""
FORMS: Final = "a file (tools.py), a folder, package.module[:attribute], or the name of an installed toolset"


def is_target(word: str) -> bool:
    """Return whether a word that may name a tool names a target: a path, or a module that can be imported."""
    if _is_path(word) or word.startswith("openapi:"):
        return True
    dotted, _, attribute = word.partition(":")
    if dotted == "mcp.tool" or not ("." in dotted or attribute):
        return False
    from importlib.util import find_spec

    _see_working_folder()
    return dotted.partition(".")[0].isidentifier() and find_spec(dotted.partition(".")[0]) is not None


def _is_path(target: str) -> bool:
    return target.endswith(".py") or os.sep in target or "/" in target or (":" not in target and os.path.exists(target))


def load_target(target: str) -> list[Toolset]:
    """Import a target and return its toolsets, one at least; raise UsageError if there are none."""
    try:
        toolsets = _from_path(os.path.abspath(target), target) if _is_path(target) else _from_name(target)
    except DeclarationError as error:
        raise UsageError(f"{target}: {error}") from None
    if not toolsets:
        raise UsageError(f"{target} has no tools: write @signet.tool above a function in it")
    return toolsets


def toolset_of_script(names: dict[str, Any]) -> list[Toolset]:
    """Return the toolsets of a script that runs, by its globals; raise UsageError if it has no tools."""
    path = names.get("__file__")
    stem = os.path.splitext(os.path.basename(path))[0] if path else "tools"
    try:
        toolsets = _toolsets_in(names, stem, os.path.dirname(os.path.abspath(path)) if path else None)
    except DeclarationError as error:
        raise UsageError(f"{path or 'this script'}: {error}") from None
    if not toolsets:
        raise UsageError(f"{path or 'this script'} has no tools: write @signet.tool above a function in it")
    return toolsets


def installed() -> dict[str, str]:
    """Return the toolsets that installed packages bring: each one's name, and the object that it names."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in sorted(entry_points(group=GROUP))}


def _from_path(path: str, shown: str) -> list[Toolset]:
    if os.path.isfile(path):
        return _from_file(path, shown)
    if not os.path.isdir(path):
        raise UsageError(f"there is no {shown}: a target is {FORMS}")
    package = os.path.join(path, "__init__.py")
    if os.path.exists(package) and (toolsets := _from_file(package, shown)):
        return toolsets
    names = sorted(name for name in os.listdir(path) if name.endswith(".py"))
    files = [name for name in names if not name.startswith(("_", "test_", "conftest")) and name != "setup.py"]
    if not files:
        raise UsageError(f"{shown} has no Python files: a target is {FORMS}")
    try:
        found = [_from_file(os.path.join(path, name), os.path.join(shown, name)) for name in files]
    except UsageError as error:
        raise UsageError(
            f"{error}; if it is no file of tools, name those that are, and not {shown}", error.trace
        ) from None
    return [toolset for toolsets in found for toolset in toolsets]


def _from_file(path: str, shown: str) -> list[Toolset]:
    folder, name = _package_of(path)
    if folder not in sys.path:
        # Its neighbours can be imported, but a calendar.py among them takes nothing from Python's own.
        sys.path.append(folder)
    check_neighbours(path, folder, shown)
    module = _loaded(path) or _find(name, shown, path, folder)
    if module.__file__ is None or not os.path.samefile(module.__file__, path):
        why = f"{shown} cannot be imported as {name}: {module.__file__} is already; serve the two apart"
        raise UsageError(f"{why}{_editable(folder)}")
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem == "__init__":
        stem = os.path.basename(os.path.dirname(path))
    return _toolsets_in(vars(module), stem, os.path.dirname(path))


def _editable(folder: str) -> str:
    """Return the advice to install the project around a folder without a copy; empty outside of a project."""
    for project in (folder, os.path.dirname(folder)):
        if os.path.exists(os.path.join(project, "pyproject.toml")):
            from signet.system.advice import advise

            install = advise("project.editable", folder=project)
            return f", or, if that is a copy that was installed, install the project itself: {install}"
    return ""


def _package_of(path: str) -> tuple[str, str]:
    """Return the folder to import a file from, and its module's name there: a file of a package is a part of it.

    A folder or a file with a dot in its name cannot be a part: its file is imported alone.
    """
    folder, base = os.path.split(path)
    parts = [] if base == "__init__.py" else [os.path.splitext(base)[0]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    if any("." in part for part in parts):
        return os.path.dirname(path), parts[-1].replace(".", "_")
    return folder, ".".join(parts)


def _loaded(path: str) -> ModuleType | None:
    """Return the module of a file that was imported before."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path and getattr(module, "__name__", "") != "__main__":
            return module
    return None


def _from_name(target: str) -> list[Toolset]:
    dotted, _, attribute = target.partition(":")
    if not attribute and "." not in dotted:
        dotted, _, attribute = installed().get(dotted, dotted).partition(":")
    if not all(part.isidentifier() for part in dotted.split(".")):
        raise UnknownTargetError(f"'{target}' is no target: a target is {FORMS}")
    _see_working_folder()
    module = sys.modules.get(dotted) or _find(dotted, target)
    folder = os.path.dirname(module.__file__) if module.__file__ else None
    if not attribute:
        return _toolsets_in(vars(module), dotted.rpartition(".")[2], folder)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise UsageError(f"{dotted} has no {attribute}: write the name of a signet.Toolset or of a tool in it")
        value = getattr(value, part)
    return _toolsets_of(value, dotted.rpartition(".")[2], folder, target, vars(module))


def _see_working_folder() -> None:
    """Let modules of the working folder be imported, after those that are installed."""
    if not {os.getcwd(), ""} & set(sys.path):
        sys.path.append(os.getcwd())


def _toolsets_of(
    value: Any, stem: str, folder: str | None, target: str, names: dict[str, Any] | None = None
) -> list[Toolset]:
    """Return the toolsets of an attribute: a toolset, a tool, or a list of tools of the module with these names."""
    if isinstance(value, Toolset):
        return [value]
    if isinstance(value, ToolsetDeclaration):
        return [build_toolset(value, _contracts(folder))]
    tools = value if isinstance(value, list | tuple) else [value]
    if not tools or not all(declared(one) for one in tools):
        raise UsageError(
            f"{target} is no toolset: name a signet.Toolset, a function with @signet.tool, or a list of them"
        )
    alone = ToolsetDeclaration(name=toolset_name(stem), tools=(), version="")
    parts: dict[int, tuple[ToolsetDeclaration, str | None, list[Any]]] = {}
    for one in tools:
        whole, place = _whole_of(one, names or {}, folder) or (alone, folder)
        parts.setdefault(id(whole), (whole, place, []))[2].append(one)
    return [
        build_toolset(structs.replace(whole, tools=some), _contracts(place), is_part=True)
        for whole, place, some in parts.values()
    ]


def _whole_of(function: Any, names: dict[str, Any], folder: str | None) -> tuple[ToolsetDeclaration, str | None] | None:
    """Return the toolset that a tool is a part of, in the module that is asked or in its own, and its folder."""
    home = sys.modules.get(function.__module__)
    file = getattr(home, "__file__", None)
    for place, words in ((folder, names), (os.path.dirname(file) if file else None, vars(home) if home else {})):
        for value in words.values():
            if isinstance(value, ToolsetDeclaration) and any(
                declared(one) is declared(function) for one in value.tools
            ):
                return value, place
    return None


def _toolsets_in(names: dict[str, Any], stem: str, folder: str | None) -> list[Toolset]:
    """Return the toolsets of a module: those that it declares, and one of its own name with the tools beside them."""
    found = {id(value): value for value in names.values() if isinstance(value, ToolsetDeclaration | Toolset)}
    grouped = {
        id(declared(function))
        for value in found.values()
        if isinstance(value, ToolsetDeclaration)
        for function in value.tools
    }
    listed = [*names.get(LISTED, ()), *_imported(names)]
    rest = [declaration for declaration in listed if id(declaration) not in grouped]
    toolsets = [toolset for value in found.values() for toolset in _toolsets_of(value, stem, folder, stem)]
    if rest:
        own = ToolsetDeclaration(name=toolset_name(stem), tools=rest, version="")
        toolsets.append(build_toolset(own, _contracts(folder)))
    return toolsets


def _imported(names: dict[str, Any]) -> list[ToolDeclaration]:
    """Return the tools that a package takes into its own names from its modules."""
    if "__path__" not in names:
        return []
    below = f"{names['__name__']}."
    found = {
        id(one): one for value in names.values() if (one := declared(value)) and value.__module__.startswith(below)
    }
    return list(found.values())


def _contracts(folder: str | None) -> str | None:
    """Return the folder beside the code in which contracts are frozen, whether it is there or not."""
    return os.path.join(folder, FOLDER) if folder else None


def _find(name: str, shown: str, path: str | None = None, folder: str = "") -> ModuleType:
    module = import_target(name, shown, path, folder)
    if module is None:
        raise UnknownTargetError(f"there is no module {name}: a target is {FORMS}")
    return module
