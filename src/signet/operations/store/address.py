"""The address of a store: a URL, read once; its user and password are shown nowhere. Pure.

redis:// rediss:// valkey:// valkeys://   [user:password@]host[:port][/db]
unix://                                   [user:password@]/path/of/the.sock[?db=0]
redis+sentinel:// rediss+sentinel://      [user:password@]host[:port],host[:port]/service[/db]
redis+cluster:// rediss+cluster://        [user:password@]host[:port],host[:port]
"""

from __future__ import annotations

from typing import Final, Literal, NoReturn
from urllib.parse import parse_qsl, unquote

import msgspec

__all__ = ["MEMORY", "StoreAddress", "parse_address"]

MEMORY: Final = "memory:"
"""The address of the store in the process."""

PORT: Final = 6379
SENTINEL_PORT: Final = 26_379
MAX_PORT: Final = 65_535
MAX_DB: Final = 1_000_000
FORMS: Final = "memory:, redis://host:6379/0, rediss://…, unix:///path, redis+sentinel://…/service or redis+cluster://…"
FLAGS: Final = {"yes": True, "no": False}
TLS_FILES: Final = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
"""The files of TLS that a query may name, and what the client calls them."""

Kind = Literal["single", "unix", "sentinel", "cluster"]


class StoreAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a store is, and as whom it is asked."""

    kind: Kind
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    """The path of a unix socket."""
    service: str = ""
    """The name under which sentinels know the master."""
    db: int = 0
    username: str | None = None
    password: str | None = None
    tls: bool = False
    tls_options: dict[str, str] = {}
    verified: bool = True
    """Whether the server's certificate is checked."""

    def __repr__(self) -> str:
        """Return the address without the password."""
        return f"StoreAddress({self.shown})"

    @property
    def shown(self) -> str:
        """The hosts and ports, for messages."""
        return self.path or ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts
        )


def parse_address(url: str) -> StoreAddress:
    """Return the address that a URL stands for.

    Raises:
        ValueError: it stands for none; the text repeats nothing that may be a password.
    """
    base, kind, rest = _scheme(url.strip())
    rest, _, query = rest.partition("?")
    user, at, place = rest.rpartition("@")
    username, colon, password = user.partition(":")
    names, _, path = place.partition("/")
    options = dict(parse_qsl(query, keep_blank_values=True))
    hosts: tuple[tuple[str, int], ...] = ()
    if kind == "unix":
        service, db = "", options.pop("db", "")
        if names or not path:
            _refuse("a unix socket has a path and no host")
    else:
        hosts = _hosts(names, kind)
        service, db = _service_and_db(kind, path)
    return StoreAddress(
        kind=kind,
        hosts=hosts,
        path=f"/{unquote(path)}" if kind == "unix" else "",
        service=service,
        db=_number(db or "0", MAX_DB, "database"),
        username=unquote(username) or None if at else None,
        password=unquote(password) if colon else None,
        tls=base in {"rediss", "valkeys"},
        verified=_verified(options),
        tls_options=_tls_options(options),
    )


def _scheme(url: str) -> tuple[str, Kind, str]:
    """Return the scheme, the kind of store that it stands for, and the rest of a URL."""
    scheme, separator, rest = url.partition("://")
    base, plus, suffix = scheme.lower().partition("+")
    kinds: dict[str, Kind] = {"": "single", "sentinel": "sentinel", "cluster": "cluster"}
    if base == "unix" and separator and not plus:
        return base, "unix", rest
    if not separator or base not in {"redis", "rediss", "valkey", "valkeys"} or suffix not in kinds:
        _refuse("its scheme is not known")
    return base, kinds[suffix], rest


def _hosts(names: str, kind: Kind) -> tuple[tuple[str, int], ...]:
    port = SENTINEL_PORT if kind == "sentinel" else PORT
    hosts = tuple(_host(name, port) for name in names.split(","))
    if kind == "single" and len(hosts) > 1:
        _refuse("it has several hosts, which redis+sentinel:// and redis+cluster:// may have")
    return hosts


def _host(name: str, default: int) -> tuple[str, int]:
    if name.startswith("["):
        host, _, port = name[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = name.partition(":")
    if not host or any(char.isspace() for char in host):
        _refuse("it names no host")
    return host, _number(port, MAX_PORT, "port") if port else default


def _service_and_db(kind: Kind, path: str) -> tuple[str, str]:
    path = path.removesuffix("/")
    if kind != "sentinel":
        if kind == "cluster" and path not in {"", "0"}:
            _refuse("a cluster has no databases")
        return "", path
    service, _, db = path.partition("/")
    if not service:
        _refuse("it does not name the service that the sentinels watch, as in redis+sentinel://host:26379/mymaster")
    return unquote(service), db


def _number(text: str, most: int, what: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(most)) or int(text) > most:
        _refuse(f"its {what} is not a number from 0 to {most}")
    return int(text)


def _verified(options: dict[str, str]) -> bool:
    text = options.pop("verify", "yes")
    if text not in FLAGS:
        _refuse("verify is yes or no")
    return FLAGS[text]


def _tls_options(options: dict[str, str]) -> dict[str, str]:
    if not options.keys() <= TLS_FILES.keys():
        _refuse(f"its query may have {', '.join(TLS_FILES)} and verify (for a unix socket: db)")
    return {TLS_FILES[name]: value for name, value in options.items()}


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"the address of the store cannot be used: {why}; write {FORMS}")
