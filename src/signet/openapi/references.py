"""References: the value that a `$ref` leads to, in the same document or in another one that may be read."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from .document import Library, RefusedReferenceError
from .failure import DocumentError, shown

__all__ = ["Node", "Target", "look_up", "resolve", "target_of"]

MAX_HOPS: Final = 32
"""The longest chain of references that lead to references."""


class Node(NamedTuple):
    """A value of a document, and where it stands: relative references depend on it."""

    value: Any
    base: str

    def at(self, key: Any) -> Node:
        """Return the value of a key; None where there is none."""
        value = self.value
        return Node(value.get(key) if isinstance(value, dict) else None, self.base)


class Target(NamedTuple):
    """Where a reference leads: a document, and a pointer in it."""

    location: str
    pointer: str


def target_of(library: Library, base: str, reference: Any) -> Target:
    """Return where a reference leads; raise RefusedReferenceError if it may not lead there."""
    if not isinstance(reference, str):
        raise RefusedReferenceError(f"{shown(reference)} is no reference")
    from urllib.parse import unquote

    place, _, fragment = reference.partition("#")
    pointer = unquote(fragment)
    if pointer and not pointer.startswith("/"):
        raise RefusedReferenceError(f"{shown(reference)} names an anchor, which is not looked for")
    return Target(library.locate(base, place), pointer)


def look_up(library: Library, target: Target) -> Node:
    """Return the value at a target; raise RefusedReferenceError if there is none."""
    try:
        value = library.value(target.location)
    except DocumentError as error:
        raise RefusedReferenceError(str(error)) from None
    for part in target.pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and len(key) <= len(str(len(value))) and int(key) < len(value):
            value = value[int(key)]
        else:
            raise RefusedReferenceError(f"there is nothing at {shown(target.pointer)}")
    return Node(value, target.location)


def resolve(library: Library, node: Node) -> Node:
    """Return a node, or what its references lead to in the end.

    Raises:
        RefusedReferenceError: they lead nowhere, in a circle, or where they may not.
    """
    for _ in range(MAX_HOPS):
        if not isinstance(node.value, dict) or "$ref" not in node.value:
            return node
        node = look_up(library, target_of(library, node.base, node.value["$ref"]))
    raise RefusedReferenceError(f"{shown(node.value.get('$ref'))} leads in a circle")
