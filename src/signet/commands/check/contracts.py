"""Checks of contracts: they load, agree with what was frozen, and can be kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from signet.authoring.drift import change_of, changes, higher_version
from signet.authoring.frozen import MARK_FILE, BrokenContractError, agree, read_frozen, tool_file
from signet.compatibility.contract_set import is_version, numbers
from signet.kernel.schemas import SchemaRegistry, schema_of
from signet.kernel.toolset import Toolset
from signet.proofs.examples import example_of, is_contradiction, keep, wrong_default
from signet.settings.catalogue import freezing_target
from signet.system.advice import advise

from .result import CheckResult, CheckState, Subject

__all__ = ["check_contract", "check_frozen", "check_satisfiable", "schemas_of"]


def schemas_of(subject: Subject, registry: SchemaRegistry) -> dict[str, dict[str, Any]]:
    """Return the input and the output schema of a tool."""
    bundle = registry.load_bundle(subject.tool.slug)
    return {"input": schema_of(bundle.input), "output": schema_of(bundle.output)}


def check_contract(subject: Subject, registry: SchemaRegistry) -> CheckResult:
    """Compile both contracts of a tool, and hold each default in them to the schema that states it."""
    try:
        registry.load_tool_io(subject.tool.slug)
        wrong = [wrong_default(schema) for schema in schemas_of(subject, registry).values()]
    except ValueError as error:
        first_line = str(error).partition("\n")[0]
        return subject.failed("contract", f"{first_line}; mend its types, or its file")
    message = next(filter(None, wrong), "")
    return subject.failed("contract", message) if message else subject.ok("contract")


def check_satisfiable(subject: Subject, schemas: dict[str, dict[str, Any]]) -> CheckResult:
    """Look for a value that keeps each contract."""
    unknown = []
    for side, schema in schemas.items():
        is_kept = side == "input" and subject.tool.has_example and keep(schema, [subject.tool.example]) == [True]
        if is_kept or example_of(schema) is not UNSET:
            continue
        if is_contradiction(schema):
            what = "nobody can call it" if side == "input" else "it can never answer"
            return subject.failed("satisfiable", f"no value keeps the {side} contract, so {what}: mend its limits")
        unknown.append(side)
    if unknown:
        sides = " and the ".join(unknown)
        return subject.warning("satisfiable", f"no value was found that keeps the {sides} contract; there may be one")
    return subject.ok("satisfiable")


def check_frozen(toolset: Toolset, subjects: list[Subject], orphans: Sequence[str] = ()) -> list[CheckResult]:
    """Compare what the types say with what was frozen; nothing for contracts that are files from the beginning.

    `orphans` are toolsets that are frozen beside this one and that nothing serves any more.
    """
    if not toolset.bundles() or toolset.is_foreign:
        return []
    freeze = advise("contract.freeze", target=freezing_target(toolset))
    try:
        frozen = read_frozen(toolset, orphans)
        if frozen is None:
            return [one.warning("frozen", f"not frozen yet: '{freeze}' keeps its contract") for one in subjects]
        if frozen.version and not is_version(frozen.version):
            return [_of_mark(toolset, CheckState.FAILED, f"'{frozen.version}' is no version: write 1.0.0")]
        found = [] if agree(toolset, frozen) else [one for one in changes(toolset, frozen) if one.is_change]
    except BrokenContractError as error:
        return [_of_mark(toolset, CheckState.FAILED, str(error))]
    told: dict[str, list[str]] = {}
    for finding in found:
        higher = higher_version(toolset, frozen.version, freeze) if finding.breaks else ""
        advice = higher or f"'{freeze}'"
        told.setdefault(finding.tool, []).append(f"{change_of(finding)}: {advice}")
    results = [
        one.failed("frozen", "; ".join(told.pop(one.tool.slug))) if one.tool.slug in told else one.ok("frozen")
        for one in subjects
    ]
    gone = [
        CheckResult(
            toolset.name, "", "frozen", CheckState.FAILED, "; ".join(texts), (tool_file(frozen.folder, slug), 1)
        )
        for slug, texts in told.items()
    ]
    return [*results, *gone, *_check_version(toolset, frozen.version, freeze)]


def _check_version(toolset: Toolset, kept: str, freeze: str) -> list[CheckResult]:
    """Compare the version in the code with the frozen one."""
    if not toolset.version or toolset.version == kept or not kept:
        return []
    if not is_version(toolset.version):
        return [_of_mark(toolset, CheckState.FAILED, f"'{toolset.version}' is no version: write 1.0.0")]
    if numbers(toolset.version) < numbers(kept):
        text = f"version {toolset.version} is below {kept}, which is frozen: write {kept} or a higher version"
        return [_of_mark(toolset, CheckState.FAILED, text)]
    return [_of_mark(toolset, CheckState.WARNING, f"version {toolset.version} is not frozen, {kept} is: '{freeze}'")]


def _of_mark(toolset: Toolset, state: CheckState, message: str) -> CheckResult:
    """Return a result on a whole toolset, with the file that names it as its place, or else the code."""
    mark = os.path.join(toolset.schema_root or "", MARK_FILE)
    code = next((tool.defined_at for tool in toolset.tools() if tool.defined_at), None)
    return CheckResult(toolset.name, "", "frozen", state, message, (mark, 1) if os.path.exists(mark) else code)
