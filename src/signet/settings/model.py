"""Settings: everything that can be set from outside, as frozen structs with working defaults.

defaults ◀── file ◀── environment ◀── flags     the process: `Settings`, `SIGNET_PORT`, `--port`
                                                a toolset: its own struct, `BOJ_BASE_URL`, `--boj-base-url`
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Self

import msgspec

from signet.kernel.toolset import Toolset
from signet.system.logs import Log

from .catalogue import default_toolsets, find_toolset, load_toolsets, registered
from .fields import Given, split_list
from .names import (
    NOTHING,
    find_setting,
    flat_name,
    given_settings,
    process_settings,
    recorded_names,
    toolset_of,
    toolsets_with_settings,
    variable_of,
)
from .process import ProcessSettings
from .providers import provider
from .toolset_settings import IncompleteSettings, build_settings, change_settings, recordable, secret_texts
from .usage import UsageError

__all__ = ["EnabledToolset", "Settings", "open_log"]


class EnabledToolset(NamedTuple):
    """A toolset and its settings."""

    toolset: Toolset
    settings: Any

    @property
    def has_what_it_needs(self) -> bool:
        """Whether the setting without which the toolset cannot work is set."""
        needs = self.toolset.needs
        return not needs or bool(getattr(self.settings, needs))


class Settings(ProcessSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the process, and those of each toolset."""

    @classmethod
    def read(
        cls,
        environ: Mapping[str, str],
        flags: Mapping[str, Any],
        *,
        file: Mapping[str, Given] = NOTHING,
        prefix: str = "",
        variables: Collection[str] = (),
        defaults: Mapping[str, Any] = NOTHING,
    ) -> Self:
        """Return the settings that file, environment and flags describe; a flag's name may lack a `prefix`.

        `variables` are the names of the settings that the environment may set; without them, it may set all.
        `defaults` are those of the command, by the names of the fields, where they are not those of the fields.

        Raises:
            UsageError: a flag is not known, or a value cannot be used.
        """
        # The settings of a target's toolsets are known when it is loaded.
        chosen = given_settings(environ, flags, file=file, names=("toolsets",)).get("toolsets")
        load_toolsets(str(chosen.value) if chosen else "")
        return cls.of_given(given_settings(environ, flags, file=file, names=variables, prefix=prefix), defaults)

    @classmethod
    def of_given(cls, given: Mapping[str, Given], defaults: Mapping[str, Any] = NOTHING) -> Self:
        """Return the settings of values by their flat names; raise UsageError as `read` does."""
        values = {}
        for name, one in given.items():
            field = find_setting(name)
            if field is None:
                raise UsageError(f"{one.place}: there is no such setting")
            try:
                values[name] = field.read(one.value)
            except ValueError as error:
                raise UsageError(f"{one.place}: {error}") from None
        return cls._build(values, defaults)

    @classmethod
    def _build(cls, values: dict[str, Any], defaults: Mapping[str, Any]) -> Self:
        """Make the structs; a recording's folder holds the journal too, unless another is named."""
        if values.get("record") and values.get("replay"):
            message = "a run is either recorded or replayed: write --record (SIGNET_RECORD) or --replay (SIGNET_REPLAY)"
            raise UsageError(message)
        values["log_dir"] = values.get("log_dir") or values.get("record") or defaults.get("log_dir")
        own: dict[str, Any] = {}
        changed: dict[str, tuple[Toolset, dict[str, Any]]] = {}
        for name, value in {**defaults, **values}.items():
            if name in cls.__struct_fields__:
                own[name] = value
            elif (found := toolset_of(name)) is not None:
                toolset, field = found
                changed.setdefault(toolset.name, (toolset, {}))[1][field] = value
        by_toolset = {name: build_settings(toolset.settings, given) for name, (toolset, given) in changed.items()}
        return cls(**own, by_toolset=by_toolset)

    def of(self, toolset: Toolset) -> Any:
        """Return the settings of a toolset; raise UsageError if one that it needs is not set."""
        if not isinstance(own := self._given_to(toolset), IncompleteSettings):
            return own
        raise UsageError(own.told(toolset.domain, lambda name: variable_of(flat_name(toolset, name))))

    def _given_to(self, toolset: Toolset) -> Any:
        own = self.by_toolset.get(toolset.domain)
        return own if own is not None else build_settings(toolset.settings, {})

    def with_toolset(self, toolset: Toolset, **changes: Any) -> Self:
        """Return settings with some of a toolset's own changed; raise ValueError for a type."""
        changed = change_settings(toolset.settings, self._given_to(toolset), changes)
        return msgspec.structs.replace(self, by_toolset={**self.by_toolset, toolset.domain: changed})

    def enabled(self) -> list[EnabledToolset]:
        """Return the named or the default toolsets, each with its settings; raise UsageError for an unknown name."""
        names = load_toolsets(self.toolsets)
        chosen = map(find_toolset, names or (default_toolsets() if self.wrapping is None else []))
        toolsets = [EnabledToolset(toolset, self.of(toolset)) for toolset in chosen]
        return [one for one in toolsets if names or self.sandbox or one.has_what_it_needs]

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must not be written anywhere."""
        own_toolsets = [toolset for toolset in registered() if toolset.has_services and not toolset.extends]
        values = [self.token or "", self.audit_key or ""]
        if self.wrapping is not None:
            values += [secret for spec in self.wrapping.servers for secret in provider("server.secrets")(spec)]
        values += [secret for toolset in own_toolsets for secret in toolset.secrets()]
        # Those of a user may have a secret as a default, from a variable of another name.
        for own in [*self.by_toolset.values(), *map(self._given_to, own_toolsets)]:
            values += secret_texts(own)
        return tuple(dict.fromkeys(value for value in values if value.strip()))

    def recorded(self) -> dict[str, Any]:
        """Return the settings that a cassette keeps, by their flat names."""
        own = {field.name: getattr(self, field.name) for field in process_settings() if field.recorded}
        for toolset in toolsets_with_settings():
            own |= recordable(self._given_to(toolset), recorded_names(toolset))
        return own

    @property
    def keeps_journal(self) -> bool:
        """Whether calls are written to a journal."""
        return self.journal and self.log_dir is not None

    def host_names(self) -> frozenset[str]:
        """Return the host names to answer to beside the loopback ones."""
        return frozenset(name.lower() for name in split_list(self.allowed_hosts))


def open_log(settings: Settings, name: str = "signet") -> Log:
    """Return the log that the settings describe; raise UsageError if its filter cannot be read."""
    # An access log is written, whatever the filter is for the rest.
    directives = f"access=info,{settings.log}" if settings.access_log else settings.log
    as_json = settings.log_format == "json"
    try:
        return Log(name, directives, lenient=settings.log_lenient, secrets=settings.secrets(), as_json=as_json)
    except ValueError as error:
        raise UsageError(str(error)) from None
