"""The proxies before a server: whose word on the address of a client is believed.

    client ── proxy ── proxy ── server      X-Forwarded-For: client, proxy

Each proxy appends the address that it was reached from, so the list is as true as its writers: it is read from its end,
as long as the addresses are those of trusted proxies. The first other address is the client's. Entries before it may
be anybody's invention.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from .messages import Request
from .slots import network_of

__all__ = ["TrustedProxies"]

UNIX: Final = "unix"
MAX_HOPS: Final = 32
"""The number of proxies in a row that are looked at."""
MAX_ENTRY_CHARS: Final = 64
"""The longest entry that can be an address with a port."""
PAIR: Final = r"""[ \t]*[A-Za-z0-9!#$&-]+=(?:"[^"\\]*"|[^";, \t\\]*)[ \t]*"""
ELEMENT: Final = re.compile(f"{PAIR}(?:;{PAIR})*")
"""One element of a Forwarded header. One in which a quotation begins or ends is a part of what a client has chosen."""
FOR: Final = re.compile(r"""(?:^|;)[ \t]*for=("[^"]*"|[^";]*)""", re.IGNORECASE)
"""The client's address in an element."""
MAX_ELEMENT_CHARS: Final = 4096
ADDRESS: Final = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?|([0-9.]+)(?::[0-9]{1,5})?|([0-9A-Fa-f:.]+)")
"""An address as proxies write it, with or without a port."""

Address = IPv4Address | IPv6Address


class TrustedProxies:
    """Knows the addresses of proxies."""

    def __init__(self, text: str) -> None:
        """Read addresses and networks, separated by commas; `unix` stands for whoever has reached a unix socket.

        Raises:
            ValueError: one of them is neither; the text says what to write.
        """
        names = [name.strip() for name in text.split(",") if name.strip()]
        self._trusts_unix = UNIX in names
        try:
            self._networks = [ip_network(name) for name in names if name != UNIX]
        except ValueError as error:
            sample = "addresses or networks such as 10.0.0.1, 10.0.0.0/8, ::1, or unix"
            raise ValueError(f"{error}; write {sample}, separated by commas") from None

    def find_client(self, request: Request) -> None:
        """Note the client that a request comes from: its peer, unless that is a trusted proxy."""
        peer = request.address
        if not (self._trusts(_address(peer)) if peer else self._trusts_unix):
            return
        headers = request.headers
        if "x-forwarded-for" in headers:
            entries = headers["x-forwarded-for"]
        elif "forwarded" in headers:
            entries = headers["forwarded"]
        else:
            return
        client = self._client(entries, is_forwarded="x-forwarded-for" not in headers)
        if client is not None:
            request.address = str(client)
            request.network = network_of(request.address)

    def _client(self, entries: str, *, is_forwarded: bool) -> Address | None:
        """Return the last address that is not a trusted proxy's, or the first of all; None if one cannot be read."""
        found = None
        for entry in reversed(entries.rsplit(",", MAX_HOPS)[-MAX_HOPS:]):
            found = _forwarded(entry) if is_forwarded else _address(entry.strip())
            if found is None or not self._trusts(found):
                return found
        return found

    def _trusts(self, address: Address | None) -> bool:
        return address is not None and any(
            address in network for network in self._networks if network.version == address.version
        )


def _forwarded(element: str) -> Address | None:
    """Return the address in one element of a Forwarded header; names such as `unknown` and `_hidden` are none."""
    if len(element) > MAX_ELEMENT_CHARS or ELEMENT.fullmatch(element) is None:
        return None
    found = FOR.findall(element)
    return _address(found[0].strip('" \t')) if len(found) == 1 else None


def _address(text: str) -> Address | None:
    """Return the address in a text, as it is counted: an IPv4 address within IPv6 is one of IPv4."""
    found = ADDRESS.fullmatch(text) if len(text) <= MAX_ENTRY_CHARS else None
    if found is None:
        return None
    try:
        address = ip_address(found[1] or found[2] or found[3])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
