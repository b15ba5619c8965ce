"""Everything that the process may be told from outside: one frozen struct with working defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = ["PREFIX", "Settings", "UsageError"]

PREFIX: Final = "SIGNET_"

SERVICES: Final = ("OJ_", "BOJ_")
"""Settings of a service are also variables without our prefix: `OJ_TOKEN`, `BOJ_BASE_URL`."""

MAX_U32: Final = 4_294_967_295
MAX_U63: Final = 2**63 - 1


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
    call_timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    log: str = "warn"
    log_lenient: bool = False
    oj_base_url: str | None = None
    oj_token: str | None = None
    oj_timeout_s: Annotated[float, Meta(gt=0, le=300)] = 30.0
    boj_base_url: str = "https://www.stat-search.boj.or.jp"
    boj_timeout_ms: Annotated[int, Meta(ge=0, le=MAX_U63)] = 10_000
    boj_retry_max: Annotated[int, Meta(ge=0, le=MAX_U32)] = 2
    boj_retry_backoff_ms: Annotated[int, Meta(ge=0, le=MAX_U63)] = 200
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
        named = {
            name.lower(): value
            for name, value in environ.items()
            if name.startswith(SERVICES) and name.lower() in cls.__struct_fields__
        }
        merged = {**named, **given, **{name: value for name, value in flags.items() if value is not None}}
        for name in WHOLE_NUMBERS:
            value = merged.get(name)
            if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
                what = f"{value[:50]!r} is not a whole number - at `$.{name}`"
                raise UsageError(_in_words(what, flags, given, prefix))
        try:
            settings = msgspec.convert(merged, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(_in_words(str(error), flags, given, prefix)) from None
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


def _in_words(error: str, flags: Mapping[str, Any], given: Mapping[str, str], prefix: str) -> str:
    """Say which flag or variable is wrong, and how."""
    what, _, where = error.partition(" - at `$.")
    name = where.rstrip("`")
    if flags.get(name) is not None:
        source = f"--{name.removeprefix(prefix).replace('_', '-')}"
    else:
        source = PREFIX + name.upper() if name in given else name.upper()
    return f"{source}: {what[0].lower()}{what[1:]}"
