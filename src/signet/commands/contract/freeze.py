"""The command `signet contract freeze TARGET`: keep the contracts of a target's tools as files beside its code."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from signet.authoring.drift import changes, orphans_of
from signet.authoring.frozen import (
    MARK_FILE,
    BrokenContractError,
    FrozenContracts,
    ToolsetMark,
    flaw_of,
    last_part,
    read_frozen,
    read_marks,
    tool_file,
)
from signet.commands.check.clients import warnings_of
from signet.commands.check.result import Subject
from signet.commands.terminal import Cell, say, table, write, write_json
from signet.compatibility.contract_set import ContractFinding, is_version, may_break, next_breaking, numbers
from signet.kernel.toolset import Toolset
from signet.settings.catalogue import find_toolset, load_toolsets, loaded_files, target_of
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.files import replacing

__all__ = ["add_freeze", "freeze_new"]

REFUSED: Final = 1
PIPE_WIDTH: Final = 160
MAX_WARNINGS: Final = 10
FIRST: Final = "0.1.0"
"""The version of contracts for which the author writes none."""
COLOURS: Final = {"breaking": "bold red", "removed": "bold red", "new": "green", "compatible": "green"}
EPILOG: Final = """\
The files, contracts/tools/*.json and contracts/toolset.json, are the truth from then on: a server whose types differ
from them does not start. A change that breaks callers is refused until the version is raised: version= of
signet.Toolset, or --version for a file without one; a new major version, before 1.0 a new minor one. Another name of a
tool, its toolset or its file is such a change. One tool alone (module:function) is refused: its file is frozen whole.
The exit status is 0 if the files are written, 1 if a change breaks callers, 2 if the target cannot be frozen.

examples:
  signet contract freeze tools.py
  signet contract freeze tools.py --version 0.2.0
  signet contract freeze weather.tools:toolset --json
"""


class Freezing(msgspec.Struct, frozen=True):
    """One toolset, the contracts that it had, and what has changed."""

    toolset: Toolset
    before: FrozenContracts | None
    version: str
    findings: list[ContractFinding]

    @property
    def breaking(self) -> list[ContractFinding]:
        """The changes that break callers."""
        return [finding for finding in self.findings if finding.breaks]

    @property
    def is_allowed(self) -> bool:
        """Whether the version says that callers may break, or nothing does."""
        return not self.breaking or self.before is None or may_break(self.before.version, self.version)


def add_freeze(actions: Any, formatter: Any) -> None:
    """Add the action `freeze` to `signet contract`."""
    freeze = actions.add_parser(
        "freeze",
        help="keep the contracts of your own tools as files beside their code",
        description="Keep the contracts that the types of a target say as files beside its code.",
        epilog=EPILOG,
        formatter_class=formatter,
    )
    freeze.add_argument("target", metavar="TARGET", help="a file, a folder, package.module, or package.module:toolset")
    freeze.add_argument(
        "--version", metavar="X.Y.Z", help="version of the contracts, for a file without signet.Toolset"
    )
    freeze.add_argument("--json", action="store_true", help="print JSON, with examples in full")
    freeze.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Compare, refuse or write, and print what was done."""
    try:
        toolsets = [_freezable(find_toolset(name)) for name in load_toolsets(args.target)]
        orphans = orphans_of(toolsets, loaded_files())
        all_of_them = [_examined(toolset, args.version, orphans.get(toolset.name, ())) for toolset in toolsets]
        refused = [one for one in all_of_them if not one.is_allowed]
        if not refused:
            for one in all_of_them:
                _write(one)
    except BrokenContractError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"cannot write {error.filename} ({error.strerror})") from None
    _show(all_of_them, is_written=not refused, as_json=args.json)
    for one in refused:
        say(_refusal(one))
    _warn(toolsets, args.target)
    return REFUSED if refused else 0


def freeze_new(toolset: Toolset) -> None:
    """Write the contracts of a toolset of which nothing is frozen yet; raise OSError where they cannot be written."""
    _write(_examined(_freezable(toolset), None, ()))


def _warn(toolsets: list[Toolset], target: str) -> None:
    """Tell what real clients refuse of the tools, or lose of them."""
    texts = []
    for toolset in toolsets:
        bundles = toolset.bundles()
        for tool in toolset.tools():
            found = warnings_of(Subject(toolset, tool), msgspec.json.decode(bundles[tool.slug]))
            texts += [f"{tool.slug}{finding.place}: {finding.message}" for finding in found]
    for text in texts[:MAX_WARNINGS]:
        say(f"warning: {text}")
    if len(texts) > MAX_WARNINGS:
        say(f"warning: and {len(texts) - MAX_WARNINGS} more; '{advise('check', target=target)}' shows them all")


def _freezable(toolset: Toolset) -> Toolset:
    if not toolset.bundles():
        raise UsageError(f"the contracts of {toolset.name} are files already: nothing is derived from types")
    if toolset.is_foreign:
        raise UsageError(f"the contracts of {toolset.name} are those of its document: nothing is derived from types")
    if toolset.schema_root is None:
        raise UsageError(f"{toolset.name} has no folder of its own: put its code into a file")
    if toolset.is_part:
        raise UsageError(f"{target_of(toolset)} is a part of a toolset: name its file, or a signet.Toolset in it")
    for slug, bundle in toolset.bundles().items():
        schemas = msgspec.json.decode(bundle)
        for side in ("input", "output"):
            if (flaw := flaw_of(schemas[side])) is not None:
                raise UsageError(f"the {side} of {slug} is no usable schema ({flaw[1]}): mend its types")
    return toolset


def _examined(toolset: Toolset, given: str | None, orphans: Sequence[str]) -> Freezing:
    """Compare a toolset with what was frozen of it; raise UsageError for a version that cannot be."""
    before = read_frozen(toolset, orphans)
    if before is not None and not before.version:
        # Others are frozen in the folder.
        before = msgspec.structs.replace(before, bundles={})
    _check_owners(toolset, before.orphans if before is not None else ())
    if given is not None and toolset.version:
        raise UsageError(f"the version of {toolset.name} is written in its code: raise version= of its signet.Toolset")
    kept = before.version if before is not None else ""
    own = "" if before is None or toolset.name not in read_marks(before.folder) else kept
    version = toolset.version or given or kept or FIRST
    for one in filter(None, (version, kept)):
        if not is_version(one):
            raise UsageError(f"'{one}' is no version of {toolset.name}: write three numbers, such as 1.0.0")
    if own and numbers(version) < numbers(own):
        raise UsageError(f"{toolset.name} {version} is below {own}, which is frozen: write {own} or a higher version")
    empty = FrozenContracts(toolset.schema_root or "", "", {})
    return Freezing(toolset, before if kept else None, version, changes(toolset, before or empty))


def _check_owners(toolset: Toolset, orphans: Sequence[str]) -> None:
    """Raise UsageError if the file of a tool is that of another toolset which shares the folder."""
    for name, mark in read_marks(toolset.schema_root or "").items():
        taken = sorted(toolset.bundles().keys() & set(mark.tools or ()))
        if taken and name not in (toolset.name, *orphans):
            raise UsageError(f"{taken[0]} is frozen as a tool of {name} beside it: give the tool another slug=")


def _write(one: Freezing) -> None:
    """Write the files of one toolset, each as a whole, and remove those of tools that are gone."""
    folder = one.toolset.schema_root or ""
    os.makedirs(os.path.join(folder, "tools"), exist_ok=True)
    bundles = one.toolset.bundles()
    for slug, bundle in bundles.items():
        _replace(tool_file(folder, slug), bundle)
    for slug in one.before.bundles if one.before is not None else ():
        if slug not in bundles:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(tool_file(folder, slug))
    _replace(os.path.join(folder, MARK_FILE), msgspec.json.encode(_marks(folder, one)))


def _marks(folder: str, one: Freezing) -> Any:
    """Return the content of the file that names the toolsets of a folder."""
    gone = one.before.orphans if one.before is not None else ()
    marks = {name: mark for name, mark in read_marks(folder).items() if name not in gone}
    names = {tool.slug: tool.name for tool in one.toolset.tools() if tool.name != last_part(tool.slug)}
    own = ToolsetMark(one.toolset.name, one.version, sorted(one.toolset.bundles()), names)
    marks[one.toolset.name] = own
    if len(marks) == 1:
        return own
    listed = {slug for mark in marks.values() for slug in mark.tools or ()}
    files = (name.removesuffix(".json") for name in os.listdir(os.path.join(folder, "tools")) if name.endswith(".json"))
    # A toolset that was alone until now has all files that nobody else lists.
    rest = sorted(slug for slug in files if slug not in listed)
    whole = [msgspec.structs.replace(mark, tools=rest) if mark.tools is None else mark for mark in marks.values()]
    return {"toolsets": sorted(whole, key=lambda mark: mark.toolset)}


def _replace(path: str, data: bytes) -> None:
    with replacing(path, f"{path}.new") as file:
        file.write(msgspec.json.format(data, indent=2) + b"\n")


def _refusal(one: Freezing) -> str:
    broken = ", ".join(dict.fromkeys(finding.tool for finding in one.breaking))
    kept = one.before.version if one.before is not None else ""
    higher = next_breaking(kept)
    how = f'write version="{higher}" in its signet.Toolset' if one.toolset.version else f"write --version {higher}"
    return f"{broken}: the callers of {one.toolset.name} {kept} would break, so nothing was written; {how}, or mend it"


def _show(all_of_them: list[Freezing], *, is_written: bool, as_json: bool) -> None:
    if as_json:
        sets = [
            {
                "toolset": one.toolset.name,
                "version": one.version,
                "folder": one.toolset.schema_root,
                "tools": _states(one),
            }
            for one in all_of_them
        ]
        write_json(msgspec.json.encode({"written": is_written, "toolsets": sets}).decode())
        return
    rows: list[list[Cell]] = []
    for one in all_of_them:
        for tool in _states(one):
            state = tool["state"]
            example = msgspec.json.encode(tool["example"]).decode() if "example" in tool else ""
            rows.append([tool["tool"], (state, COLOURS.get(state, "")), tool["why"], example[:PIPE_WIDTH]])
    write(table(("tool", "change", "why", "example"), rows, pipe_width=PIPE_WIDTH, strip=True))
    if is_written:
        for one in all_of_them:
            folder = os.path.relpath(one.toolset.schema_root or "")
            count = len(one.toolset.bundles())
            tools = "1 tool is" if count == 1 else f"{count} tools are"
            write(f"{one.toolset.name} {one.version}: {tools} frozen in {folder}")


def _states(one: Freezing) -> list[dict[str, Any]]:
    """Return the change of each tool: new, unchanged, compatible, breaking or removed."""
    by_tool: dict[str, list[ContractFinding]] = {}
    for finding in one.findings:
        by_tool.setdefault(finding.tool, []).append(finding)
    return [_state(tool, findings) for tool, findings in by_tool.items()]


def _state(tool: str, findings: list[ContractFinding]) -> dict[str, Any]:
    changed = [finding for finding in findings if finding.is_change]
    if not changed:
        return {"tool": tool, "state": "unchanged", "why": ""}
    worst = next((finding for finding in changed if finding.breaks), changed[0])
    state = "new" if worst.verdict == "added" else worst.verdict
    why = worst.why if worst.side == "both" else f"{worst.side}: {worst.why}"
    shown: Mapping[str, Any] = {} if worst.example is msgspec.UNSET else {"example": worst.example}
    return {"tool": tool, "state": state, "why": why, **shown}
