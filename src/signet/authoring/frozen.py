"""Frozen contracts: files beside the code of a toolset, which are the truth once they are there.

contracts/toolset.json          {"toolset": NAME, "version": "1.0.0", "tools": [slugs], "names": {slug: name in MCP}}
                                {"toolsets": [one such object for each]} for several
contracts/tools/<slug>.json     {tool, input, output}
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import msgspec

from signet.kernel.places import wrong_type
from signet.kernel.toolset import Toolset
from signet.system.files import read_regular

from .json_lines import line_of

__all__ = [
    "MARK_FILE",
    "BrokenContractError",
    "FrozenContracts",
    "ToolsetMark",
    "agree",
    "decode_file",
    "flaw_of",
    "last_part",
    "read_bundle",
    "read_frozen",
    "read_marks",
    "renamed",
    "tool_file",
]

MARK_FILE: Final = "toolset.json"
TOOLS: Final = "tools"
SUFFIX: Final = ".json"
HISTORY: Final = "take it from the history of the code"
MARK_FORM: Final = '{"toolset": "NAME", "version": "1.0.0"}'


class BrokenContractError(Exception):
    """A file of frozen contracts cannot be used; the text names the file and the line."""


class ToolsetMark(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A toolset whose contracts are frozen in a folder, and its version."""

    toolset: str
    version: str
    tools: list[str] | None = None
    """The slugs of its tools; None, in a file that a person wrote, for all that no other one lists."""
    names: dict[str, str] = {}
    """The names in MCP and REST of the tools whose name is not the end of their slug."""


class _Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    toolsets: list[ToolsetMark]


class FrozenContracts(msgspec.Struct, frozen=True):
    """The frozen contracts of one toolset."""

    folder: str
    version: str
    """Empty where the folder's mark does not name the toolset."""
    bundles: Mapping[str, bytes]
    """The files of its tools as they are written, by slug."""
    names: Mapping[str, str] = {}
    """The frozen names of its tools, by slug; one that is not here was not frozen."""
    orphans: tuple[str, ...] = ()
    """The toolsets without code in the folder whose contracts are among these."""


def read_frozen(toolset: Toolset, orphans: Iterable[str] = ()) -> FrozenContracts | None:
    """Return the frozen contracts of a toolset; None where nothing is frozen beside its code.

    Contracts that nothing serves any more are taken for its own: those of `orphans`, toolsets of the folder that have
    no code; and those of the whole folder where it is not frozen itself, and no toolset that is has code.

    Raises:
        BrokenContractError: a file cannot be read.
    """
    folder = toolset.schema_root
    if folder is None:
        return None
    marks = read_marks(folder)
    slugs = _slugs_in(folder)
    if not marks:
        if not slugs:
            return None
        raise BrokenContractError(f"{_shown(folder)} has no {MARK_FILE}: write {MARK_FORM} in it, or remove the folder")
    if toolset.name not in marks and not orphans:
        lost = _lost(folder, marks)
        orphans = lost if len(lost) == len(marks) else ()
    owned = {name: mark for name, mark in marks.items() if name == toolset.name or name in orphans}
    if not owned and not toolset.bundles().keys() & set(slugs):
        # Others are frozen in the folder, and this toolset never was.
        return None
    others = [mark for name, mark in marks.items() if name not in owned]
    if any(mark.tools is None for mark in others):
        slugs = []
    foreign = {slug for mark in others for slug in mark.tools or ()}
    _check_listed(folder, owned.values())
    bundles = {slug: _read(tool_file(folder, slug)) for slug in slugs if slug not in foreign}
    names = {slug: mark.names.get(slug, last_part(slug)) for mark in owned.values() for slug in mark.tools or ()}
    kept = marks.get(toolset.name) or next(iter(owned.values()), None)
    return FrozenContracts(folder, kept.version if kept else "", bundles, names, tuple(orphans))


def _lost(folder: str, marks: Iterable[str]) -> list[str]:
    from .claims import unclaimed

    return unclaimed(os.path.dirname(folder), marks)


def _check_listed(folder: str, marks: Iterable[ToolsetMark]) -> None:
    """Raise BrokenContractError if a tool is listed whose file is not there."""
    for slug in (slug for mark in marks for slug in mark.tools or ()):
        if not os.path.lexists(tool_file(folder, slug)):
            where = f"{_shown(os.path.join(folder, MARK_FILE))} names {slug}, and {_shown(tool_file(folder, slug))}"
            raise BrokenContractError(f"{where} is missing: {HISTORY}")


def last_part(slug: str) -> str:
    """Return the name that a tool has by its slug."""
    return slug.rpartition(".")[2]


def agree(toolset: Toolset, frozen: FrozenContracts) -> bool:
    """Return whether the contracts that the types say are those of the files."""
    derived = toolset.bundles()
    if not toolset.is_part and derived.keys() != frozen.bundles.keys():
        return False
    if renamed(toolset, frozen):
        return False
    try:
        return all(
            slug in frozen.bundles and msgspec.json.decode(frozen.bundles[slug]) == msgspec.json.decode(bundle)
            for slug, bundle in derived.items()
        )
    except (ValueError, RecursionError):
        # What is wrong with the file is told by `read_bundle`.
        return False


def renamed(toolset: Toolset, frozen: FrozenContracts) -> dict[str, tuple[str, str]]:
    """Return the frozen and the present name of each tool that clients know by another name now, by slug."""
    names = {tool.slug: tool.name for tool in toolset.tools()}
    return {slug: (old, names[slug]) for slug, old in frozen.names.items() if names.get(slug, old) != old}


def read_marks(folder: str) -> dict[str, ToolsetMark]:
    """Return the toolsets that are frozen in a folder by their names; raise BrokenContractError for a bad file."""
    path = os.path.join(folder, MARK_FILE)
    try:
        data = read_regular(path, follow_link=True)
    except FileNotFoundError:
        return {}
    except OSError as error:
        _refuse(path, 1, error.strerror)
    value = decode_file(path, data)
    several = isinstance(value, dict) and "toolsets" in value
    try:
        marks = msgspec.convert(value, _Marks).toolsets if several else [msgspec.convert(value, ToolsetMark)]
    except msgspec.ValidationError as error:
        _refuse(path, 1, wrong_type(error), f"write {MARK_FORM}")
    if not all(mark.version for mark in marks):
        _refuse(path, line_of(data.decode(), ["version"]), "version is empty")
    return {mark.toolset: mark for mark in marks}


def read_bundle(folder: str, slug: str, data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the input and the output schema of a tool's file; raise BrokenContractError if one cannot be used."""
    path = tool_file(folder, slug)
    value = decode_file(path, data)
    text = data.decode()
    if not isinstance(value, dict) or {"tool", "input", "output"} - value.keys():
        _refuse(path, 1, "it is no contract", 'write {"tool": …, "input": …, "output": …}')
    if value["tool"] != slug:
        _refuse(path, line_of(text, ["tool"]), f"it describes {value['tool']!r}, and its name says {slug!r}")
    for side in ("input", "output"):
        if not isinstance(value[side], dict):
            _refuse(path, line_of(text, [side]), f"{side} is no schema")
        if (why := flaw_of(value[side])) is not None:
            _refuse(path, line_of(text, [side, *why[0]]), f"{side} is no usable schema ({why[1]})")
    return value["input"], value["output"]


def flaw_of(schema: dict[str, Any]) -> tuple[list[str | int], str] | None:
    """Return the place and the reason why a schema does not compile, or None."""
    from jsonschema_rs import ValidationError

    from signet.compatibility.counterexample import compiled

    try:
        compiled(schema, formats=False)
    except ValidationError as error:
        return list(error.instance_path), error.message
    except ValueError as error:
        return [], str(error).partition("\n")[0]
    return None


def decode_file(path: str, data: bytes) -> Any:
    """Return the value of a JSON file; raise BrokenContractError with the line if it has none."""
    try:
        return msgspec.json.decode(data.decode())
    except RecursionError:
        _refuse(path, 1, "it is nested too deeply")
    except ValueError:
        import json

        try:
            json.loads(data)
        except json.JSONDecodeError as error:
            _refuse(path, error.lineno, f"it is no JSON ({error.msg})")
        except (UnicodeDecodeError, RecursionError):
            pass
        _refuse(path, 1, "it is no JSON in UTF-8")


def tool_file(folder: str, slug: str) -> str:
    """Return the path of a tool's file."""
    return os.path.join(folder, TOOLS, slug + SUFFIX)


def _slugs_in(folder: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(folder, TOOLS))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and not name.startswith("."))


def _read(path: str) -> bytes:
    try:
        return read_regular(path, follow_link=True)
    except OSError as error:
        _refuse(path, 1, error.strerror)


def _shown(path: str) -> str:
    """Return a path as a person would write it here."""
    near = os.path.relpath(path)
    return path if near.startswith(os.pardir) else near


def _refuse(path: str, line: int, why: object, advice: str = f"mend it, or {HISTORY}") -> NoReturn:
    raise BrokenContractError(f"the contract {_shown(path)}, line {line}, is not usable: {why}; {advice}")
