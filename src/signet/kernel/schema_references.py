"""References in a schema: the parts that one may lead to, and the schemas with ids that they join. Pure.

    {"$ref": "#/$defs/x"}        one part, where no part below the root has an id and no anchor is there twice
    {"$ref": "other#name"}       else each part that the validator may take for it

A schema with ids below its root is many: a reference leads into one of them, depending on where it stands, and the
validator compiles that one once for each way there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["METASCHEMA", "REFERENCES", "References", "all_values", "part_at"]

REFERENCES: Final = ("$dynamicRef", "$recursiveRef", "$ref")
ANCHORS: Final = ("$anchor", "$dynamicAnchor")
METASCHEMA: Final[dict[str, Any]] = {"$comment": "a schema of json-schema.org, which the validator has"}
CONTENT_DRAFTS: Final = ("draft-06", "draft-07")
"""The drafts in which a text must be what its schema says that it contains."""
KNOWN_HOST: Final = "json-schema.org"
MAX_INDEX_CHARS: Final = 8
ANY_NAME: Final = ("", ".", "..")
"""The ends of a URI that tell nothing about the name of a schema."""


class References:
    """The parts of one schema by their anchors and ids."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._anchors: dict[str, list[Any]] = {}
        self._resources: list[tuple[str, Any]] = [("", schema)]
        """The schemas with an id of their own, by the ends of their ids; the first is the whole."""
        own_id = schema.get("$id", schema.get("id")) if isinstance(schema, dict) else None
        self._own_id = own_id.partition("#")[0] if isinstance(own_id, str) else ""
        self._has_other_bases = False
        parts = [part for part in all_values(schema) if isinstance(part, dict)]
        drafts = {str(part["$schema"]) for part in parts if "$schema" in part}
        ids = ("$id", "id") if any("draft-04" in draft for draft in drafts) else ("$id",)
        self.reads_content = any(old in draft for draft in drafts for old in CONTENT_DRAFTS)
        """Whether texts are read as what their `contentMediaType` says."""
        for part in parts:
            self._read(part, ids)
        self._ids = ids
        doubled = any(len(parts) > 1 for parts in self._anchors.values())
        self.is_certain = not (self.has_ids or doubled or self._has_other_bases)
        """Whether each reference leads to one part."""

    def targets(self, reference: Any) -> list[Any]:
        """Return the parts that a reference may lead to."""
        if not isinstance(reference, str):
            return []
        base, _, fragment = reference.partition("#")
        if base and base != self._own_id and KNOWN_HOST in base:
            return [METASCHEMA]
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(_unquoted(fragment), [])
        # Without a base, the schema that it stands in may be any of them.
        found = [part_at(one, fragment) for one in (self._named(base) if base else [one for _, one in self._resources])]
        return [part for part in found if isinstance(part, dict)]

    @property
    def has_ids(self) -> bool:
        """Whether a part below the root has an id."""
        return len(self._resources) > 1

    def reached(self, size_of: dict[int, int], most: int) -> int:
        """Return the size of all schemas with ids, each as often as there are ways to it; stop behind so much."""
        ways, sizes = self._ways(), self._sizes(size_of)
        size, unseen = 0, [(id(self._root), frozenset((id(self._root),)))]
        while unseen and size <= most:
            here, path = unseen.pop()
            size += sizes.get(here, 0)
            unseen += [(there, path | {there}) for there in ways.get(here, ()) if there not in path]
        return size

    def _sizes(self, size_of: dict[int, int]) -> dict[int, int]:
        """Return the size of each schema with an id, of the sizes of its parts."""
        found: dict[int, int] = {}
        for part, holders in self._held():
            found[holders[-1]] = found.get(holders[-1], 0) + size_of.get(id(part), 0)
        return found

    def _read(self, part: dict[str, Any], ids: tuple[str, ...]) -> None:
        for key in ANCHORS:
            if isinstance(part.get(key), str):
                self._anchors.setdefault(_unquoted(part[key]), []).append(part)
        for key in ids:
            if isinstance(part.get(key), str):
                base, _, name = part[key].partition("#")
                if name:
                    self._anchors.setdefault(_unquoted(name), []).append(part)
                if part is not self._root:
                    self._resources.append((_end_of(base), part))
        for key in REFERENCES:
            base = part[key].partition("#")[0] if isinstance(part.get(key), str) else ""
            if base not in {"", self._own_id} and KNOWN_HOST not in base:
                self._has_other_bases = True

    def _named(self, base: str) -> list[Any]:
        """Return the schemas whose ids may be the base of a reference."""
        end = _end_of(base)
        if end in ANY_NAME:
            return [one for _, one in self._resources]
        own = [self._root] if _end_of(self._own_id) in {end, *ANY_NAME} else []
        found = own + [one for name, one in self._resources[1:] if name == end or name in ANY_NAME]
        return found or [one for _, one in self._resources]

    def _held(self) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield each part with the schemas with ids that it stands in."""
        unseen: list[tuple[Any, tuple[int, ...]]] = [(self._root, ())]
        while unseen:
            part, holders = unseen.pop()
            is_one = isinstance(part, dict) and any(isinstance(part.get(key), str) for key in self._ids)
            if is_one or part is self._root:
                holders = (*holders, id(part))
            yield part, holders
            inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
            unseen += [(one, holders) for one in inner]

    def _ways(self) -> dict[int, set[int]]:
        """Return which schema with an id leads to which others, by a reference or because it holds them in place."""
        holder = {id(part): holders for part, holders in self._held()}
        ways: dict[int, set[int]] = {}
        for part, holders in self._held():
            to = {holders[-1]} if len(holders) > 1 and id(part) == holders[-1] else set()
            for key in REFERENCES if isinstance(part, dict) else ():
                for target in self.targets(part.get(key)) if _leads_out(key, part.get(key)) else ():
                    to.update(holder.get(id(target), ())[-1:])
            for one in holders if to else ():
                ways.setdefault(one, set()).update(to - {one})
        return ways


def _leads_out(key: str, reference: Any) -> bool:
    """Whether a reference may lead into another schema with an id."""
    stays = isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))
    return key == "$recursiveRef" or not stays


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _end_of(uri: str) -> str:
    """Return the last name of a URI, in the same spelling for all URIs that a validator may take for equal."""
    return _unquoted(uri.partition("?")[0]).rpartition("/")[2].lower()


def all_values(value: Any) -> Iterator[Any]:
    """Yield a value and all that is in it."""
    unseen = [value]
    while unseen:
        part = unseen.pop()
        yield part
        unseen += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()


def part_at(part: Any, pointer: str) -> Any:
    """Return the part of a schema at a JSON pointer, as it stands in a URI; None where there is none."""
    for key in _unquoted(pointer).split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list):
            # The validator takes a sign and zeros before an index too.
            digits = name.removeprefix("+")
            number = digits.lstrip("0") or "0"
            is_place = digits.isdecimal() and len(number) <= MAX_INDEX_CHARS and int(number) < len(part)
            part = part[int(number)] if is_place else None
        else:
            part = part.get(name) if isinstance(part, dict) else None
    return part
