"""What is configured and from where, without secrets: settings, and the limits in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.operations.limits.policy import Limit, PlaceLimit, read_policy
from signet.settings.model import Settings
from signet.settings.shown import HIDDEN, shown_settings
from signet.system.redaction import SecretRedactor

from .twin import Shown

__all__ = ["ConfiguredLimit", "ConfiguredSetting", "ConsoleSettings", "configured_limits", "configured_settings"]


class ConfiguredSetting(Shown, frozen=True):
    """One setting."""

    name: str
    value: Any
    """As JSON has it; null where nothing is set. A secret is never shown."""
    is_hidden: bool
    """Whether there is a value that is not shown."""
    origin: str
    """The flag, the variable, the file and its key, or `default`."""


class ConsoleSettings(Shown, frozen=True):
    """All settings."""

    settings: list[ConfiguredSetting]


class ConfiguredLimit(Shown, frozen=True):
    """One limit that holds."""

    name: str
    """What is limited."""
    scope: str
    """For whom or for what it holds."""
    limit: str
    """The limit in words."""


def configured_settings(settings: Settings) -> ConsoleSettings:
    """Return every setting with its value and its origin; no known secret stands in any of them."""
    redactor = SecretRedactor(settings.secrets())

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redactor.text(value)
        if isinstance(value, list):
            return [clean(one) for one in value]
        if isinstance(value, dict):
            return {redactor.text(key): clean(one) for key, one in value.items()}
        return value

    return ConsoleSettings(
        [
            ConfiguredSetting(one.name, clean(msgspec.to_builtins(one.value)), one.value == HIDDEN, clean(one.origin))
            for one in shown_settings(settings)
        ]
    )


def configured_limits(settings: Settings) -> list[ConfiguredLimit]:
    """Return the limits of a server."""
    policy = read_policy(settings.limits, settings.rate_limit)
    each = "each caller"
    rows = [*_rates(policy.default, each), *_places(policy.default_places, "each tool")]
    for name, limit in policy.tools.items():
        scope = f"{name}, all callers together" if limit.shared else f"{name}, {each}"
        rows += [*_rates(limit, scope), *_places(policy.places.get(name), name)]
    for name, limit in policy.principals.items():
        rows += list(_rates(limit, f"the principal {name}"))
    if policy.breaker:
        rows.append(
            ConfiguredLimit("breaker", "each upstream", f"left alone after {policy.breaker} failures in sequence")
        )
    return [
        *rows,
        ConfiguredLimit("time", "each call", f"{settings.call_timeout_s:g} s"),
        ConfiguredLimit("in flight", "each process", f"{MAX_IN_FLIGHT} calls"),
        ConfiguredLimit("connections", "each address", str(settings.connections_per_address)),
    ]


def _rates(limit: Limit, scope: str) -> Iterator[ConfiguredLimit]:
    if limit.rate is not None:
        burst = f", {limit.burst} at once" if limit.burst else ""
        yield ConfiguredLimit("rate", scope, f"{limit.rate.count} calls per {limit.rate.period}{burst}")
    if limit.quota:
        yield ConfiguredLimit("quota", scope, f"{limit.quota} calls per day (UTC)")


def _places(limit: PlaceLimit | None, scope: str) -> Iterator[ConfiguredLimit]:
    if limit is not None:
        yield ConfiguredLimit("concurrency", scope, f"{limit.concurrency} at once, {limit.queue} may wait")
