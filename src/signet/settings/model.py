"""Settings: everything that the process can be told from outside, as frozen structs with working defaults.

    defaults ◀── file ◀── environment ◀── flags     the process: `Settings`, `SIGNET_PORT`, `--port`
                                                    a toolset: its own struct, `BOJ_BASE_URL`, `--boj-base-url`

Annotations are evaluated in this module (no `from __future__ import annotations`): flags and pages are made from them.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import msgspec
from msgspec import Meta

from signet.catalogue import TOOLSETS, default_toolsets, find_toolset, load
from signet.kernel.setting_types import split_list
from signet.kernel.settings import PREFIX, Given, Setting, merge, setting, settings_of
from signet.kernel.toolset import Toolset
from signet.kernel.toolset_settings import IncompleteSettings, build_settings, change_settings, recordable, secret_texts
from signet.mcp.spec import Wrapping
from signet.operations.settings import OperationSettings
from signet.system.files import read_secret

from .usage import UsageError

__all__ = [
    "FILE_SUFFIX",
    "NOTHING",
    "PREFIX",
    "EnabledToolset",
    "Settings",
    "flat_name",
    "given_settings",
    "known_settings",
    "load_chosen",
    "load_toolsets",
    "recorded_names",
    "secret_file_variables",
    "variable_of",
    "variable_prefixes",
]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
FILE_SUFFIX: Final = "_FILE"
"""The end of a variable that names the file of a secret, behind the variable of the secret itself."""
TABLES: Final = ("by_toolset", "launch", "limits", "origins", "wrapping")
"""The fields that no flag and no variable sets."""


def load_toolsets(text: str) -> list[str]:
    """Return the names of the toolsets in a list of names and targets; load them, or raise UsageError."""
    given = split_list(text)
    if all(name in TOOLSETS for name in given):
        return list(dict.fromkeys(given))
    from signet.authoring.importing import TargetError

    try:
        return list(dict.fromkeys(name for target in given for name in load(target)))
    except TargetError as error:
        raise UsageError(str(error), error.trace) from None


def load_chosen(environ: Mapping[str, str], flags: Mapping[str, Any], file: Mapping[str, Given] = NOTHING) -> None:
    """Load the toolsets that flags, environment and file choose; raise UsageError as `load_toolsets` does."""
    chosen = given_settings(environ, flags, file=file, names=("toolsets",)).get("toolsets")
    load_toolsets(str(chosen.value) if chosen else "")


class EnabledToolset(NamedTuple):
    """A toolset and its settings."""

    toolset: Toolset
    settings: Any

    @property
    def has_what_it_needs(self) -> bool:
        """Whether the setting without which the toolset cannot work is set."""
        needs = self.toolset.needs
        return not needs or bool(getattr(self.settings, needs))


class Settings(OperationSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the process, and those of each toolset."""

    host: Annotated[str, Meta(pattern=r"\S"), setting("address to listen on, or unix:PATH", metavar="HOST")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535), setting("port to listen on; 0 picks a free one", metavar="PORT")] = 8080
    toolsets: Annotated[str, setting("toolsets to serve, separated by commas", metavar="A,B")] = ""
    token: Annotated[
        str | None,
        setting(
            "bearer token that callers must send; a process list shows a flag, but not a variable",
            secret=True,
            in_header=True,
        ),
    ] = None
    tls_cert: Annotated[
        str | None, setting("certificate for HTTPS, PEM; it is read again when it changes", metavar="FILE")
    ] = None
    tls_key: Annotated[str | None, setting("private key of the certificate, PEM", metavar="FILE")] = None
    connections_per_address: Annotated[
        int, Meta(ge=1, le=1_000_000), setting("connections that one address may have open at once", metavar="N")
    ] = 1024
    workers: Annotated[int, Meta(ge=1, le=64), setting("number of server processes", metavar="N")] = 1
    allowed_hosts: Annotated[
        str, setting("further host names to answer to, separated by commas; * for any", metavar="NAMES")
    ] = ""
    dev: Annotated[bool, setting("reload the tools on a change, answer with tracebacks; on this machine only")] = False
    quiet: Annotated[bool, setting("print nothing at the start, but the address if --port 0 picks it")] = False
    call_timeout_s: Annotated[float, Meta(gt=0, le=3600), setting("seconds that a call may take", metavar="S")] = 50.0
    log: Annotated[
        str,
        setting("log filter for stderr: off, error, warn, info, debug, trace, or target=level", metavar="FILTER"),
    ] = "warn"
    log_lenient: bool = False
    log_dir: Annotated[str | None, setting("folder of the journal", metavar="DIR")] = None
    journal: Annotated[bool, setting("write a journal of calls")] = True
    deterministic_ids: Annotated[bool, setting("derive ids from the call (UUIDv5) instead of random ones")] = False
    validation: Annotated[
        Literal["off", "shadow", "enforce"],
        setting(
            "what to do with a value that breaks its contract: enforce (refuse it), shadow (record it), off",
            metavar="MODE",
            recorded=True,
        ),
    ] = "enforce"
    sandbox: Annotated[bool, setting("serve every toolset on embedded sample data")] = False
    record: Annotated[
        str | None, setting("record every exchange with upstreams and servers, and every call, in DIR", metavar="DIR")
    ] = None
    replay: Annotated[
        str | None, setting("answer from the recording in DIR, without network and without servers", metavar="DIR")
    ] = None
    config: Annotated[
        str | None,
        setting("file with settings", metavar="FILE", default_text="signet.toml in the working folder, if there"),
    ] = None
    stdio_reader: Annotated[
        Literal["auto", "thread"], setting("how standard input is read: by the event loop where it can, or by a thread")
    ] = "auto"
    run_name: str = ""
    """The name that the processes of one run have in common."""
    by_toolset: dict[str, Any] = msgspec.field(default_factory=dict)
    """The settings of each domain by its name, where they are not the defaults."""
    wrapping: Wrapping | None = None
    launch: tuple[str, ...] = ()
    """The words behind `signet` that serve the same tools on stdio, without secrets; empty without a command line."""

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
        load_chosen(environ, flags, file)
        given = given_settings(environ, flags, file=file, names=variables, prefix=prefix)
        known = known_settings() if given else {}
        values = {}
        for name, one in given.items():
            if name not in known:
                raise UsageError(f"{one.place}: there is no such setting")
            try:
                values[name] = known[name].read(one.value)
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
        values = {**defaults, **values}
        own = {name: value for name, value in values.items() if name in cls.__struct_fields__}
        by_toolset = {}
        for toolset in _toolsets():
            names = {name: flat_name(toolset, name) for name in toolset.settings.__struct_fields__}
            changed = {name: values[flat] for name, flat in names.items() if flat in values}
            if changed:
                by_toolset[toolset.name] = build_settings(toolset.settings, changed)
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
        own_toolsets = [toolset for toolset in _toolsets() if toolset.has_services]
        values = [self.token or "", self.audit_key or ""]
        if self.wrapping is not None:
            from signet.relay.spec_secrets import secrets_of

            values += [secret for spec in self.wrapping.servers for secret in secrets_of(spec)]
        values += [secret for toolset in own_toolsets for secret in toolset.secrets()]
        # Those of a user may have a secret as a default, from a variable of another name.
        for own in [*self.by_toolset.values(), *map(self._given_to, own_toolsets)]:
            values += secret_texts(own)
        return tuple(dict.fromkeys(value for value in values if value.strip()))

    def recorded(self) -> dict[str, Any]:
        """Return the settings that a cassette keeps, by their flat names."""
        own = {field.name: getattr(self, field.name) for field in settings_of(Settings) if field.recorded}
        for toolset in _toolsets():
            own |= recordable(self._given_to(toolset), recorded_names(toolset))
        return own

    @property
    def keeps_journal(self) -> bool:
        """Whether calls are written to a journal."""
        return self.journal and self.log_dir is not None

    def host_names(self) -> frozenset[str]:
        """Return the host names to answer to beside the loopback ones."""
        return frozenset(name.lower() for name in split_list(self.allowed_hosts))


def given_settings(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    file: Mapping[str, Given] = NOTHING,
    names: Collection[str] = (),
    prefix: str = "",
) -> dict[str, Given]:
    """Return what sets each setting that is given, by its flat name; variables of some `names` count, or all."""
    names = names or _known_names()
    # A toolset's variables need no prefix: BOJ_BASE_URL is SIGNET_BOJ_BASE_URL.
    bare = [name for name in names if name not in Settings.__struct_fields__]
    if not prefix:
        # A drop-in server, whose flags lack a prefix, reads the variables of its help alone.
        file = {**file, **_secrets_in_files(environ, flags, names, bare)}
    return merge(environ, flags, file, names=names, bare=bare, flag_prefix=prefix)


def secret_file_variables(environ: Mapping[str, str], names: Collection[str] = ()) -> dict[str, str]:
    """Return the secret settings, or those of some, that a variable such as SIGNET_TOKEN_FILE sets, and the variable.

    A setting of one's own of that name, such as `tokens_file`, is that setting.
    """
    suffix = FILE_SUFFIX.lower()
    ends = {name.removeprefix(PREFIX) for name in environ if name.endswith(FILE_SUFFIX)}
    candidates = [name for name in names or _known_names() if name.upper() + FILE_SUFFIX in ends]
    candidates = [name for name in candidates if name + suffix not in _known_names()] if candidates else []
    known = known_settings() if candidates else {}
    found = {}
    for name in candidates:
        own = PREFIX + name.upper() + FILE_SUFFIX
        variables = [own] if name in Settings.__struct_fields__ else [own, name.upper() + FILE_SUFFIX]
        given = [variable for variable in variables if environ.get(variable, "").strip()]
        if given and known[name].secret:
            found[name] = given[0]
    return found


def _secrets_in_files(
    environ: Mapping[str, str], flags: Mapping[str, Any], names: Collection[str], bare: Collection[str]
) -> dict[str, Given]:
    """Return the secrets that stand in files which variables name, but for those that a flag sets.

    Raises:
        UsageError: a file cannot be used, or the variable of the secret itself is set too. The text has no path: it
            may be the secret, written into the wrong variable.
    """
    found = {}
    for name, variable in secret_file_variables(environ, names).items():
        plain = [PREFIX + name.upper(), *([name.upper()] if name in bare else [])]
        for other in plain:
            if environ.get(other, "").strip():
                raise UsageError(f"{other} and {variable} are both set: remove one of them")
        if flags.get(name) is None:
            try:
                found[name] = Given(read_secret(environ[variable]), variable)
            except ValueError as error:
                raise UsageError(f"{variable}: {error}") from None
    return found


def known_settings() -> dict[str, Setting]:
    """Return every setting by its flat name: `port`, `boj_base_url`."""
    known = {field.name: field for field in settings_of(Settings) if field.name not in TABLES}
    for toolset in _toolsets():
        known |= {flat_name(toolset, field.name): field for field in settings_of(toolset.settings)}
    return known


def _known_names() -> dict[str, None]:
    """Return the flat names of all settings, without looking at their types."""
    own = [name for name in Settings.__struct_fields__ if name not in TABLES]
    toolsets = [flat_name(toolset, name) for toolset in _toolsets() for name in toolset.settings.__struct_fields__]
    if taken := set(own) & set(toolsets):
        raise UsageError(f"{PREFIX}{min(taken).upper()} is a setting of Signet: rename the toolset, or its setting")
    return dict.fromkeys(own + toolsets)


def flat_name(toolset: Toolset, name: str) -> str:
    """Return the name of a toolset's setting among all: the `base_url` of `boj` is `boj_base_url`."""
    return f"{toolset.domain}_{name}".replace("-", "_")


def variable_of(name: str) -> str:
    """Return the environment variable of a setting: a toolset's needs no prefix."""
    return PREFIX + name.upper() if name in Settings.__struct_fields__ else name.upper()


def variable_prefixes() -> tuple[str, ...]:
    """Return how the names of all variables begin that set anything here."""
    return (PREFIX, *(flat_name(toolset, "").upper() for toolset in _toolsets()))


def recorded_names(toolset: Toolset) -> list[tuple[str, str]]:
    """Return the settings of a toolset that a cassette keeps: each one's name and flat name."""
    fields = settings_of(toolset.settings)
    # Which of a user's settings decide what is asked for, nobody said.
    kept = [field.name for field in fields if field.recorded or (toolset.has_services and not field.secret)]
    return [(name, flat_name(toolset, name)) for name in kept]


def _toolsets() -> Iterator[Toolset]:
    """Return the toolsets that have settings of their own."""
    return (toolset for toolset in map(find_toolset, TOOLSETS) if not toolset.extends)
