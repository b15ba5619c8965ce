"""The tools that a wrapped server lists, as tools of ours: their names, contracts and modes. Pure but for the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.equal_names import has_equal_names
from signet.kernel.schema_budget import check_budget
from signet.kernel.schemas import Bundle, Contract, ToolIO
from signet.kernel.tools import Tool
from signet.kernel.wire import encode
from signet.mcp.messages import members, on_one_line
from signet.settings.server_name import plain_slug

__all__ = [
    "Flaws",
    "Listed",
    "Terms",
    "list_tools",
    "name_of",
    "nearest_of",
    "over_budget",
    "slug_for",
    "with_prefix",
]

MAX_RESULT_BYTES: Final = 16 << 20
MAX_COMPILED_BYTES: Final = 256 << 20
"""The memory of all compiled schemas of one server."""
MAX_NUMBER: Final = 20
MAX_NAME_CHARS: Final = 100
MAX_COMPARED: Final = 1_000
MAX_NEAR: Final = 2
MAX_SHOWN: Final = 10
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
ANYTHING: Final = Raw(b'{"type":"object"}')

WAY: Final = "--validation {}=off of wrap, or validation in signet.toml, serves it"
SIDES: Final = (("input", "inputSchema"), ("output", "outputSchema"))

Note = Callable[..., None]
Flaws = Mapping[str, str]
"""Why a schema of a tool is over its budget, by the side of the tool that it is for."""


class Listed(msgspec.Struct, frozen=True):
    """One tool of a wrapped server."""

    tool: Tool
    entry: Raw
    """What clients are told: as the server wrote it, but for a prefix of its name and a schema that is withheld."""
    bundle: Bundle
    compile: Callable[[], ToolIO]
    own_name: str
    """The name that the server knows."""


class Terms(msgspec.Struct, frozen=True):
    """What the tools of one server have in common."""

    server: str
    prefix: str
    """What stands before the names of its tools."""
    modes: Mapping[str, str]
    """The validation mode by the name of a tool; the empty name stands for all others."""
    run: Callable[[str, Mapping[str, bool], Raw], Callable[[Any, Any], Any]]
    """Return what calls a tool, by its own name, its annotations and its input schema."""
    note: Note
    learned: Mapping[str, Raw] = {}
    """Output schemas for tools that state none; they are enforced and not listed."""
    wider: Mapping[str, Raw] = {}
    """Input schemas that let more values through than the listed ones, and are listed nowhere."""


def over_budget(entries: Iterable[Raw]) -> list[Flaws]:
    """Return for each listed tool which of its schemas are over their budget, and why.

    Nothing is compiled. For long lists this belongs into a thread.
    """
    left = MAX_COMPILED_BYTES
    found: list[Flaws] = []
    for entry in entries:
        parts, flaws = members(entry), {}
        for side, key in SIDES:
            raw = parts.get(key)
            if raw is None:
                continue
            why, taken = _weighed(bytes(raw), left)
            left -= taken
            if why:
                flaws[side] = why
        found.append(flaws)
    return found


def _weighed(text: bytes, left: int) -> tuple[str, int]:
    """Return why a schema is over its budget, if it is, and the memory that it takes when it is compiled."""
    try:
        taken = check_budget(msgspec.json.decode(text), len(text)).compiled_bytes
    except RecursionError:
        return "it is nested too deeply", 0
    except ValueError as error:
        return str(error).partition("\n")[0][:200], 0
    if taken > left:
        return f"the schemas of its server take more than {MAX_COMPILED_BYTES >> 20} MiB when they are compiled", 0
    return "", taken


def list_tools(entries: Sequence[Raw], terms: Terms, weighed: Sequence[Flaws] | None = None) -> list[Listed]:
    """Return the tools of a list, with what `over_budget` found of them.

    A tool without a name, with a name that is there already, or with a schema that is over its budget is reported and
    left out. Where the operator wants no contract of it enforced, the latter is served, and the schema checks nothing.
    """
    listed: dict[str, Listed] = {}
    every = [(one, members(one)) for one in map(_single, entries)]
    # A tool is found by its slug too, so that no slug may be the name of another.
    slugs = {terms.prefix + name_of(parts) for _, parts in every}
    for (entry, parts), flaws in zip(every, over_budget(entries) if weighed is None else weighed, strict=True):
        own_name = name_of(parts)
        if not own_name or own_name in listed:
            terms.note("server.tool_left_out", tool=own_name[:100], why="it has no name of its own")
            continue
        if flaws and not _is_served(own_name, flaws, terms):
            continue
        slug = slug_for(f"{terms.server}.{own_name}", slugs)
        listed[own_name] = _listed(entry, parts, slug, terms, flaws)
    return list(listed.values())


def _single(entry: Raw) -> Raw:
    """Return an entry without equal names: clients read the schema that is validated."""
    try:
        return Raw(encode(msgspec.json.decode(entry))) if has_equal_names(entry) else entry
    except (ValueError, RecursionError):
        return entry


def _is_served(own_name: str, flaws: Flaws, terms: Terms) -> bool:
    """Tell which schemas of a tool are over their budget; return whether it is served without them."""
    name = own_name[:100]
    is_enforced = _mode_of(own_name, terms) == "enforce"
    then = f"the tool is not served; {WAY.format(name)}" if is_enforced else "nothing is checked by it"
    for side, why in flaws.items():
        terms.note("server.tool_over_budget", tool=name, side=side, why=f"{why}: {then}")
    return not is_enforced


def _mode_of(own_name: str, terms: Terms) -> str:
    return terms.modes.get(own_name) or terms.modes.get("", "enforce")


def _listed(entry: Raw, parts: dict[str, Raw], slug: str, terms: Terms, flaws: Flaws) -> Listed:
    own_name, prefix, note = name_of(parts), terms.prefix, terms.note
    mode = _mode_of(own_name, terms)
    withheld = mode == "relax" and "outputSchema" in parts
    if prefix or withheld:
        shown: dict[str, Any] = {key: value for key, value in parts.items() if key != "outputSchema" or not withheld}
        entry = Raw(encode({**shown, "name": prefix + own_name}))
    annotations = _annotations(parts)
    output = None if mode == "relax" else parts.get("outputSchema", terms.learned.get(own_name))
    bundle = Bundle(slug, parts.get("inputSchema", ANYTHING), output if output is not None else ANYTHING)
    tool = Tool(
        name=prefix + own_name,
        slug=slug,
        title=_text(parts, "title") or own_name,
        description=_text(parts, "description"),
        args=dict,
        run=terms.run(own_name, annotations, bundle.input),
        has_example=False,
        annotations=annotations,
        max_result_bytes=MAX_RESULT_BYTES,
        validate_in_thread=True,
        mode=mode,
        input_mode="enforce" if mode == "relax" else mode,
        relays=True,
        is_foreign=True,
    )
    used = Bundle(slug, ANYTHING if "input" in flaws else bundle.input, bundle.output)
    promises_output = output is not None and "output" not in flaws
    told, wider = partial(note, tool=tool.name), terms.wider.get(own_name)
    compile_io = partial(_compile, used, promises_output=promises_output, note=told, wider=wider)
    return Listed(tool, Raw(on_one_line(entry)), bundle, compile_io, own_name)


def name_of(parts: Mapping[str, Raw]) -> str:
    """Return the name of a listed entry; empty if it has none."""
    return _text(parts, "name")


def with_prefix(entry: Raw, prefix: str) -> Raw:
    """Return a listed entry under a name with something before it."""
    parts: dict[str, Any] = dict(members(entry))
    return Raw(encode({**parts, "name": prefix + name_of(parts)}))


def nearest_of(name: str, known: Sequence[str]) -> str:
    """Say which names are most like one that no tool has, or which there are."""
    from difflib import get_close_matches

    close = get_close_matches(name[:MAX_NAME_CHARS], [one[:MAX_NAME_CHARS] for one in known[:MAX_COMPARED]], MAX_NEAR)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"it has {', '.join(sorted(known)[:MAX_SHOWN]) or 'none'}" + (" …" if len(known) > MAX_SHOWN else "")


def _text(parts: Mapping[str, Raw], key: str) -> str:
    value = msgspec.json.decode(parts[key]) if key in parts else ""
    return value if isinstance(value, str) else ""


def _annotations(parts: Mapping[str, Raw]) -> dict[str, bool]:
    given = members(parts.get("annotations"))
    return {hint: bytes(given[hint]) == b"true" for hint in HINTS if hint in given}


def slug_for(name: str, taken: set[str]) -> str:
    """Return a slug for a name: lower case, other characters as `_`, a number behind it if it is taken.

    Where many names have one slug, what is behind it is made from the name.
    """
    base = slug = plain_slug(name)
    number = 1
    while slug in taken:
        number += 1
        slug = f"{base}_{number}" if number < MAX_NUMBER else f"{base}_{_mark(name, number)}"
    taken.add(slug)
    return slug


def _mark(name: str, number: int) -> str:
    from hashlib import sha256

    return sha256(f"{number} {name}".encode()).hexdigest()[:16]


def _compile(bundle: Bundle, *, promises_output: bool, note: Note, wider: Raw | None = None) -> ToolIO:
    """Compile both contracts; a schema that cannot be used is told, and checks nothing."""
    taken = _contract(bundle.input, "input", note)
    more = _contract(wider, "input", note) if wider is not None and taken is not None else None
    if taken is not None and more is not None:
        # The listed schema describes a value that both refuse: the text of the other is not approved.
        taken.widen(more)
    given = _contract(bundle.output, "output", note) if promises_output else None
    anything = _compiled({})
    return ToolIO(taken or anything, given or anything, None, promises_output=given is not None)


def _contract(raw: Raw, side: str, note: Note) -> Contract | None:
    try:
        return _compiled(msgspec.json.decode(raw))
    except (ValueError, RecursionError) as error:
        why = str(error).partition("\n")[0][:200]
        note("server.schema_unusable", side=side, why=f"{why}; values are not checked")
        return None


def _compiled(schema: Any) -> Contract:
    """Return the contract of a schema, read as the draft that it names."""
    import jsonschema_rs

    drafts = {
        "draft-07": jsonschema_rs.Draft7Validator,
        "draft-06": jsonschema_rs.Draft6Validator,
        "draft-04": jsonschema_rs.Draft4Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
    }
    named = schema.get("$schema") if isinstance(schema, dict) else None
    draft = next((drafts[key] for key in drafts if isinstance(named, str) and key in named), None)
    return Contract(schema, "", draft)
