"""Settings as people may see them: every value with its origin, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from signet.settings.catalogue import find_toolset
from signet.settings.fields import Setting, settings_of
from signet.settings.model import Settings
from signet.settings.names import flat_name, process_settings
from signet.system.secret_values import hide_secrets, plain

__all__ = ["HIDDEN", "ShownSetting", "dotted", "shown_settings"]

HIDDEN: Final = "(set, hidden)"
DEFAULT: Final = "default"


class ShownSetting(msgspec.Struct, frozen=True):
    """One setting, as it is shown."""

    name: str
    value: Any
    origin: str
    """The flag, the variable, the file and its key, or `default`."""


def shown_settings(settings: Settings) -> Iterator[ShownSetting]:
    """Yield the settings of the process, those of the enabled toolsets, and the limits."""
    domains = dict.fromkeys(toolset.domain for toolset, _ in settings.enabled())
    fields = [(field.name, field, settings) for field in process_settings() if field.help]
    for toolset in map(find_toolset, domains):
        own = settings.of(toolset)
        fields += [(flat_name(toolset, field.name), field, own) for field in settings_of(toolset.settings)]
    for name, field, struct in fields:
        value = getattr(struct, field.name)
        origin = settings.origins.get(name) or _origin(settings, field, value, is_own=struct is settings)
        yield ShownSetting(name, _value(field, value, is_own=struct is settings), origin)
    for name, value in _flat_limits(settings.limits, ("limits",)):
        yield ShownSetting(name, value, f"{settings.config}:{name}")


def dotted(path: tuple[str, ...], quote: str = '"') -> str:
    """Return the whole name of a key in a file, with quotes where a part needs them."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f"{quote}{part}{quote}" for part in path)


def _origin(settings: Settings, field: Setting, value: Any, *, is_own: bool) -> str:
    """Return the origin of a value that nobody gave: a toolset's may be that of its sample data or of a recording."""
    if is_own or value == field.default or not (settings.sandbox or settings.replay):
        return DEFAULT
    return "--sandbox" if settings.sandbox else "--replay"


def _value(field: Setting, value: Any, *, is_own: bool) -> Any:
    """Return a value as it may be shown; a default of Signet's own settings is never a secret."""
    if field.secret and not (is_own and value == field.default):
        return HIDDEN if value else None
    return hide_secrets(plain(value))


def _flat_limits(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each value of a table with its key's whole name."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat_limits(value, (*above, key))
        else:
            yield dotted((*above, key)), value
