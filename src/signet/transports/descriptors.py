"""The open files of a server: as many as its connections need, or fewer connections where the system allows no more."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from .slots import ConnectionLimits

__all__ = ["with_descriptors"]

OTHER_FILES: Final = 1_024
"""The descriptors for everything except connections of clients: upstreams, wrapped servers, journals, the processes."""
LEAST_SHARE: Final = 4
"""Where the system allows few descriptors, one in so many is kept for those."""


def with_descriptors(limits: ConnectionLimits) -> tuple[ConnectionLimits, str]:
    """Raise the limit of open files to what the connections need; return the connections that it allows.

    The text says why there are fewer than there should be; it is empty if there are not. Processes that are started
    later inherit the limit.
    """
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
    except ImportError:  # Windows has no such limit
        return limits, ""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    needed = limits.connections + OTHER_FILES
    if soft != RLIM_INFINITY and soft < needed:
        allowed = needed if hard == RLIM_INFINITY else min(needed, hard)
        try:
            setrlimit(RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
        except (OSError, ValueError):
            # The system has a bound of its own, as macOS does.
            soft = getrlimit(RLIMIT_NOFILE)[0]
    if soft == RLIM_INFINITY or soft >= needed:
        return limits, ""
    connections = max(1, min(limits.connections, soft - min(OTHER_FILES, soft // LEAST_SHARE)))
    if connections == limits.connections:
        return limits, ""
    why = (
        f"at most {soft:,} files may be open: the server takes {connections:,} connections, not {limits.connections:,}"
    )
    return replace(limits, connections=connections), f"{why}; raise the hard limit (ulimit -Hn) to {needed:,}"
