"""The files of the page: HTML, styles and scripts, as they are in this package; they hold nothing of the server's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from html import escape
from typing import Final

from signet.transports.guard import Access
from signet.transports.messages import Fields, Request, Response
from signet.transports.rest import wrong_method
from signet.transports.routes import Route

from .twin import refuse_privately

__all__ = ["FILES", "FOR_OWN_PAGES", "PageFiles", "file_response"]

FOR_OWN_PAGES: Final = Access(no_token=True, same_origin=True)
FOR_VISITORS: Final = Access(no_token=True, same_origin=True, by_link=True)
FILES: Final = "/-/files/"
FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
HOME: Final = "index.html"
TYPES: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".ttf": b"font/ttf",
}
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    b"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No script but ours, none in a line, no evaluation; nothing is fetched from elsewhere, nobody frames the page."""
SAFE: Final[Fields] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)


class PageFiles:
    """Serves the files below one folder of this package."""

    def __init__(self, policies: Mapping[str, bytes] | None = None) -> None:
        """Serve with the usual policy, except for the files that have one of their own."""
        self._policies = policies or {}
        self.names = frozenset(os.listdir(FOLDER)) - {HOME}

    def home(self, root: str = "") -> Route:
        """Return the route of the page itself; `root` is the path of the public URL, by which browsers reach it."""
        return Route(FOR_VISITORS, partial(_home, root), refuse_privately)

    def find(self, path: str) -> Route | None:
        """Return the route of a file, or None."""
        name = path.removeprefix(FILES)
        if name not in self.names:
            return None
        policy = self._policies.get(name, POLICY)
        answer = partial(_read_answer, body=_read(name), name=name, policy=policy)
        return Route(FOR_OWN_PAGES, answer, refuse_privately)


def _home(public: str, request: Request) -> Response:
    # Below the path that the server is known to be at: a proxy may have taken it away, and the server answers below it
    # too. Without one the files are beside the page.
    root = request.root or public
    body = _read(HOME).replace(b"{root}", escape(f"{root}/").encode() if root else b"")
    return file_response(request, body, HOME, POLICY, ((b"vary", b"Accept"),))


def _read_answer(request: Request, body: bytes, name: str, policy: bytes) -> Response:
    if request.method not in {"GET", "HEAD"}:
        return refuse_privately(wrong_method("GET"), ((b"allow", b"GET, HEAD, OPTIONS"),))
    return file_response(request, body, name, policy)


def file_response(request: Request, body: bytes, name: str, policy: bytes = POLICY, more: Fields = ()) -> Response:
    """Return a file, or that the browser's copy of it is still good."""
    tag = b'W/"%b"' % _digest(body)
    kind = TYPES[os.path.splitext(name)[1]]
    headers = ((b"content-type", kind), (b"etag", tag), (b"content-security-policy", policy), *SAFE, *more)
    if request.headers.get("if-none-match", "").encode("latin-1") == tag:
        return Response(304, headers=headers)
    return Response(200, body, headers, is_page=True)


@cache
def _read(name: str) -> bytes:
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


@lru_cache(maxsize=128)
def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:32].encode()
