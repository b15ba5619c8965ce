"""The URL under which clients reach a server: that of its proxy, with the path below which the proxy serves it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

__all__ = ["PublicUrl", "read_public_url"]

MCP: Final = "/mcp"
SAMPLE: Final = "https://tools.example or https://example.org/tools"
HOST: Final = r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]"
PATH: Final = r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*"
DOTS: Final = frozenset({".", ".."})
PORTS: Final = {"http": 80, "https": 443}


class PublicUrl(msgspec.Struct, frozen=True):
    """A URL in its canonical form: lower-case scheme and host, no slash at its end."""

    origin: str
    path: str
    """Empty, or a path that begins with a slash and does not end with one."""

    def __str__(self) -> str:
        """Return the URL."""
        return self.origin + self.path


def read_public_url(text: str) -> PublicUrl:
    """Return the URL in a text; a slash at its end does not count.

    Raises:
        ValueError: clients cannot reach a server under it; the text says what to write.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{_shown(text)} is no URL; write one such as {SAMPLE}") from None
    host = parts.netloc.rpartition("@")[2].lower()
    host = host.removesuffix(f":{PORTS.get(parts.scheme)}") if port == PORTS.get(parts.scheme) else host
    name = host.removesuffix(f":{port}") if port is not None else host
    if not text.isascii() or not text.isprintable() or parts.scheme not in PORTS or not re.fullmatch(HOST, name):
        raise ValueError(f"{_shown(text)} is no http or https URL with a host; write one such as {SAMPLE}")
    if "@" in parts.netloc:
        raise ValueError("it has a user name or a password before its host; leave them out")
    if "?" in text or "#" in text:
        raise ValueError(f"{_shown(text)} has a query or a fragment; leave it out")
    path = parts.path.removesuffix("/")
    if path.endswith(MCP):
        raise ValueError(f"{_shown(text)} names one door; leave {MCP} out, the server adds it")
    if not re.fullmatch(PATH, path) or not DOTS.isdisjoint(path.split("/")):
        raise ValueError(f"{_shown(text)} has a path with empty or escaped parts; write one such as {SAMPLE}")
    return PublicUrl(f"{parts.scheme}://{host}", path)


def _shown(text: str) -> str:
    """Return a URL as a sentence may repeat it, without a password."""
    return repr(re.sub(r"//[^/]*@", "//…@", text)[:100])
