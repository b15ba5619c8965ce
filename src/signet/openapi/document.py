"""An OpenAPI document and the files that it refers to: read from a file or a URL, within bounds, and parsed.

petstore.yaml ── schemas/pet.yaml      below the folder of the document, and nowhere else
https://a.example/api/openapi.json ── https://a.example/…      the same origin, and nowhere else
"""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import msgspec

from signet.system.files import open_regular

from .failure import DocumentError, shown
from .yaml_text import parse_yaml

if TYPE_CHECKING:
    from .fetching import Fetched

__all__ = ["FROM_PUBLIC", "MAX_BYTES", "Library", "RefusedReferenceError", "is_url", "location_of", "parse_document"]

MAX_BYTES: Final = 16_777_216
"""The most bytes of a document, and of all that it refers to."""
MAX_FILES: Final = 200
YAML_NAMES: Final = (".yaml", ".yml")
SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""How half of a surrogate pair is written in JSON."""

FROM_PUBLIC: Final = "the document came from a public address"
"""Why nothing that a document leads to may have an address that is not public."""


class Fetch(Protocol):
    """Fetches what a URL leads to: at most `limit` bytes."""

    def __call__(self, url: str, limit: int, *, follow: bool, only_public: str) -> Fetched:
        """Return the bytes, and whether they came from a public address."""


class RefusedReferenceError(Exception):
    """A reference leads where it may not, or to nothing; the text says which."""


def is_url(source: str) -> bool:
    """Return whether a source is a URL and not the path of a file."""
    return source.lower().startswith(("http://", "https://"))


def location_of(source: str) -> str:
    """Return the location of a source: a URL without its fragment, or the real path of a file."""
    return source.partition("#")[0] if is_url(source) else os.path.realpath(source)


class Library:
    """The documents of one toolset: the first, and those that it refers to, each read and parsed once."""

    def __init__(self, source: str, fetch: Fetch | None = None) -> None:
        self.root = location_of(source)
        self.digests: dict[str, str] = {}
        """The SHA-256 of each document that was read, by its location."""
        self.is_public = False
        """Whether the first document came from a public address; known as soon as it is read."""
        self._fetch = fetch
        self._left = MAX_BYTES
        self._texts: dict[str, bytes] = {}
        self._values: dict[str, Any] = {}

    def read(self, location: str) -> bytes:
        """Return the bytes of a document; raise DocumentError if it cannot be read."""
        if location not in self._texts:
            if len(self._texts) >= MAX_FILES:
                raise DocumentError(f"{shown(self.root)} refers to more than {MAX_FILES} files: bundle it into one")
            data = self._fetched(location) if is_url(location) else _read_file(location, self._left)
            if len(data) > self._left:
                _too_large(location)
            self._left -= len(data)
            self._texts[location] = data
            self.digests[location] = sha256(data).hexdigest()
        return self._texts[location]

    def value(self, location: str) -> Any:
        """Return the parsed value of a document."""
        if location not in self._values:
            self._values[location] = parse_document(self.read(location), location)
        return self._values[location]

    def _fetched(self, location: str) -> bytes:
        from .fetching import fetch

        is_root = location == self.root
        only_public = FROM_PUBLIC if self.is_public else ""
        found = (self._fetch or fetch)(location, self._left, follow=is_root, only_public=only_public)
        self.is_public = self.is_public or (is_root and found.is_public)
        return found.data

    def locate(self, base: str, reference: str) -> str:
        """Return the location that a reference without its fragment leads to, seen from a document.

        Raises:
            RefusedReferenceError: it leads out of the folder or the origin of the first document.
        """
        if not reference:
            return base
        from urllib.parse import unquote, urljoin, urlsplit

        try:
            parts = urlsplit(reference)
            if is_url(self.root):
                location = urljoin(base, reference)
                if _origin(location) != _origin(self.root):
                    raise RefusedReferenceError(f"{shown(reference)} is of another origin, and is not read")
                return location
        except ValueError:
            raise RefusedReferenceError(f"{shown(reference)} is no reference") from None
        if parts.scheme or parts.netloc:
            raise RefusedReferenceError(f"{shown(reference)} is no file below the document's folder, and is not read")
        folder = os.path.dirname(self.root)
        path = os.path.realpath(os.path.join(os.path.dirname(base), unquote(parts.path).replace("\0", "")))
        if os.path.commonpath([folder, path]) != folder:
            raise RefusedReferenceError(f"{shown(reference)} is outside of the document's folder, and is not read")
        return path


def _origin(url: str) -> tuple[str, str, int | None]:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "") if "@" not in parts.netloc else parts.netloc, port


def _read_file(path: str, limit: int) -> bytes:
    try:
        with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise DocumentError(f"{shown(path)} cannot be read ({error.strerror})") from None


def parse_document(data: bytes, name: str) -> Any:
    """Return the value of a JSON or YAML text; raise DocumentError if it is neither, or has a key twice."""
    name = shown(name)
    if len(data) > MAX_BYTES:
        _too_large(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentError(f"{name} is not UTF-8 text") from None
    path = name.partition("?")[0].lower()
    is_yaml = path.endswith(YAML_NAMES) or text.lstrip()[:1] not in {"{", "["}
    value = parse_yaml(text, name) if is_yaml else _parse_json(text, name)
    if SURROGATE.search(text):
        try:
            msgspec.json.encode(value)
        except UnicodeEncodeError:
            raise DocumentError(f"{name} has half a surrogate pair in a text: it is not Unicode") from None
    return value


def _parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise DocumentError(f"{name} is nested too deeply: it cannot be used") from None
    except ValueError as error:
        raise DocumentError(f"{name} is no JSON that can be used: {shown(error)}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {shown(name)!r} stands twice")
            seen.add(name)
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _too_large(name: str) -> NoReturn:
    raise DocumentError(f"{shown(name)} has more than {MAX_BYTES:,} bytes, with what it refers to: give a smaller one")
