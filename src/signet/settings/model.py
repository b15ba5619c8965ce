"""Settings: everything that can be set from outside, as frozen structs with working defaults.

defaults ◀── file ◀── environment ◀── flags     the process: `Settings`, `SIGNET_PORT`, `--port`
                                                a toolset: its own struct, `BOJ_BASE_URL`, `--boj-base-url`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import msgspec

from signet.kernel.toolset import Toolset
from signet.system.logs import Log
from signet.system.redaction import REDACTED, SecretRedactor

from .catalogue import default_toolsets, find_toolset, load_toolsets, provider, registered
from .fields import Given, Setting, load, settings_of, split_list
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
from .usage import UsageError

__all__ = [
    "EnabledToolset",
    "IncompleteSettings",
    "Settings",
    "build_settings",
    "change_settings",
    "open_log",
    "recordable",
    "secret_texts",
]


class IncompleteSettings(msgspec.Struct, frozen=True):
    """What is given for a settings struct that cannot be made from it, until others are given too."""

    given: dict[str, Any]
    missing: tuple[Setting, ...]
    """The fields that have neither a value nor a default."""
    secrets: tuple[str, ...] = ()
    """The texts of the secret ones among them."""
    why: str = ""
    """What the struct's own check said, where no field is missing."""

    def told(self, toolset: str, variable_of: Callable[[str], str]) -> str:
        """Return a sentence that names the variables to set, with what they are for."""
        if not self.missing:
            return f"the settings of the {toolset} toolset cannot be used: {self.why}"
        texts = [(variable_of(field.name), field.help) for field in self.missing]
        names = " and ".join(f"{name} ({text})" if text else name for name, text in texts)
        return f"the {toolset} toolset needs a setting that has no value: set {names}"


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
        """Return the settings that a recording keeps, by their flat names."""
        own = {field.name: getattr(self, field.name) for field in process_settings() if field.recorded}
        for toolset in toolsets_with_settings():
            own |= recordable(self._given_to(toolset), recorded_names(toolset))
        return own

    @property
    def keeps_journal(self) -> bool:
        """Whether calls are written to a journal."""
        return self.journal and self.log_dir is not None

    @property
    def has_rules(self) -> bool:
        """Whether there are rules for callers: limits, or scopes of their tokens."""
        return bool(self.limits) or (self.rate_limit, self.tokens_file, self.oauth_issuer) != (None, None, None)

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


def build_settings(struct: type[Any], given: Mapping[str, Any]) -> Any:
    """Return the struct, or an `IncompleteSettings` if a field has no value, or the struct's own check refuses one."""
    if not struct.__struct_fields__:
        return struct()
    # A secret that is blank counts as not given.
    given = {name: value for name, value in given.items() if value is not None}
    try:
        return struct(**given)
    except (TypeError, ValueError) as error:
        fields = settings_of(struct)
        missing = tuple([field for field in fields if field.is_required and field.name not in given])
        secrets = tuple([text for field in fields for text in _secrets_of(field, given.get(field.name))])
        return IncompleteSettings(given, missing, secrets, SecretRedactor(secrets).text(str(error)))


def change_settings(struct: type[Any], own: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings of which some have changed, for a replay or a sandbox; names that it has not are left out.

    A secret that is not set has a text in its place: nothing is sent that would need it.

    Raises:
        ValueError: a value is not of its setting's type.
    """
    types = {field.name: field.type for field in settings_of(struct)}
    loaded = {name: load(value, types[name]) for name, value in changes.items() if name in types}
    if isinstance(own, IncompleteSettings):
        secrets = {field.name: REDACTED for field in own.missing if field.secret}
        return build_settings(struct, {**secrets, **own.given, **loaded})
    return msgspec.structs.replace(own, **loaded)


def secret_texts(own: Any) -> Iterator[str]:
    """Yield the texts of the secret settings of a toolset, and of the secrets inside the others."""
    if isinstance(own, IncompleteSettings):
        yield from own.secrets
        return
    for field in settings_of(type(own)):
        yield from _secrets_of(field, getattr(own, field.name))


def _secrets_of(field: Setting, value: Any) -> Iterator[str]:
    from signet.system.secret_values import plain, secrets_inside, texts_of

    return texts_of(value) if field.secret else secrets_inside(plain(value))


def recordable(own: Any, names: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of some settings by their flat names, as JSON has them and without the secrets inside.

    A value that is none of its type without them is left out, as a secret is; of what is incomplete there are none.
    """
    if isinstance(own, IncompleteSettings):
        return {}
    from signet.system.secret_values import hide_secrets, plain

    types = {field.name: field.type for field in settings_of(type(own))}
    kept = {}
    for name, flat in names:
        value = plain(getattr(own, name))
        hidden = hide_secrets(value)
        if hidden == value or _is_valid(hidden, types[name]):
            kept[flat] = hidden
    return kept


def _is_valid(value: Any, hint: Any) -> bool:
    try:
        load(value, hint)
    except ValueError:
        return False
    return True
