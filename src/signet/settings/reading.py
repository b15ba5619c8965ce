"""Reading: flags over environment over `signet.toml` over defaults, with the origin of each value.

config, toolsets ── file ── given_settings ── Settings
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from .catalogue import load_toolsets, provider
from .fields import Given
from .model import Settings, open_log
from .names import FILE, NOTHING, PREFIX, TOOLSETS_KEY, find_setting, given_settings

if TYPE_CHECKING:
    from .file import ConfigurationFile

__all__ = ["Configuration", "log_ignored", "read_configuration", "read_settings"]

FIRST: Final = ("config", TOOLSETS_KEY)
"""The settings that decide which others there are."""
MAX_NAMED: Final = 10
"""The number of variables that a warning names."""


class Configuration(NamedTuple):
    """The settings, and where they come from."""

    settings: Settings
    given: Mapping[str, Given]
    """What sets each setting that has not its default, by its flat name."""
    warnings: Mapping[str, str]
    """What is worth a line in the log, by the name of the event."""


def read_settings(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    search: bool = True,
    defaults: Mapping[str, Any] = NOTHING,
    with_documents: bool = False,
    servers: Collection[str] = (),
) -> Settings:
    """Return the settings, and log what was given but sets nothing.

    Args:
        environ: the variables.
        flags: the flags by their flat names; None stands for one that is not given.
        search: whether `signet.toml` in the working folder is read, where no other file is named.
        defaults: the defaults of the command, where they are not those of the settings.
        with_documents: whether the OpenAPI documents of the file's servers are opened, so that their settings are read.
        servers: the wrapped servers that the command line names, whose tools may have limits.

    Raises:
        UsageError: the file cannot be read, or a name or a value is wrong.
    """
    settings, _, warnings = read_configuration(
        environ, flags, search=search, defaults=defaults, with_documents=with_documents, servers=servers
    )
    _log(settings, warnings)
    return settings


def log_ignored(settings: Settings, environ: Mapping[str, str], program: str) -> None:
    """Log the variables that set nothing, for a program that reads no file."""
    _log(settings, _warn_of(environ), program)


def _log(settings: Settings, warnings: Mapping[str, str], program: str = "signet") -> None:
    if not warnings:
        return
    from signet.system.logs import WARN

    for event, why in warnings.items():
        open_log(settings, program).line(WARN, "", event, why=why)


def read_configuration(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    search: bool = True,
    defaults: Mapping[str, Any] = NOTHING,
    with_documents: bool = False,
    servers: Collection[str] = (),
) -> Configuration:
    """Return the settings with their origins; raise UsageError as `read_settings` does."""
    first = given_settings(environ, {name: flags.get(name) for name in FIRST}, names=FIRST)
    file = _open_file(first.get("config"), search=search)
    values: Mapping[str, Given] = NOTHING
    if file is None:
        _load(first)
    else:
        values = _read_values(file, environ, first, with_documents=with_documents)
    given = given_settings(environ, flags, file=values)
    settings = Settings.of_given(given, defaults)
    warnings = _warn_of(environ)
    if file is not None:
        limits = _read_limits(file, values, servers, is_chosen=TOOLSETS_KEY in first)
        settings = replace(settings, config=file.path, limits=limits)
        warnings |= _warn_of_readers(file, values)
    settings = replace(settings, origins={name: one.source for name, one in given.items()})
    return Configuration(settings, given, warnings)


def _open_file(named: Given | None, *, search: bool) -> ConfigurationFile | None:
    """Return the file of settings; what reads it is loaded only if there is one."""
    if named is None:
        if not search:
            return None
        try:
            os.lstat(FILE)
        except FileNotFoundError:
            return None
        except OSError:
            # The error is reported where the file is opened.
            pass
    from .file import open_file

    return open_file(named, search=search)


def _load(first: Mapping[str, Given]) -> None:
    """Load the chosen toolsets: the settings of a target's toolsets are known when it is loaded."""
    load_toolsets(str(first[TOOLSETS_KEY].value) if TOOLSETS_KEY in first else "")


def _read_values(
    file: ConfigurationFile, environ: Mapping[str, str], first: Mapping[str, Given], *, with_documents: bool
) -> dict[str, Given]:
    """Return the values of a file by flat names, with the toolsets loaded that it or the command line chooses."""
    from .file import SERVERS, read_toolsets, read_values

    chosen = {} if TOOLSETS_KEY in first else read_toolsets(file)
    if chosen:
        _find_modules_beside(file)
    _load({**first, **chosen})
    if with_documents and SERVERS in file.table:
        from .servers import read_servers

        # The variables and the headers of the other servers are needed only when they are started.
        provider("documents")(read_servers(file, environ, is_replay=True), environ)
    return read_values(file, is_chosen=TOOLSETS_KEY in first)


def _read_limits(
    file: ConfigurationFile, values: Mapping[str, Given], servers: Collection[str], *, is_chosen: bool
) -> dict[str, Any]:
    from .file import LIMITS, names_others

    if LIMITS not in file.table:
        return {}
    may_be_unknown = is_chosen and names_others(values)
    limits: dict[str, Any] = provider("limits")(file, may_be_unknown=may_be_unknown, servers=servers)
    return limits


def _warn_of_readers(file: ConfigurationFile, values: Mapping[str, Given]) -> dict[str, str]:
    """Return one line if others can read a file that has secrets."""
    if not file.is_shared:
        return {}
    secrets = [name for name, one in values.items() if _is_secret(name) and str(one.value).strip()]
    if not secrets:
        return {}
    from signet.system.advice import advise

    protect = advise("file.private", file=file.path)
    return {"file.shared": f"others can read {file.path}, which has {secrets[0]}: {protect}"}


def _is_secret(name: str) -> bool:
    field = find_setting(name)
    return field is not None and field.secret


def _find_modules_beside(file: ConfigurationFile) -> None:
    """Let the modules in the file's folder be imported, as those in the working folder are."""
    folder = os.path.dirname(os.path.abspath(file.path))
    if file.is_regular and folder not in sys.path:
        sys.path.append(folder)


def _warn_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return one line about the variables that set nothing, if there are any."""
    if not [name for name in environ if name.startswith(PREFIX)]:
        return {}
    from .variables import ignored_variables

    ignored = ignored_variables(environ)
    if not ignored:
        return {}
    more = [f"and {len(ignored) - MAX_NAMED} more"] if len(ignored) > MAX_NAMED else []
    return {"variables.ignored": "; ".join(ignored[:MAX_NAMED] + more)}
