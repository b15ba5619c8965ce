"""An origin: scheme, host and optional port, in the normal form that paths are appended to.

Parsed by hand: the URL parser of the standard library accepts too much (it drops a bare `?`) and costs 2 ms at start.
"""

from __future__ import annotations

from typing import Final, NoReturn

__all__ = ["DEFAULT_PORTS", "host_of", "parse_origin"]

DEFAULT_PORTS: Final = {"http": "80", "https": "443"}  # rule: 1.S1.1.scheme
MAX_PORT: Final = 65_535
IPV4_PARTS: Final = 4
BYTES: Final = frozenset(map(str, range(256)))
FOREIGN: Final = {"?": "a query", "#": "a fragment", "@": "a user name", "\\": "a backslash"}  # rule: 1.S1.1.query


def parse_origin(text: str, *, with_path: bool = False) -> str:
    """Return an origin in normal form: the host in lower case, no default port, no trailing slash.

    `with_path` allows a path, which also ends without a slash.

    Raises:
        ValueError: the text is not an http or https origin; the message names the reason.
    """
    url = text.strip()  # rule: 1.base-url.reject
    if any(char.isspace() or not char.isprintable() for char in url):
        _refuse(text, "has white space in it")
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in DEFAULT_PORTS:
        _refuse(text, "does not start with http:// or https://")
    for char, name in FOREIGN.items():
        if char in rest:
            _refuse(text, f"has {name}")
    authority, _, path = rest.partition("/")
    if path and not with_path:  # rule: 1.base-url.accept
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
    return f"{origin}/{path}".rstrip("/")  # rule: 1.base-url.normalised


def host_of(origin: str) -> str:
    """Return the host of an origin in normal form, with its port if it is not the default one."""
    return origin.partition("://")[2].partition("/")[0]


def _split(authority: str) -> tuple[str, str]:
    """Split an authority into host and port; an IPv6 address keeps its brackets."""
    if authority.startswith("["):
        address, bracket, port = authority.partition("]")
        # Other text after the bracket is left in the host, which is then refused.
        return (address + bracket, port[1:]) if port[:1] in {"", ":"} else (authority, "")
    host, _, port = authority.partition(":")
    return host, port


def _host(name: str) -> str:
    """Return a host name in ASCII and lower case; raise ValueError if the text is none."""
    if name.startswith("[") and name.endswith("]") and "%" not in name:
        from ipaddress import IPv6Address

        return f"[{IPv6Address(name[1:-1])}]"
    # Loading the codec costs more than the rest of this module, and most names do not need it.
    ascii_name = name.lower() if name.isascii() else name.encode("idna").decode().lower()
    labels = ascii_name.removesuffix(".").split(".")
    if not all(labels) or not all(char.isalnum() or char in "-._" for char in ascii_name):  # rule: 1.S1.1.query/2
        raise ValueError(name)
    if labels[-1].isdecimal() and not _is_ipv4(ascii_name):
        raise ValueError(name)
    return ascii_name


def _is_ipv4(name: str) -> bool:
    # Without `ipaddress`, which takes 2 ms to load.
    parts = name.split(".")
    return len(parts) == IPV4_PARTS and all(part in BYTES for part in parts)


def _refuse(text: str, why: str) -> NoReturn:
    # The part before an @ may be a password.
    shown = text if "@" not in text else "…@" + text.rpartition("@")[2]  # rule: 3.config.credentials
    raise ValueError(f"the base URL '{shown[:200]}' {why}; give an origin such as https://host.example:8080")
