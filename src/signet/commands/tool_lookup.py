"""A tool by the name that a person wrote: where it is not served, what to set, or which names are near. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from shlex import quote
from typing import Final

from signet.kernel.schemas import PREFIX
from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset
from signet.settings.catalogue import TOOLSETS, find_toolset, target_again
from signet.settings.fields import join_list, split_list
from signet.settings.model import EnabledToolset, Settings
from signet.settings.names import PREFIX as VARIABLE_PREFIX
from signet.settings.names import variable_of

__all__ = ["advice", "find_unserved", "flags_again", "toolsets_again", "unknown", "what_to_set"]

MAX_NEAR: Final = 3
LIKENESS: Final = 0.6
AS_NEAR: Final = 0.05
"""How much less like the name than the nearest one another may be: a slip of the hand means one tool."""
MAX_NAME_CHARS: Final = 100


def advice(name: str, settings: Settings, toolbox: Iterable[Tool], more: str) -> str:
    """Return what is wrong with a name that no tool of the toolbox has, which is served, and what to do.

    `more` names the command that lists the tools.
    """
    found = find_unserved(name, settings)
    if found is not None:
        toolset, _ = found
        return what_to_set(toolset, settings, subject=f"{name} belongs to")
    return unknown(name, [tool.name for tool in toolbox], more)


def find_unserved(name: str, settings: Settings) -> tuple[Toolset, Tool] | None:
    """Return the tool with this name, slug or canonical id, with its toolset, if that is known but not enabled."""
    enabled = {toolset.name for toolset, _ in settings.enabled()}
    for toolset in map(find_toolset, TOOLSETS):
        if toolset.name not in enabled:
            for tool in toolset.tools():
                if name in {tool.name, tool.slug, tool.id}:
                    return toolset, tool
    return None


def what_to_set(toolset: Toolset, settings: Settings, *, subject: str = "") -> str:
    """Return the sentence that says how a toolset which is not enabled can be; the subject stands before it."""
    which = f"{subject} the toolset {toolset.name}, which" if subject else f"the toolset {toolset.name}"
    needs = "" if EnabledToolset(toolset, settings.of(toolset)).has_what_it_needs else _flag_and_variable(toolset)
    if settings.toolsets:
        also = f", and set {needs}" if needs and not settings.sandbox else ""
        return f"{which} is not among --toolsets {settings.toolsets} (or SIGNET_TOOLSETS): add {toolset.name}{also}"
    trial = "; --sandbox tries it on sample data" if find_toolset(toolset.domain).sandbox is not None else ""
    return f"{which} needs {needs}{trial}"


def toolsets_again(settings: Settings) -> str:
    """Return the flag with which another command finds the same toolsets; empty if it finds them without one."""
    targets = [target for name in split_list(settings.toolsets) if (target := target_again(name))]
    is_needed = targets and any(toolset.bundles() for toolset, _ in settings.enabled())
    return f" --toolsets {quote(join_list(targets))}" if is_needed else ""


def flags_again(settings: Settings) -> str:
    """Return the flags with which `signet call` finds the same tools and upstreams."""
    enabled = settings.enabled()
    flags = toolsets_again(settings)
    if settings.sandbox:
        return f"{flags} --sandbox"
    if settings.replay:
        return f"{flags} --replay {quote(settings.replay)}"
    for toolset, own in enabled:
        if toolset.needs and not toolset.extends:
            flags += f" --{toolset.name}-{toolset.needs.replace('_', '-')} {getattr(own, toolset.needs)}"
    return flags


def _flag_and_variable(toolset: Toolset) -> str:
    name = f"{toolset.domain}_{toolset.needs}"
    variable = VARIABLE_PREFIX + variable_of(name).removeprefix(VARIABLE_PREFIX)
    return f"--{name.replace('_', '-')} URL (or {variable})"


def unknown(name: str, names: Iterable[str], more: str) -> str:
    """Return the sentence for a name that no tool has, with the known names that are near."""
    by_lower = {known.lower(): known for known in names}
    asked = name.removeprefix(PREFIX)[:MAX_NAME_CHARS]
    near = _nearest(asked.lower(), by_lower)
    near += [known for known in by_lower if asked and asked.lower() in known and known not in near]
    found = " or ".join(by_lower[known] for known in near[:MAX_NEAR])
    return f"there is no tool '{asked}'; {f'did you mean {found}? ' if found else ''}{more}"


def _nearest(asked: str, names: Iterable[str]) -> list[str]:
    """Return the names that are like the one asked for, without those that are clearly less so than the first."""
    near = difflib.get_close_matches(asked, names, MAX_NEAR, LIKENESS)
    likeness = [difflib.SequenceMatcher(None, known, asked).ratio() for known in near]
    return [known for known, one in zip(near, likeness, strict=True) if one >= likeness[0] - AS_NEAR]
