"""Frozen contracts: files beside the code of a toolset, which are the truth once they are there.

contracts/toolset.json          {"toolset": NAME, "version": "1.0.0"}
                                {"toolsets": [{"toolset": …, "version": …, "tools": [slugs]}, …]} for several
contracts/tools/<slug>.json     {tool, input, output}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgspec

from signet.files import read_regular
from signet.kernel.toolset import Toolset

from .json_lines import line_of

__all__ = [
    "MARK_FILE",
    "BrokenContractError",
    "FrozenContracts",
    "ToolsetMark",
    "agree",
    "decode_file",
    "flaw_of",
    "read_bundle",
    "read_frozen",
    "read_marks",
    "tool_file",
]

MARK_FILE: Final = "toolset.json"
TOOLS: Final = "tools"
SUFFIX: Final = ".json"
MARK_FORM: Final = '{"toolset": "NAME", "version": "1.0.0"}'


class BrokenContractError(Exception):
    """A file of frozen contracts cannot be used; the text names the file and the line."""


class ToolsetMark(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A toolset whose contracts are frozen in a folder, and its version."""

    toolset: str
    version: str
    tools: list[str] | None = None
    """The slugs of its tools, where several toolsets share the folder; None for all that no other one lists."""


class _Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    toolsets: list[ToolsetMark]


class FrozenContracts(msgspec.Struct, frozen=True):
    """The frozen contracts of one toolset."""

    folder: str
    version: str
    """Empty where the folder's mark does not name the toolset."""
    bundles: Mapping[str, bytes]
    """The files of its tools as they are written, by slug."""


def read_frozen(toolset: Toolset) -> FrozenContracts | None:
    """Return the frozen contracts of a toolset; None where nothing is frozen beside its code.

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
    mark = marks.get(toolset.name)
    if mark is None and not toolset.bundles().keys() & set(slugs):
        # Others are frozen in the folder, and this toolset never was.
        return None
    others = [mark for name, mark in marks.items() if name != toolset.name]
    if any(mark.tools is None for mark in others):
        slugs = []
    foreign = {slug for mark in others for slug in mark.tools or ()}
    bundles = {slug: _read(tool_file(folder, slug)) for slug in slugs if slug not in foreign}
    return FrozenContracts(folder, mark.version if mark else "", bundles)


def agree(toolset: Toolset, frozen: FrozenContracts) -> bool:
    """Return whether the contracts that the types say are those of the files."""
    derived = toolset.bundles()
    if not toolset.is_part and derived.keys() != frozen.bundles.keys():
        return False
    try:
        return all(
            slug in frozen.bundles and msgspec.json.decode(frozen.bundles[slug]) == msgspec.json.decode(bundle)
            for slug, bundle in derived.items()
        )
    except (ValueError, RecursionError):
        # What is wrong with the file is told by `read_bundle`.
        return False


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
        _refuse(path, 1, f"{error}; write {MARK_FORM}")
    return {mark.toolset: mark for mark in marks}


def read_bundle(folder: str, slug: str, data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the input and the output schema of a tool's file; raise BrokenContractError if one cannot be used."""
    path = tool_file(folder, slug)
    value = decode_file(path, data)
    text = data.decode()
    if not isinstance(value, dict) or {"tool", "input", "output"} - value.keys():
        _refuse(path, 1, 'it is no contract: write {"tool": …, "input": …, "output": …}')
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
    except (ValueError, RecursionError):
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


def _refuse(path: str, line: int, why: object) -> NoReturn:
    raise BrokenContractError(f"the contract {_shown(path)}, line {line}, is not usable: {why}")
