"""Flat names: each setting of the process and of the toolsets by one name, `port` or `boj_base_url`.

    file ◀── environment ◀── flags      what sets a name: `SIGNET_PORT`, `BOJ_BASE_URL`, `--boj-base-url`

A name is looked up alone: a toolset is imported only if a name begins as its settings do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from signet.kernel.toolset import Toolset
from signet.system.files import read_secret

from . import catalogue
from .fields import Given, Setting, setting_of, settings_of
from .process import ProcessSettings
from .usage import UsageError

__all__ = [
    "FILE",
    "FILE_SUFFIX",
    "NOTHING",
    "PREFIX",
    "TOOLSETS_KEY",
    "find_setting",
    "flat_name",
    "given_settings",
    "is_address",
    "is_setting",
    "known_settings",
    "process_settings",
    "recorded_names",
    "secret_file_variables",
    "toolset_of",
    "toolsets_with_settings",
    "variable_of",
    "variable_prefixes",
]

PREFIX: Final = "SIGNET_"
"""How the variables of the process begin."""
FILE_SUFFIX: Final = "_FILE"
"""The end of a variable that names the file of a secret, behind the variable of the secret itself."""
FILE: Final = "signet.toml"
"""The file of settings in the working folder, where no other is named."""
TOOLSETS_KEY: Final = "toolsets"
"""The setting that decides which others there are."""
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
TABLES: Final = ("by_toolset", "launch", "limits", "origins", "wrapping")
"""The fields that no flag and no variable sets."""
OWN: Final = dict.fromkeys([name for name in ProcessSettings.__struct_fields__ if name not in TABLES])


def flat_name(toolset: Toolset, name: str) -> str:
    """Return the name of a toolset's setting among all: the `base_url` of `boj` is `boj_base_url`."""
    return f"{toolset.domain}_{name}".replace("-", "_")


def toolset_of(name: str) -> tuple[Toolset, str] | None:
    """Return the toolset that has the setting of a flat name, and the setting's name there."""
    for word in catalogue.TOOLSETS:
        begin = word.replace("-", "_") + "_"
        if name.startswith(begin):
            toolset = catalogue.find_toolset(word)
            field = name[len(begin) :]
            if not toolset.extends and field in toolset.settings.__struct_fields__:
                return toolset, field
    return None


def is_setting(name: str) -> bool:
    """Return whether a flat name is that of a setting."""
    return name in OWN or toolset_of(name) is not None


def find_setting(name: str) -> Setting | None:
    """Return the setting of a flat name, if there is one."""
    if name in OWN:
        return setting_of(ProcessSettings, name)
    found = toolset_of(name)
    return setting_of(found[0].settings, found[1]) if found is not None else None


def process_settings() -> Iterator[Setting]:
    """Yield the settings of the process."""
    return (setting_of(ProcessSettings, name) for name in OWN)


def known_settings() -> dict[str, Setting]:
    """Return every setting by its flat name; all toolsets are imported for it."""
    known = {field.name: field for field in process_settings()}
    for toolset in toolsets_with_settings():
        known |= {flat_name(toolset, field.name): field for field in settings_of(toolset.settings)}
    return known


def toolsets_with_settings() -> Iterator[Toolset]:
    """Return the toolsets that have settings of their own."""
    return (toolset for toolset in map(catalogue.find_toolset, catalogue.TOOLSETS) if not toolset.extends)


def variable_of(name: str) -> str:
    """Return the environment variable of a setting: a toolset's needs no prefix."""
    return PREFIX + name.upper() if name in ProcessSettings.__struct_fields__ else name.upper()


def variable_prefixes() -> tuple[str, ...]:
    """Return how the names of all variables begin that set anything here."""
    return (PREFIX, *(flat_name(toolset, "").upper() for toolset in toolsets_with_settings()))


def recorded_names(toolset: Toolset) -> list[tuple[str, str]]:
    """Return the settings of a toolset that a recording keeps: each one's name and flat name."""
    fields = settings_of(toolset.settings)
    # The author of an own toolset does not mark the settings that decide the requests.
    kept = [field.name for field in fields if field.recorded or (toolset.has_services and not field.secret)]
    return [(name, flat_name(toolset, name)) for name in kept]


def given_settings(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    file: Mapping[str, Given] = NOTHING,
    names: Collection[str] = (),
    prefix: str = "",
) -> dict[str, Given]:
    """Return what sets each setting that is given, by its flat name: a flag wins over a variable, that over the file.

    Args:
        environ: the variables; one that is set to nothing is passed over.
        flags: the values of flags by their names; None stands for one that is not given.
        file: the values of a file by their names.
        names: the settings whose variables count; all, if there are none.
        prefix: a part of the names that the flags leave out.
    """
    _check_own_names()
    given = dict(file)
    if not prefix:
        # A drop-in server, whose flags lack a prefix, reads the variables of its help alone.
        given |= _secrets_in_files(environ, flags, names)
    given |= _given_variables(environ, names)
    for name, value in flags.items():  # rule: 3.config.precedence
        if value is not None:
            flag = name.removeprefix(prefix).replace("_", "-")
            given[name] = Given(value, f"--no-{flag}" if value is False else f"--{flag}")
    return given


def _check_own_names() -> None:
    """Raise UsageError if a setting of an own toolset has the flat name of one of Signet's."""
    for toolset in catalogue.registered():
        for name in toolset.settings.__struct_fields__:
            if not toolset.extends and (flat := flat_name(toolset, name)) in OWN:
                raise UsageError(f"{PREFIX}{flat.upper()} is a setting of Signet: rename the toolset, or its setting")


def _given_variables(environ: Mapping[str, str], names: Collection[str]) -> dict[str, Given]:
    """Return the values of variables by flat names; one with the prefix wins over one without."""
    # A toolset's variables need no prefix: BOJ_BASE_URL is SIGNET_BOJ_BASE_URL.
    begins = (PREFIX, *[word.replace("-", "_").upper() + "_" for word in catalogue.TOOLSETS])
    bare, prefixed = {}, {}
    for variable in environ:
        if not variable.startswith(begins):
            continue
        name, value = variable.removeprefix(PREFIX).lower(), environ[variable]
        # An unset variable of a container's configuration is set to nothing: it counts as not set.
        if not value.strip() or not (name in names if names else is_setting(name)):
            continue
        if not variable.startswith(PREFIX):
            if name not in OWN and variable == name.upper():
                bare[name] = Given(value, variable)
        elif not is_address(name, value):
            prefixed[name] = Given(value, PREFIX + name.upper())
    return bare | prefixed


def is_address(name: str, value: str) -> bool:
    """Return True for SIGNET_PORT=tcp://10.0.0.1:8080: Kubernetes sets it where a service is called signet."""
    return name == "port" and "://" in value


def secret_file_variables(environ: Mapping[str, str], names: Collection[str] = ()) -> dict[str, str]:
    """Return the secret settings, or those of some, that a variable such as SIGNET_TOKEN_FILE sets, and the variable.

    A setting of one's own of that name, such as `tokens_file`, is that setting.
    """
    found: dict[str, str] = {}
    for variable in environ:
        if not variable.endswith(FILE_SUFFIX) or not environ[variable].strip():
            continue
        plain = variable.removesuffix(FILE_SUFFIX)
        name = plain.removeprefix(PREFIX).lower()
        # The variable with the prefix wins, and Signet's own settings have no other.
        if plain not in (PREFIX + name.upper(), *([] if name in OWN or name in found else [name.upper()])):
            continue
        field = find_setting(name) if not names or name in names else None
        if field is not None and field.secret and not is_setting(name + FILE_SUFFIX.lower()):
            found[name] = variable
    return found


def _secrets_in_files(environ: Mapping[str, str], flags: Mapping[str, Any], names: Collection[str]) -> dict[str, Given]:
    """Return the secrets that stand in files which variables name, but for those that a flag sets.

    Raises:
        UsageError: a file cannot be used, or the variable of the secret itself is set too. The text has no path: it
            may be the secret, written into the wrong variable.
    """
    found = {}
    for name, variable in secret_file_variables(environ, names).items():
        for other in (PREFIX + name.upper(), *([] if name in OWN else [name.upper()])):
            if environ.get(other, "").strip():
                raise UsageError(f"{other} and {variable} are both set: remove one of them")
        if flags.get(name) is None:
            try:
                found[name] = Given(read_secret(environ[variable]), variable)
            except ValueError as error:
                raise UsageError(f"{variable}: {error}") from None
    return found
