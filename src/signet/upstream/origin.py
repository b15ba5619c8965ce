"""An origin: scheme, host and optional port, in the one spelling that paths are appended to.

Read by hand: the standard library's URL parser forgives too much here (it loses a bare `?`), and costs 2 ms at start.
"""

from __future__ import annotations

from typing import Final, NoReturn

__all__ = ["parse_origin"]

DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
MAX_PORT: Final = 65_535
IPV4_PARTS: Final = 4
BYTES: Final = frozenset(map(str, range(256)))
FOREIGN: Final = {"?": "a query", "#": "a fragment", "@": "a user name", "\\": "a backslash"}


def parse_origin(text: str, *, with_path: bool = False) -> str:
    """Give an origin without a trailing slash, its host in lower case, its port only where it is not the usual one.

    With a path it is where an origin's part begins, and has no trailing slash either.

    Raises:
        ValueError: it is not an http or https origin; the text says what is wrong with it.
    """
    given = text.strip()
    if any(char.isspace() or not char.isprintable() for char in given):
        _refuse(text, "has white space in it")
    scheme, mark, rest = given.partition("://")
    scheme = scheme.lower()
    if not mark or scheme not in DEFAULT_PORTS:
        _refuse(text, "does not start with http:// or https://")
    for char, name in FOREIGN.items():
        if char in rest:
            _refuse(text, f"has {name}")
    authority, _, path = rest.partition("/")
    if path and not with_path:
        _refuse(text, "has a path")
    host, port = _split(authority)
    if not port.isascii() or (port and not (port.isdecimal() and int(port) <= MAX_PORT)):
        _refuse(text, f"has a port that is none ({port[:20]})")
    try:
        name = _host(host)
    except ValueError:
        _refuse(text, f"has a host that is none ({host[:100]})")
    port = port.lstrip("0") or port[:1]
    origin = f"{scheme}://{name}" + (f":{port}" if port not in {"", DEFAULT_PORTS[scheme]} else "")
    return f"{origin}/{path}".rstrip("/")


def _split(authority: str) -> tuple[str, str]:
    """Part a host from its port; an IPv6 address keeps its brackets."""
    if authority.startswith("["):
        address, bracket, port = authority.partition("]")
        # What stands behind the bracket and is no port belongs to the host, which is none then.
        return (address + bracket, port[1:]) if port[:1] in {"", ":"} else (authority, "")
    host, _, port = authority.partition(":")
    return host, port


def _host(name: str) -> str:
    """Write a host name in ASCII.

    Raises:
        ValueError: it is none.
    """
    if name.startswith("[") and name.endswith("]") and "%" not in name:
        from ipaddress import IPv6Address

        return f"[{IPv6Address(name[1:-1])}]"
    # The codec costs more to load than the rest of this module; most names do without it.
    ascii_name = name.lower() if name.isascii() else name.encode("idna").decode().lower()
    labels = ascii_name.removesuffix(".").split(".")
    if not all(labels) or not all(char.isalnum() or char in "-._" for char in ascii_name):
        raise ValueError(name)
    if labels[-1].isdecimal() and not _is_ipv4(ascii_name):
        raise ValueError(name)
    return ascii_name


def _is_ipv4(name: str) -> bool:
    """Whether a name that ends in a number is four of them; to load the standard library's reader takes 2 ms."""
    parts = name.split(".")
    return len(parts) == IPV4_PARTS and all(part in BYTES for part in parts)


def _refuse(text: str, why: str) -> NoReturn:
    # What stands before an @ may be a password.
    shown = text if "@" not in text else "…@" + text.rpartition("@")[2]
    message = f"the base URL '{shown[:200]}' {why}; give an origin such as https://host.example:8080"
    raise ValueError(message)
