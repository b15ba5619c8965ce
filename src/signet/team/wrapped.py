"""The relay of a process, as its settings say."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.logs import INFO, WARN, DroppingLog, LimitedLog, Log
from signet.system.text import cut

if TYPE_CHECKING:
    from signet.operations.telemetry.telemetry import Telemetry
    from signet.relay.relay import ServerRelay
    from signet.relay.standing import Standing
    from signet.system.figures.registry import Counter, Gauge

__all__ = ["relay_of"]

WARNED = frozenset({"server.lost", "server.late", "server.not_listed", "server.not_started", "server.schema_unusable",
                    "server.tools_clash", "server.tool_over_budget", "server.unknown_tool", "server.uri_claimed",
                    "lock.note", "lock.advice", "lock.unpinned", "record.differs", "record.redacted",
                    "record.unwritable"})  # fmt: skip
"""What is wrong, or changed; the rest is told for those who look."""
NOISE = frozenset({"server.stray_reply", "server.stray_line", "server.notification_dropped", "server.question_refused",
                   "server.tool_left_out", "server.not_listed"})  # fmt: skip
"""What a server may say again and again: a few lines a second are enough. Its standard error is bounded already."""


def relay_of(
    settings: Settings,
    log: Log,
    toolbox: Toolbox,
    registry: SchemaRegistry,
    identity: Identity,
    *,
    telemetry: Telemetry | None = None,
) -> ServerRelay | None:
    """Return what carries messages to wrapped servers, if there are any; raise UsageError if they are not usable."""
    if settings.wrapping is None:
        return None
    from signet.mcp.link import LinkError
    from signet.relay.opening import LockError, open_relay

    all_of_it = DroppingLog(log)
    some_of_it = LimitedLog(all_of_it)

    def note(event: str, **facts: object) -> None:
        chosen = some_of_it if event in NOISE else all_of_it
        short = {name: _short(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
        chosen.line(WARN if event in WARNED else INFO, "server", event, **short)

    secrets = settings.secrets()
    try:
        relay = open_relay(settings.wrapping, toolbox, registry, identity, log=note, secrets=secrets)
    except (LockError, LinkError, ValueError) as error:
        raise UsageError(str(error)) from None
    if telemetry is not None:
        _count(relay, telemetry)
    return relay


def _count(relay: ServerRelay, telemetry: Telemetry) -> None:
    """Show how each server stands among the figures."""
    from signet.system.figures.families import LOCK_DRIFT, RESTARTS

    registry = telemetry.registry
    for server in relay.catalogue.servers:
        labels, drift = {"server": server.name}, None
        if server.standing.drift is not None:
            drift = registry.gauge(LOCK_DRIFT.exposed, labels)
            drift.set(float(server.standing.drift))
        server.standing.on_change = partial(_show, registry.counter(RESTARTS.exposed, labels), drift)


def _show(restarts: Counter, drift: Gauge | None, standing: Standing) -> None:
    """Take over how a server stands; a server that no lock pins has no drift."""
    restarts.inc(max(0.0, standing.restarts - restarts.value))
    if drift is not None and standing.drift is not None:
        drift.set(float(standing.drift))


def _short(text: str) -> str:
    from signet.relay.opening import ODD_CHARS, PLAIN_CHARS

    chars = PLAIN_CHARS if text.isascii() and text.isprintable() else ODD_CHARS
    return cut(text, chars)
