"""The command `signet check TARGET`: the gate of a toolset. It runs every check and prints one line for each."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

import msgspec

from signet.app import open_toolbox, resolve
from signet.authoring.drift import orphans_of
from signet.authoring.frozen import BrokenContractError
from signet.commands.arguments import (
    TOOLSET_FLAGS,
    Parser,
    add_server_command,
    add_settings,
    flags_of,
    redirect_to_null,
)
from signet.commands.ending import leave
from signet.commands.terminal import replace_unencodable, write, write_json
from signet.commands.wrapped import spec_of
from signet.kernel.schemas import SchemaRegistry
from signet.lock.file import DEFAULT_PATH
from signet.settings.catalogue import loaded_files
from signet.settings.fields import split_list
from signet.settings.file import join_targets
from signet.settings.model import EnabledToolset, Settings
from signet.settings.reading import read_settings
from signet.settings.server_spec import ServerSpec
from signet.settings.servers import servers_of
from signet.settings.usage import UsageError
from signet.system.files import replacing
from signet.transports.pipes import stdout_kept

from .calls import check_example, check_wrong_input
from .clients import check_clients
from .contracts import check_contract, check_frozen, check_satisfiable, schemas_of
from .doors import check_parity
from .project import targets_of_project
from .report import FORMATS
from .result import CHECKS, CheckReport, CheckResult, CheckState, Subject
from .server_calls import check_servers
from .servers import SERVER_CHECKS

__all__ = ["add"]

FAILED: Final = 1
TERMINATED: Final = 128 + signal.SIGTERM

EPILOG: Final = """\
Without a target it takes the toolsets of the settings, else the entry points of pyproject.toml. The examples of the
tools are called once here and once through each of eight doors, and twice more here where a tool does not answer alike;
with --replay they are answered from a recording.
Behind -- stands the command of a server of somebody else's, which is started and checked; so are the servers of
signet.toml. Their tools are called with --call only, and of those only the ones that say that they only read.
The exit status is 0 if all checks hold, with or without warnings, 1 if one fails, 2 if they cannot be run.

examples:
  signet check tools.py
  signet check tools.py --replay tests/recording --format junit --output check.xml
  signet check boj --sandbox
  signet check --call -- uvx mcp-server-time
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet check`."""
    parser.epilog = EPILOG
    parser.usage = "signet check [TARGET ...] [options]"
    text = "tools to check: a file, a folder, package.module[:attribute], or the name of a toolset"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=text)
    parser.add_argument("--format", choices=FORMATS, default="text", help="form of the report (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the report to FILE, and print it as text")
    text = "call the tools of a server that say that they only read, with made-up arguments (default: call none)"
    parser.add_argument("--call", action="store_true", help=text)
    parser.add_argument("--lock-file", metavar="FILE", default=DEFAULT_PATH, help=f"lock (default: ./{DEFAULT_PATH})")
    parser.add_argument("--strict", action="store_true", help="let warnings fail the check")
    if isinstance(parser, Parser):
        parser.behind = "targets"
        add_settings(parser, "sandbox", "config", TOOLSET_FLAGS, "replay", "call_timeout_s")
    add_server_command(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Run all checks and write the report."""
    others = set(threading.enumerate())
    # Unwind on SIGTERM, so that every process that was started is stopped.
    signal.signal(signal.SIGTERM, _stop)
    if args.output is not None:
        _try_output(args.output)
    with _output_kept() as on_progress:
        settings, targets, specs = _settings(args)
        results = run_checks(settings, targets, on_progress) if targets else []
        prefixed = not args.server_command
        results += check_servers(specs, settings, on_progress, args.lock_file, prefixed=prefixed, makes_calls=args.call)
    rules = {**CHECKS, **SERVER_CHECKS} if specs else CHECKS
    report = CheckReport([*targets, *(spec.name for spec in specs)], results, args.strict, rules=rules)
    _write(report, args.format, args.output)
    status = 0 if report.passes else FAILED
    leave(status, others)
    return status


def _stop(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)


def _settings(args: argparse.Namespace) -> tuple[Settings, list[str], tuple[ServerSpec, ...]]:
    """Return the settings of the run, its targets and the servers to check; raise UsageError if there are none."""
    flags = flags_of(args)
    if args.targets:
        flags["toolsets"] = join_targets(args.targets)
    settings, spec = read_settings(os.environ, flags), spec_of(args)
    if spec is not None and args.targets:
        raise UsageError("a target is of your own, and the words behind -- start a server: write one of the two")
    specs = (spec,) if spec is not None else servers_of(settings) if not args.targets else ()
    specs = tuple(one for one in specs if not one.openapi)
    if not settings.toolsets and not specs:
        flags["toolsets"] = join_targets(targets_of_project())
        settings = read_settings(os.environ, flags)
    targets = [] if spec is not None else split_list(settings.toolsets)
    fixed = msgspec.structs.replace(settings, journal=False, record=None, validation="enforce", log="off")
    return (resolve(fixed) if targets else fixed), targets, specs


def run_checks(settings: Settings, targets: list[str], on_progress: Callable[[str], None]) -> list[CheckResult]:
    """Run every check on every tool and return the results, those of one tool together.

    Raises:
        UsageError: the tools cannot be loaded.
    """
    enabled = settings.enabled()
    drifts: list[str] = []
    _, registry = open_toolbox(enabled, on_drift=drifts.append)
    subjects = [Subject(toolset, tool) for toolset, _ in enabled for tool in toolset.tools()]
    results: list[CheckResult] = []
    for subject in subjects:
        on_progress(f"checking {subject.tool.name}")
        results += _check_tool(subject, settings, registry)
    orphans = _orphans(enabled)
    for toolset, _ in enabled:
        own = [one for one in subjects if one.toolset is toolset]
        results += check_frozen(toolset, own, orphans.get(toolset.name, ()))
    results += _check_doors(subjects, results, targets, settings, on_progress, has_drifted=bool(drifts))
    return _in_order(results, enabled)


def _orphans(enabled: list[EnabledToolset]) -> dict[str, list[str]]:
    """Return what is frozen beside the toolsets and has no code; none where a check tells that it cannot be read."""
    try:
        return orphans_of([toolset for toolset, _ in enabled], loaded_files())
    except BrokenContractError:
        return {}


def _check_tool(subject: Subject, settings: Settings, registry: SchemaRegistry) -> list[CheckResult]:
    """Run the checks that concern one tool alone."""
    contract = check_contract(subject, registry)
    schemas = schemas_of(subject, registry)
    results = [contract, *check_clients(subject, schemas)]
    if contract.state is CheckState.FAILED:
        names = ("satisfiable", "example", "wrong-input")
        return [*results, *(subject.skipped(name, "its contract cannot be used") for name in names)]
    satisfiable = check_satisfiable(subject, schemas)
    results.append(satisfiable)
    results.append(check_wrong_input(subject, settings, schemas["input"]))
    if satisfiable.state is CheckState.FAILED:
        return [*results, subject.skipped("example", "no value keeps its contract")]
    return [*results, check_example(subject, settings, schemas)]


def _check_doors(
    subjects: list[Subject],
    results: list[CheckResult],
    targets: list[str],
    settings: Settings,
    on_progress: Callable[[str], None],
    *,
    has_drifted: bool,
) -> list[CheckResult]:
    """Compare the doors on the examples that hold; a server that drifted does not start."""
    if has_drifted:
        return [one.skipped("parity", "no server starts before the contracts are frozen") for one in subjects]
    if any(one.check == "contract" and one.state is CheckState.FAILED for one in results):
        return [one.skipped("parity", "a contract cannot be used") for one in subjects]
    held = {one.tool for one in results if one.check == "example" and one.state is CheckState.OK}
    rest = [one.skipped("parity", "its example does not hold") for one in subjects if one.tool.slug not in held]
    ready = [one for one in subjects if one.tool.slug in held]
    return [*check_parity(ready, targets, settings, on_progress), *rest]


def _in_order(results: list[CheckResult], enabled: list[EnabledToolset]) -> list[CheckResult]:
    """Return the results by toolset, tool and check, and those on a whole toolset behind those on its tools."""
    tools = [tool.slug for toolset, _ in enabled for tool in toolset.tools()]
    toolsets = [toolset.name for toolset, _ in enabled]
    checks = list(CHECKS)

    def rank(result: CheckResult) -> tuple[int, int, int]:
        tool = tools.index(result.tool) if result.tool else len(tools)
        return toolsets.index(result.toolset), tool, checks.index(result.check)

    return sorted(results, key=rank)


def _try_output(path: str) -> None:
    """Raise UsageError if the report cannot be written, before the checks run for nothing."""
    if os.path.isdir(path):
        raise UsageError(f"cannot write {path} (it is a folder)")
    try:
        with tempfile.TemporaryFile(dir=os.path.dirname(path) or "."):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror})") from None


def _write(report: CheckReport, form: str, output: str | None) -> None:
    """Write the report to a file and to standard output as text, or to standard output alone."""
    try:
        _print(report, "text" if output is not None else form)
    except BrokenPipeError:
        raise
    except OSError as error:
        redirect_to_null(1)
        raise UsageError(f"cannot write to standard output ({error.strerror})") from None
    finally:
        if output is not None:
            _write_file(FORMATS[form](report), output)


def _write_file(text: str, path: str) -> None:
    try:
        with replacing(path, f"{path}.new") as file:
            file.write(text.encode(errors="replace") + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror})") from None


def _print(report: CheckReport, form: str) -> None:
    if form == "json":
        write_json(FORMATS[form](report))
    else:
        if form == "text":
            replace_unencodable()
        write(FORMATS[form](report))
    sys.stdout.flush()


@contextlib.contextmanager
def _output_kept() -> Iterator[Callable[[str], None]]:
    """Keep standard output for the report, whatever tools print; yield a callback that shows progress to a person."""
    try:
        os.fstat(1)
    except OSError:
        raise UsageError("cannot write to standard output (it is closed)") from None
    with stdout_kept(), _progress() as on_progress:
        yield on_progress


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("loading") as status:
        yield lambda text: status.update(escape(text))
