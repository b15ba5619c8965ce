"""The relay of a process, as its settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.logs import INFO, WARN, Log
from signet.settings import Settings, UsageError

if TYPE_CHECKING:
    from signet.relay.relay import ServerRelay

__all__ = ["relay_of", "served"]

WARNED = frozenset({"server.lost", "server.not_listed", "server.schema_unusable", "server.tools_clash", "lock.note",
                    "tape.differs", "tape.unwritten"})  # fmt: skip
"""What is wrong, or changed; the rest is told for those who look."""


def relay_of(
    settings: Settings, log: Log, toolbox: Toolbox, registry: SchemaRegistry, identity: Identity
) -> ServerRelay | None:
    """Return what carries messages to wrapped servers, if there are any; raise UsageError if they are not usable."""
    if settings.wrapping is None:
        return None
    from signet.relay.link import LinkError
    from signet.relay.opening import LockError, open_relay

    def note(event: str, **facts: object) -> None:
        log.line(WARN if event in WARNED else INFO, "server", event, **facts)

    secrets = settings.secrets()
    try:
        return open_relay(settings.wrapping, toolbox, registry, identity, log=note, secrets=secrets)
    except (LockError, LinkError, ValueError) as error:
        raise UsageError(str(error)) from None


def served(server: Server, relay: ServerRelay | None) -> Server:
    """Return the server, for whose clients the relay speaks from now on."""
    if relay is not None:
        relay.serve(server)
    return server
