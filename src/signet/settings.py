"""Everything that the process may be told from outside: one frozen struct with working defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = ["PREFIX", "Settings", "UsageError"]

PREFIX: Final = "SIGNET_"

OTHER_NAMES: Final = {"OJ_BASE_URL": "oj_base_url", "OJ_TOKEN": "oj_token", "OJ_TIMEOUT_S": "oj_timeout_s"}
"""Variables that are known by the name of the service they belong to."""


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
    oj_base_url: str | None = None
    oj_token: str | None = None
    oj_timeout_s: Annotated[float, Meta(gt=0, le=300)] = 30.0
    sandbox: bool = False
    stdio_reader: Literal["auto", "thread"] = "auto"
    conformance: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
        """Make settings of the environment and the flags that were given.

        Raises:
            UsageError: a name or value that is not known.
        """
        given = {name.removeprefix(PREFIX).lower(): value for name, value in environ.items() if name.startswith(PREFIX)}
        unknown = sorted(set(given) - set(cls.__struct_fields__))
        if unknown:
            known = ", ".join(PREFIX + name.upper() for name in cls.__struct_fields__)
            message = f"{PREFIX}{unknown[0].upper()} is not a setting of Signet; these are: {known}"
            raise UsageError(message)
        named = {OTHER_NAMES[name]: value for name, value in environ.items() if name in OTHER_NAMES}
        merged = {**named, **given, **{name: value for name, value in flags.items() if value is not None}}
        try:
            return msgspec.convert(merged, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(_in_words(str(error), flags, given)) from None

    def toolset_names(self) -> tuple[str, ...]:
        """Give the toolsets that were asked for; none means the default ones."""
        return tuple(name.strip() for name in self.toolsets.split(",") if name.strip())

    def host_names(self) -> frozenset[str]:
        """Give the host names that were asked for beside the loopback ones."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",") if name.strip())


def _in_words(error: str, flags: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """Say which flag or variable is wrong, and how."""
    what, _, where = error.partition(" - at `$.")
    name = where.rstrip("`")
    if flags.get(name) is not None:
        source = f"--{name.replace('_', '-')}"
    else:
        source = PREFIX + name.upper() if name in given else name.upper()
    return f"{source}: {what[0].lower()}{what[1:]}"
