"""Tools: what is served, under which contract, and how it is called."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec

from signet.catalogue import find_toolset
from signet.kernel.errors import Code, Fault, unknown_tool
from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset
from signet.kernel.wire import encode

from .contract_fields import ContractField, contract_field
from .how_to_call import MAX_BYTES, MAX_DEPTH, CallSite, CallWay, can_be_written, ways_to_call
from .parts import Parts
from .tool_groups import ToolGroup, tool_groups
from .twin import Shown, Twin, Visit, cut
from .work import work

__all__ = ["twins"]

MAX_EXAMPLES: Final = 8
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


class ToolExample(Shown, frozen=True):
    """Arguments to try."""

    name: str
    arguments: dict[str, Any]


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


def twins(parts: Parts) -> tuple[Twin, ...]:
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


async def _page(parts: Parts, visit: Visit) -> ToolPage:
    group, tool = _find(parts, visit)
    bundle = parts.server.pipeline.registry.load_bundle(tool.slug)
    takes, gives = msgspec.json.decode(bundle.input), msgspec.json.decode(bundle.output)
    examples, site = list(_examples(parts, group.toolset, tool)), _site(parts, visit)
    first = examples[0].arguments if examples else await work(_smallest, takes)
    return ToolPage(
        **_listed(tool, visit),
        id=tool.id,
        toolset=group.title,
        input=contract_field(takes),
        output=contract_field(gives),
        input_schema=takes,
        output_schema=gives,
        null_arguments=sorted(tool.keeps_nulls),
        examples=examples,
        ways=ways_to_call(tool, first, site),
        url=site.url,
    )


def _smallest(takes: dict[str, Any]) -> dict[str, Any]:
    """Return simple arguments that keep a contract; none where none are found."""
    from signet.compatibility.satisfaction import example_of

    found = example_of(takes)
    return found if isinstance(found, dict) else {}


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


def _find(parts: Parts, visit: Visit) -> tuple[ToolGroup, Tool]:
    """Return the tool that a path names, and its group; raise Fault if there is none."""
    for group in tool_groups(parts):
        for tool in group.tools:
            if tool.name == visit.path["name"]:
                return group, tool
    raise unknown_tool(cut(visit.path["name"]))


def _site(parts: Parts, visit: Visit) -> CallSite:
    """Return where the server is reached: by its public URL, or by the name that the visitor used."""
    scheme = "http" if parts.settings.tls_cert is None else "https"
    seen = f"{scheme}://{visit.request.headers.get('host', '')}{visit.request.root}"
    return CallSite((parts.root or seen).rstrip("/"), parts.secured)


def _examples(parts: Parts, toolset: Toolset | None, tool: Tool) -> Iterator[ToolExample]:
    """Yield arguments that keep the contract: the tool's own, and those of the toolset's corpus.

    The tools of a wrapped server have none. The corpus of a toolset with a sandbox is about its sample data, so it is
    shown on sample data alone, and first.
    """
    if toolset is None:
        return
    own = [("the tool's own example", tool.example)] if tool.has_example else []
    rows = [(row[0], row[2]) for row in toolset.corpus() if row[1] == tool.name and not row[3:]]
    on_samples = (find_toolset(toolset.extends) if toolset.extends else toolset).sandbox is not None
    if parts.settings.sandbox:
        given = [*rows, *own] if on_samples else [*own, *rows]
    else:
        given = own if on_samples else [*own, *rows]
    is_valid = parts.server.pipeline.registry.load_tool_io(tool.slug).input_validator.is_valid
    seen: set[bytes] = set()
    for name, arguments in given:
        if len(seen) == MAX_EXAMPLES or not can_be_written(arguments):
            continue
        written = encode(arguments)
        if written not in seen and is_valid(arguments):
            seen.add(written)
            yield ToolExample(name, dict(arguments))
