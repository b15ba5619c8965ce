"""The caller as limits count it: its principal, else its address, else the process. Pure."""

from __future__ import annotations

from hashlib import sha256
from ipaddress import IPv6Address
from typing import Final

__all__ = ["caller_of"]

MAX_CHARS: Final = 128
"""The longest name that is part of a key as it is."""
NETWORK_BITS: Final = 64
"""The bits of an IPv6 address that one client cannot choose."""


def caller_of(principal: str | None, address: str) -> tuple[str, str]:
    """Return the scope of a caller and its name in it."""
    if principal is not None:
        return "principal", principal if len(principal) <= MAX_CHARS else sha256(principal.encode()).hexdigest()
    if address:
        return "address", _network(address) if ":" in address else address[:MAX_CHARS]
    return "process", ""


def _network(address: str) -> str:
    """Return what stands for an IPv6 address: its network of 64 bits, or the IPv4 address that it maps."""
    try:
        known = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address[:MAX_CHARS]
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return f"{IPv6Address(int(known) >> NETWORK_BITS << NETWORK_BITS)}/{NETWORK_BITS}"
