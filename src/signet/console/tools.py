"""Tools: what is served, under which contract, and how it is called."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from signet.kernel.errors import Code, Fault, unknown_tool
from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset
from signet.settings.catalogue import find_toolset
from signet.system.text import cut

from .contract_fields import ContractField
from .how_to_call import MAX_BYTES, MAX_DEPTH, CallSite, CallWay, can_be_written, ways_to_call
from .parts import ConsoleContext
from .tool_contract import ToolExample, foreign_contract, own_contract
from .tool_groups import ToolGroup, tool_groups
from .twin import MAX_TOLD_CHARS, Shown, Twin, Visit
from .work import work

__all__ = ["twins"]

TOO_LARGE: Final = (
    f"Texts that call a tool are written for arguments of at most {MAX_BYTES} bytes of JSON and {MAX_DEPTH} levels; "
    "these are larger or deeper"
)


class ListedTool(Shown, frozen=True):
    """One tool in the catalogue."""

    name: str
    slug: str
    """The name of its contract."""
    title: str
    description: str
    annotations: dict[str, bool]
    public: bool
    """Whether any web page may call it."""
    may_call: bool
    """Whether the visitor may call it."""


class ListedToolset(Shown, frozen=True):
    """The tools of one toolset, or of one wrapped server."""

    name: str
    title: str
    tools: list[ListedTool]


class ToolCatalogue(Shown, frozen=True):
    """All tools, by toolset."""

    toolsets: list[ListedToolset]


class ToolPage(ListedTool, frozen=True):
    """One tool, its contract, and how it is called."""

    id: str
    """The canonical id, by which the envelope names it."""
    toolset: str
    """The title of its toolset, or the name of the server that it belongs to."""
    input: ContractField
    output: ContractField
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    null_arguments: list[str]
    """The optional arguments for which null is a value of its own; for others it counts as left out."""
    examples: list[ToolExample]
    ways: list[CallWay]
    """How to call it with the first example, or with the smallest arguments that keep the contract."""
    url: str
    """The URL of the server in `ways`; a page that was reached by another one writes its own in its place."""


class WantedCall(Shown, frozen=True):
    """A call that somebody wants to make."""

    arguments: dict[str, Any]


class CallWays(Shown, frozen=True):
    """How to make one call."""

    ways: list[CallWay]
    url: str


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""

    def catalogue(visit: Visit) -> ToolCatalogue:
        return ToolCatalogue(
            [
                ListedToolset(group.name, group.title, [ListedTool(**_listed(tool, visit)) for tool in group.tools])
                for group in tool_groups(parts)
            ]
        )

    def ways(visit: Visit) -> CallWays:
        (_, tool), site, arguments = _find(parts, visit), _site(parts, visit), visit.body.arguments
        if not can_be_written(arguments):
            raise Fault(Code.INVALID_INPUT, TOO_LARGE)
        return CallWays(ways_to_call(tool, arguments, site), site.url)

    one, unknown = "/-/tools/{name}", ((404, "TOOL_NOT_FOUND"),)
    return (
        Twin(path="/-/tools", summary="List the tools by toolset", answer=ToolCatalogue, run=catalogue),
        Twin(
            path=one,
            summary="Show a tool: contract, examples, how to call it",
            answer=ToolPage,
            run=partial(_page, parts),
            refusals=unknown,
        ),
        Twin(
            method="POST",
            path=one,
            summary="Write how a tool is called with some arguments; nothing is called",
            answer=CallWays,
            body=WantedCall,
            run=ways,
            refusals=unknown,
            example={"arguments": {}},
        ),
    )


async def _page(parts: ConsoleContext, visit: Visit) -> ToolPage:
    group, tool = _find(parts, visit)
    bundle = parts.server.pipeline.registry.load_bundle(tool.slug)
    is_foreign = group.toolset is None or group.toolset.is_foreign
    candidates, site = _candidates(parts, group.toolset, tool), _site(parts, visit)
    if is_foreign:
        shown = await foreign_contract(parts.questions, bundle, candidates, visit.request.caller.holder)
    else:
        # Compiled already, or now: the schemas are those of the author.
        is_valid = parts.server.pipeline.registry.load_tool_io(tool.slug).input_validator.is_valid
        shown = await work(own_contract, bundle, candidates, is_valid)
    first = shown.examples[0].arguments if shown.examples else shown.smallest
    return ToolPage(
        **_listed(tool, visit),
        id=tool.id,
        toolset=group.title,
        input=shown.input,
        output=shown.output,
        input_schema=shown.input_schema,
        output_schema=shown.output_schema,
        null_arguments=sorted(tool.keeps_nulls),
        examples=shown.examples,
        ways=ways_to_call(tool, first, site),
        url=site.url,
    )


def _listed(tool: Tool, visit: Visit) -> dict[str, Any]:
    principal = visit.request.caller.principal
    return {
        "name": tool.name,
        "slug": tool.slug,
        "title": tool.title,
        "description": tool.description,
        "annotations": dict(tool.annotations),
        "public": tool.public,
        "may_call": principal is None or principal.may_call(tool.slug),
    }


def _find(parts: ConsoleContext, visit: Visit) -> tuple[ToolGroup, Tool]:
    """Return the tool that a path names, and its group; raise Fault if there is none."""
    for group in tool_groups(parts):
        for tool in group.tools:
            if tool.name == visit.path["name"]:
                return group, tool
    raise unknown_tool(cut(visit.path["name"], MAX_TOLD_CHARS))


def _site(parts: ConsoleContext, visit: Visit) -> CallSite:
    """Return where the server is reached: by its public URL, or by the name that the visitor used."""
    scheme = "http" if parts.settings.tls_cert is None else "https"
    seen = f"{scheme}://{visit.request.headers.get('host', '')}{visit.request.root}"
    return CallSite((parts.root or seen).rstrip("/"), parts.secured)


def _candidates(parts: ConsoleContext, toolset: Toolset | None, tool: Tool) -> list[ToolExample]:
    """Return arguments that may keep the contract: the tool's own, and those of the toolset's corpus.

    The tools of a wrapped server have none. The corpus of a toolset with a sandbox is about its sample data, so it is
    shown on sample data alone, and first.
    """
    if toolset is None:
        return []
    own = [("the tool's own example", tool.example)] if tool.has_example else []
    rows = [(row[0], row[2]) for row in toolset.corpus() if row[1] == tool.name and not row[3:]]
    on_samples = (find_toolset(toolset.extends) if toolset.extends else toolset).sandbox is not None
    if parts.settings.sandbox:
        given = [*rows, *own] if on_samples else [*own, *rows]
    else:
        given = own if on_samples else [*own, *rows]
    return [ToolExample(name, dict(arguments)) for name, arguments in given if can_be_written(arguments)]
