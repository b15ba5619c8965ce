"""The tools of the enabled toolsets and their contracts: Signet's own files, a toolset's files, or what types say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from signet.catalogue import freezing_target
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Tool, Toolbox
from signet.kernel.toolset import Toolset
from signet.settings import EnabledToolset, UsageError

__all__ = ["SCHEMA_ROOT", "open_toolbox", "unchanged"]

SCHEMA_ROOT: Final = os.path.join(os.path.dirname(__file__), "schemas")


def unchanged(tool: Tool) -> Tool:
    """Return a tool as it is."""
    return tool


def open_toolbox(
    enabled: list[EnabledToolset],
    variant: Callable[[Tool], Tool] = unchanged,
    on_drift: Callable[[str], None] | None = None,
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
    except KeyError as error:
        message = f"the tool {error} has no contract: write tools/{error.args[0]}.json in {(*roots, SCHEMA_ROOT)[0]}"
        raise UsageError(message) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return toolbox, registry


def _derived_contracts(toolset: Toolset, on_drift: Callable[[str], None] | None) -> Mapping[str, bytes]:
    from signet.authoring.drift import ContractDriftError, served_contracts

    try:
        return served_contracts(toolset, freezing_target(toolset))
    except ContractDriftError as error:
        if on_drift is None:
            raise UsageError(str(error)) from None
        on_drift(str(error))
    return toolset.bundles()
