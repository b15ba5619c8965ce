"""The gate before all calls: what the settings of scopes and limits make."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from signet.kernel.events import Events
from signet.settings.model import Settings
from signet.settings.process import MEMORY
from signet.settings.usage import UsageError
from signet.system.logs import WARN, Log

if TYPE_CHECKING:
    from signet.kernel.gate import Gate
    from signet.operations.limits.policy import Policy
    from signet.operations.store.store import Store

__all__ = ["check_limits", "open_gate", "open_key_gate", "open_policy"]


def open_gate(settings: Settings, log: Log, events: Events, store: Store | None = None) -> Gate | None:
    """Return the gate before all calls, where there are rules for callers.

    It counts in a store that processes share, or without one in this process, and tells its decisions to `events`.

    Raises:
        UsageError: a limit cannot be used.
    """
    policy = open_policy(settings)
    has_scopes = settings.tokens_file is not None or settings.oauth_issuer is not None
    if policy is None and not has_scopes:
        return None
    from signet.operations.access.scopes import ScopeGate
    from signet.operations.gates import Gates
    from signet.operations.limits.gate import LimitGate
    from signet.operations.limits.idempotency import IdempotencyGate
    from signet.operations.limits.outage import StoreOutage
    from signet.operations.limits.places import PlaceGate, SeatGate
    from signet.operations.store.memory import MemoryStore

    store = MemoryStore() if store is None else store
    outage = StoreOutage(events, partial(log.line, WARN, ""))
    denies = policy is not None and policy.default.denies
    on_first = _keys_unshared(settings, log)
    keys = IdempotencyGate(store, outage, settings.call_timeout_s, denies=denies, on_first=on_first)
    gates: list[Gate] = [ScopeGate()] if has_scopes else []
    if policy is not None:
        places = PlaceGate(policy, events) if policy.has_places else None
        gates += [SeatGate(places)] if places is not None else []
        gates += [LimitGate(policy, store, events, outage), keys]
        gates += [places] if places is not None else []
    else:
        gates.append(keys)
    return Gates(gates)


def open_policy(settings: Settings) -> Policy | None:
    """Return the limits that the settings state; None where they state none.

    Raises:
        UsageError: a limit cannot be used.
    """
    if settings.rate_limit is None and not settings.limits:
        return None
    from signet.operations.limits.policy import LimitError, read_policy

    try:
        return read_policy(settings.limits, settings.rate_limit)
    except LimitError as error:
        place = "--rate-limit or SIGNET_RATE_LIMIT" if error.path == ("rate_limit",) else ".".join(error.path)
        raise UsageError(f"{place}: {error}") from None


def check_limits(settings: Settings, log: Log) -> None:
    """Log that workers do not share their limits, where it is so; raise UsageError for a limit that cannot be used."""
    if open_policy(settings) is not None and settings.workers > 1 and settings.store == MEMORY:
        why = f"each of {settings.workers} workers counts for itself; set --store to count for all"
        log.line(WARN, "", "limits.unshared", why=why)


def open_key_gate(settings: Settings, log: Log, store: Store | None = None) -> Gate:
    """Return the gate of calls with an idempotency key, for a server that has no gate for all calls."""
    from signet.operations.limits.idempotency import IdempotencyGate
    from signet.operations.limits.outage import StoreOutage
    from signet.operations.store.memory import MemoryStore

    outage = StoreOutage(Events(), partial(log.line, WARN, ""))
    store = MemoryStore() if store is None else store
    return IdempotencyGate(store, outage, settings.call_timeout_s, on_first=_keys_unshared(settings, log))


def _keys_unshared(settings: Settings, log: Log) -> Callable[[], None]:
    """Return what tells, at the first call with a key, that workers do not know each other's, where it is so."""

    def tell() -> None:
        if settings.workers > 1 and settings.store == MEMORY:
            why = f"each of {settings.workers} workers runs a call once for itself; set --store to run it once for all"
            log.line(WARN, "", "keys.unshared", why=why)

    return tell
