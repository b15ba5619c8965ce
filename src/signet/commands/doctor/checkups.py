"""The list of checks for an environment and flags: the installation, the settings, then what the settings name."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any, Final

from signet import __version__
from signet.app import JOURNALS, open_toolbox, resolve
from signet.kernel.checkup import CONFIGURED, INSTALLED, Check, CheckupResult, note, ok, trouble
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.fields import Given
from signet.settings.model import EnabledToolset, Settings
from signet.settings.names import PREFIX, known_settings, variable_of
from signet.settings.reading import read_configuration
from signet.settings.servers import with_servers_of_file
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.installation import (
    DISTRIBUTION,
    EXTRAS,
    Origin,
    find_origin,
    install_command,
    missing_modules,
)

from .reach import reach_checks
from .servers import server_checks

__all__ = ["checks_of"]

PURPOSES: Final = {"parquet": "signet boj fetch --out FILE.parquet", "plot": "signet boj plot"}
PROGRAMS: Final = ("java", "node", "plantuml")
"""The programs that `make test` runs Signet against; nothing else needs them."""
HIDDEN: Final = "(set, not shown)"
MAX_SHOWN: Final = 200


def checks_of(environ: Mapping[str, str], flags: Mapping[str, Any]) -> list[Check]:
    """Return all checks; where the settings cannot be read, only those that need none, and the reason."""
    checks = [*_installed(find_origin()), Check(CONFIGURED, "variables and flags", partial(_given, environ, flags))]
    try:
        defaults = {"log_dir": JOURNALS}
        read, given, warnings = read_configuration(environ, flags, defaults=defaults, with_documents=True)
        settings = resolve(with_servers_of_file(read, is_private=False))
        enabled = settings.enabled()
        servers = list(server_checks(settings))
    except UsageError as error:
        return [*checks, Check(CONFIGURED, "settings", partial(trouble, str(error), advise("serve.help")))]
    if settings.config:
        checks.append(Check(CONFIGURED, "file", partial(_file, settings.config, given)))
    checks += [Check(CONFIGURED, event, partial(note, why)) for event, why in warnings.items()]
    checks.append(Check(CONFIGURED, "toolsets", partial(_toolsets, settings, enabled)))
    if enabled:
        checks.append(Check(CONFIGURED, "contracts", partial(_contracts, enabled)))
    for toolset, own in enabled:
        checks += toolset.checks(own)
    reached = reach_checks(settings, is_port_named="port" in given)
    return sorted([*checks, *reached, *servers], key=lambda check: _ORDER.index(check.area))


_ORDER: Final = ("installed", "configured", "reachable")


# --- installed


def _installed(origin: Origin) -> Iterator[Check]:
    yield Check(INSTALLED, "signet", partial(_signet, origin))
    yield Check(INSTALLED, "python", _python)
    yield Check(INSTALLED, "packages", _packages)
    for extra in EXTRAS:
        yield Check(INSTALLED, f"{extra} (optional)", partial(_extra, extra, origin))
    yield Check(INSTALLED, "command", _command)
    if origin.kind == "checkout":
        yield Check(INSTALLED, "programs (optional)", _programs)


def _signet(origin: Origin) -> CheckupResult:
    where = {
        "index": "from a package index",
        "unknown": "without metadata: it was copied, not installed",
    }.get(origin.kind, f"from {'an' if origin.kind == 'address' else 'a'} {origin.kind}: {origin.place}")
    return ok(f"{__version__}, {where}")


def _python() -> CheckupResult:
    return ok(f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}")


def _packages() -> CheckupResult:
    """Look up the packages that Signet needs, as its metadata names them."""
    try:
        stated = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return note("the metadata of the installation is not there: nothing to compare with")
    needed = [text for text in stated if "extra ==" not in text and not _is_elsewhere(text)]
    found, missing = [], []
    for requirement in needed:
        name = requirement.partition(";")[0].strip()
        bare = name.rstrip("0123456789.,<>=!~ ")
        try:
            found.append(f"{bare} {version(bare)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        install = advise("packages.install", packages=missing)
        return trouble(f"not installed: {', '.join(missing)}", install)
    return ok(", ".join(found))


def _is_elsewhere(requirement: str) -> bool:
    """Return True for a package that this system does not need; one marker is used."""
    return "sys_platform" in requirement and sys.platform == "win32"


def _extra(extra: str, origin: Origin) -> CheckupResult:
    missing = missing_modules(extra)
    if not missing:
        return ok(", ".join(f"{name} {version(name)}" for name in EXTRAS[extra]))
    return note(f"no {' and no '.join(missing)}; {PURPOSES[extra]} needs it", install_command(extra, origin=origin))


def _command() -> CheckupResult:
    path = shutil.which("signet")
    here = os.path.join(os.path.dirname(sys.executable), "signet")
    if path is None:
        return note("`signet` is not on the PATH: clients that are told to start it do not find it", f"write {here}")
    if os.path.exists(here) and not os.path.samefile(path, here):
        return note(f"`signet` on the PATH is another installation: {path}", f"write {here}")
    return ok(path)


def _programs() -> CheckupResult:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return note(f"not there: {', '.join(missing)}; only `make test` uses them", "make tools")
    return ok(f"{', '.join(PROGRAMS)}: for `make test`")


# --- configured


def _given(environ: Mapping[str, str], flags: Mapping[str, Any]) -> CheckupResult:
    """List the variables and flags that set something; a secret is named and not shown."""
    shown = []
    for name, field in known_settings().items():
        variables = dict.fromkeys((variable_of(name), PREFIX + name.upper()))
        values = {variable: environ.get(variable, "").strip()[:MAX_SHOWN] for variable in variables}
        shown += [f"{variable}={HIDDEN if field.secret else value}" for variable, value in values.items() if value]
        if flags.get(name) is not None:
            flag = f"--{name.replace('_', '-')}"
            shown.append(flag if field.is_switch else f"{flag} {HIDDEN if field.secret else flags[name]}")
    return ok(", ".join(shown) or "none: every setting has its default")


def _file(path: str, given: Mapping[str, Given]) -> CheckupResult:
    """List the settings that hold as a file has them."""
    known = known_settings()
    shown = [
        f"{name}={HIDDEN if known[name].secret else str(one.value)[:MAX_SHOWN]}"
        for name, one in given.items()
        if one.source.startswith(f"{path}:")
    ]
    return ok(f"{path}: {', '.join(shown) or 'it sets nothing, or flags and variables win'}")


def _toolsets(settings: Settings, enabled: list[EnabledToolset]) -> CheckupResult:
    names = [toolset.name for toolset, _ in enabled]
    resting = [find_toolset(name) for name in TOOLSETS if name not in names]
    text = f"enabled: {', '.join(names) or 'none'}"
    if settings.wrapping is not None:
        text += f"; servers: {', '.join(one.name for one in settings.wrapping.servers)}"
    if settings.sandbox:
        text += ", on embedded sample data"
    chosen = settings.toolsets or settings.wrapping
    wanting = [toolset for toolset in resting if toolset.needs and not chosen]
    if not wanting:
        return ok(text)
    # A toolset that extends another needs the same setting.
    names_needed = dict.fromkeys(f"{one.domain}_{one.needs}" for one in wanting)
    flags = [f"--{name.replace('_', '-')} ({variable_of(name)})" for name in names_needed]
    advice = f"set {', '.join(flags)}; or try it with --sandbox"
    return note(f"{text}; not enabled: {', '.join(one.name for one in wanting)}", advice)


def _contracts(enabled: list[EnabledToolset]) -> CheckupResult:
    try:
        toolbox, _ = open_toolbox(enabled)
    except UsageError as error:
        return trouble(str(error))
    tools = len(toolbox.slugs)
    return ok(f"{tools} {'tool has its contract' if tools == 1 else 'tools have their contracts'}")
