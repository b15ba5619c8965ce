"""Reading: flags over environment over `signet.toml` over defaults, with the origin of each value.

find_file ── toolsets ── read_values ── Settings.read ── Settings
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from signet.advice import advise
from signet.app import open_log
from signet.settings.catalogue import load_toolsets
from signet.settings.fields import Given
from signet.settings.model import Settings
from signet.settings.names import NOTHING, find_setting, given_settings
from signet.system.logs import WARN

from .file import ConfigurationFile, open_file
from .values import LIMITS, SERVERS, TOOLSETS_KEY, names_others, read_toolsets, read_values
from .variables import ignored_variables

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
    for event, why in warnings.items():
        open_log(settings, program).line(WARN, "", event, why=why)


def _open_documents(file: ConfigurationFile, environ: Mapping[str, str]) -> None:
    """Open the OpenAPI documents among the servers of a file, so that their settings are known."""
    from .servers import read_servers
    from .wrapping import open_documents

    # The variables and the headers of the other servers are needed only when they are started.
    open_documents(read_servers(file, environ, is_replay=True), environ)


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
    file = open_file(first.get("config"), search=search)
    values: dict[str, Given] = {}
    is_chosen = TOOLSETS_KEY in first
    if file is not None and not is_chosen and (chosen := read_toolsets(file)):
        _find_modules_beside(file)
        first |= chosen
    # The settings of a target's toolsets are known when it is loaded.
    load_toolsets(str(first[TOOLSETS_KEY].value) if TOOLSETS_KEY in first else "")
    if file is not None:
        if with_documents and SERVERS in file.table:
            _open_documents(file, environ)
        values = read_values(file, is_chosen=is_chosen)
    given = given_settings(environ, flags, file=values)
    settings = Settings.of_given(given, defaults)
    warnings = _warn_of(environ)
    if file is not None:
        settings = replace(settings, config=file.path)
        if LIMITS in file.table:
            from .limits import read_limits

            may_be_unknown = is_chosen and names_others(values)
            settings = replace(settings, limits=read_limits(file, may_be_unknown=may_be_unknown, servers=servers))
        secrets = [name for name, one in values.items() if _is_secret(name) and str(one.value).strip()]
        if file.is_shared and secrets:
            protect = advise("file.private", file=file.path)
            warnings["file.shared"] = f"others can read {file.path}, which has {secrets[0]}: {protect}"
    settings = replace(settings, origins={name: one.source for name, one in given.items()})
    return Configuration(settings, given, warnings)


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
    ignored = ignored_variables(environ)
    if not ignored:
        return {}
    more = [f"and {len(ignored) - MAX_NAMED} more"] if len(ignored) > MAX_NAMED else []
    return {"variables.ignored": "; ".join(ignored[:MAX_NAMED] + more)}
