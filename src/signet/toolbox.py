"""The tools of the enabled toolsets and their contracts: Signet's own files, a toolset's files, or what types say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Tool, Toolbox
from signet.kernel.toolset import Toolset
from signet.settings.catalogue import freezing_target
from signet.settings.model import EnabledToolset
from signet.settings.usage import UsageError

__all__ = ["SCHEMA_ROOT", "open_toolbox", "unchanged"]

SCHEMA_ROOT: Final = os.path.join(os.path.dirname(__file__), "schemas")


ENFORCE: Final = "enforce"
OFF: Final = "off"
WAY: Final = "to serve it unchecked, set its validation to off"


def _ignore(*_: str) -> None:
    pass


def unchanged(tool: Tool) -> Tool:
    """Return a tool as it is."""
    return tool


def open_toolbox(
    enabled: list[EnabledToolset],
    variant: Callable[[Tool], Tool] = unchanged,
    on_drift: Callable[[str], None] | None = None,
    *,
    mode: str = ENFORCE,
    on_over_budget: Callable[[str, str], None] = _ignore,
) -> tuple[Toolbox, SchemaRegistry]:
    """Return the tools of some toolsets, each in the variant that a server has of it, and their contracts.

    Types that do not agree with the contracts that were frozen stop the start, unless `on_drift` is given: it is told,
    and what the types say is the contract.

    Raises:
        UsageError: two tools have one name, a tool has no usable contract, or types and frozen contracts differ.
    """
    roots: tuple[str, ...] = ()
    derived: dict[str, bytes] = {}
    for toolset, _ in enabled:
        if toolset.bundles():
            derived |= _derived_contracts(toolset, on_drift)
        elif toolset.schema_root is not None:
            roots = (*roots, toolset.schema_root)
    try:
        toolbox = Toolbox(*[tuple(map(variant, toolset.tools())) for toolset, _ in enabled])
        registry = SchemaRegistry(schema_root=SCHEMA_ROOT, tool_roots=roots, derived=derived)
        for slug in toolbox.slugs:
            registry.load_bundle(slug)
        groups = list(toolbox.groups)
        for number, (toolset, _) in enumerate(enabled):
            if toolset.bundles() or toolset.schema_root:
                groups[number] = _within_budget(groups[number], registry, mode, on_over_budget)
        if groups != list(toolbox.groups):
            toolbox.replace(*groups)
    except KeyError as error:
        message = f"the tool {error} has no contract: write tools/{error.args[0]}.json in {(*roots, SCHEMA_ROOT)[0]}"
        raise UsageError(message) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return toolbox, registry


def _within_budget(
    tools: tuple[Tool, ...], registry: SchemaRegistry, mode: str, tell: Callable[[str, str], None]
) -> tuple[Tool, ...]:
    """Return the tools whose schemas are within their budget, or need not be."""
    from signet.kernel.schema_budget import check_budget

    served = []
    for tool in tools:
        bundle = registry.load_bundle(tool.slug)
        flaws = {}
        for side, raw in (("input", bundle.input), ("output", bundle.output)):
            try:
                check_budget(msgspec.json.decode(raw), len(bytes(raw)))
            except RecursionError:
                flaws[side] = "it is nested too deeply"
            except ValueError as error:
                flaws[side] = str(error)
        modes = {"input": tool.input_mode or mode, "output": tool.mode or mode}
        is_served = tool.mode == OFF or all(modes[side] != ENFORCE for side in flaws)
        for side, why in flaws.items():
            then = "nothing is checked by it" if is_served else f"the tool is not served; {WAY}"
            tell(tool.name, f"its {side} schema is over the budget of a schema: {why}: {then}")
        if is_served:
            registry.unchecked |= {(tool.slug, side) for side in flaws}
            served.append(tool)
    return tuple(served)


def _derived_contracts(toolset: Toolset, on_drift: Callable[[str], None] | None) -> Mapping[str, bytes]:
    from signet.authoring.drift import ContractDriftError, served_contracts

    try:
        return served_contracts(toolset, freezing_target(toolset))
    except ContractDriftError as error:
        if on_drift is None:
            raise UsageError(str(error)) from None
        on_drift(str(error))
    return toolset.bundles()
