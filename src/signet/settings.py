"""Everything that the process may be told from outside: one frozen struct with working defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

__all__ = ["PREFIX", "Settings", "UsageError"]

PREFIX: Final = "SIGNET_"

SERVICES: Final = ("OJ_", "BOJ_")
"""Settings of a service are also variables without our prefix: `OJ_TOKEN`, `BOJ_BASE_URL`."""

MAX_U32: Final = 2**32 - 1
MAX_U64: Final = 2**64 - 1
A_YEAR_MS: Final = 365 * 24 * 3_600_000

WHOLE_NUMBERS: Final = (
    "port",
    "workers",
    "boj_timeout_ms",
    "boj_retry_max",
    "boj_retry_backoff_ms",
    "boj_min_interval_ms",
    "boj_cache_s",
)
"""Settings that are written in digits alone; a lenient reader would take 1e3 and null too."""

UNSIGNED_64: Final = ("boj_timeout_ms", "boj_retry_backoff_ms")
"""Those that spec 3 counts in 64 bits, more than a timer can wait: what is above a year is a year."""

SWITCHED: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""What people write for true and false, beside 1 and 0."""


class UsageError(Exception):
    """A start that cannot be made as asked; the text says what to write instead."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What flags and environment may set; `SIGNET_PORT` is `port`, and a flag wins over it."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    toolsets: str = ""
    token: str | None = None
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    allowed_hosts: str = ""
    quiet: bool = False
    call_timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    log: str = "warn"
    log_lenient: bool = False
    oj_base_url: str | None = None
    oj_token: str | None = None
    oj_timeout_s: Annotated[float, Meta(gt=0, le=30)] = 30.0
    boj_base_url: str = "https://www.stat-search.boj.or.jp"
    boj_timeout_ms: Annotated[int, Meta(ge=0, le=A_YEAR_MS)] = 10_000
    boj_retry_max: Annotated[int, Meta(ge=0, le=MAX_U32)] = 2
    boj_retry_backoff_ms: Annotated[int, Meta(ge=0, le=A_YEAR_MS)] = 200
    boj_min_interval_ms: Annotated[int, Meta(ge=0, le=60_000)] | None = None
    boj_cache_s: Annotated[int, Meta(ge=0, le=86_400)] = 3600
    log_dir: str | None = None
    journal: bool = True
    deterministic_ids: bool = False
    validation: Literal["off", "shadow", "enforce"] = "enforce"
    sandbox: bool = False
    record: str | None = None
    replay: str | None = None
    stdio_reader: Literal["auto", "thread"] = "auto"
    run_name: str = ""
    """What the processes of one run have in common; they are told so."""
    conformance: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str], flags: Mapping[str, Any], *, prefix: str = "") -> Settings:
        """Make settings of the environment and the flags that were given; a flag's name may lack a `prefix`.

        Raises:
            UsageError: a name or value that is not known.
        """
        given = {name.removeprefix(PREFIX).lower(): value for name, value in environ.items() if name.startswith(PREFIX)}
        unknown = sorted(set(given) - set(cls.__struct_fields__))
        if unknown:
            known = ", ".join(PREFIX + name.upper() for name in cls.__struct_fields__)
            message = f"{PREFIX}{unknown[0].upper()} is not a setting of Signet; these are: {known}"
            raise UsageError(message)
        # A variable that is set to nothing, as an unset one of a container's configuration is, is not set.
        given = {name: value for name, value in given.items() if value.strip()}
        named = {
            name.lower(): value
            for name, value in environ.items()
            if name.startswith(SERVICES) and name.lower() in cls.__struct_fields__
        }
        merged = {**named, **given, **{name: value for name, value in flags.items() if value is not None}}
        for name, value in merged.items():
            if name != "token" and isinstance(value, str) and not _is_text(value):
                raise _wrong(name, "it is not UTF-8 text; write it in UTF-8", flags, given, prefix)
        try:
            settings = msgspec.convert(_spelt(merged), cls, strict=False)
        except msgspec.ValidationError as error:
            name = str(error).partition(" - at `$.")[2].rstrip("`")
            what = f"{str(merged[name])[:50]!r} cannot be used; write {_wanted(name)}"
            raise _wrong(name, what, flags, given, prefix) from None
        if not all(" " <= char <= "~" or char == "\t" for char in settings.token or ""):
            what = "the token has characters that no HTTP header can carry; write it in printable ASCII"
            raise _wrong("token", what, flags, given, prefix)
        return _with_recording(settings)

    def toolset_names(self) -> tuple[str, ...]:
        """Give the toolsets that were asked for; none means the default ones."""
        return tuple(name.strip() for name in self.toolsets.split(",") if name.strip())

    def secrets(self) -> tuple[str, ...]:
        """Give what must not be written anywhere."""
        return tuple(secret for secret in (self.token, self.oj_token) if secret)

    def host_names(self) -> frozenset[str]:
        """Give the host names that were asked for beside the loopback ones."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",") if name.strip())


DEFAULTS: Final = Settings()
"""What holds where nothing is set."""


def _with_recording(settings: Settings) -> Settings:
    """Let the journal of what is recorded lie with it, unless it is to lie elsewhere.

    Raises:
        UsageError: the run is to be recorded and replayed.
    """
    if settings.record and settings.replay:
        message = "a run is either recorded or replayed: write --record (SIGNET_RECORD) or --replay (SIGNET_REPLAY)"
        raise UsageError(message)
    if not settings.record or settings.log_dir is not None:
        return settings
    return msgspec.structs.replace(settings, log_dir=settings.record)


def _is_text(value: str) -> bool:
    """Whether the bytes of a value were UTF-8; those that were not are half surrogate pairs here."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _spelt(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Spell what people write as the types of the settings read it; what they must not read becomes empty."""
    values = dict(merged)
    for name, value in merged.items():
        if not isinstance(value, str):
            continue
        if name in WHOLE_NUMBERS and not (value.isascii() and value.isdecimal()):
            values[name] = ""
        elif name in UNSIGNED_64 and len(value) <= len(str(MAX_U64)) and int(value) <= MAX_U64:
            values[name] = min(int(value), A_YEAR_MS)
        elif isinstance(getattr(DEFAULTS, name), bool):
            values[name] = SWITCHED.get(value.lower(), value)
        elif name == "token":
            # No header carries the blanks at its ends.
            values[name] = value.strip() or None
        elif name == "oj_token":
            values[name] = value if value.strip() else None
    return values


def _wanted(name: str) -> str:
    """Say what to write for a setting, as its type has it."""
    hint = get_type_hints(Settings, include_extras=True)[name]
    if hint is bool:
        return "true or false"
    kind, *rest = get_args(hint)
    if isinstance(kind, str):
        return f"{', '.join([kind, *rest[:-1]])} or {rest[-1]}"
    limits = rest[0] if isinstance(rest[0], Meta) else get_args(kind)[1]
    if limits.ge is None:
        return f"a number above {limits.gt}, at most {limits.le}"
    return f"a whole number from {limits.ge} to {MAX_U64 if name in UNSIGNED_64 else limits.le}"


def _wrong(name: str, what: str, flags: Mapping[str, Any], given: Mapping[str, str], prefix: str) -> UsageError:
    """Say which flag or variable is wrong, and how."""
    if flags.get(name) is not None:
        source = f"--{name.removeprefix(prefix).replace('_', '-')}"
    else:
        source = PREFIX + name.upper() if name in given else name.upper()
    return UsageError(f"{source}: {what}")
