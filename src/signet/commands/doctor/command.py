"""The arguments of `signet doctor`, the run of its checks within a bounded time, and the report."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from signet import __version__
from signet.commands.arguments import TOOLSET_FLAGS, Parser, add_settings, flags_of
from signet.commands.ending import leave
from signet.commands.terminal import replace_unencodable, table, write, write_json
from signet.kernel.checkup import Check, CheckupResult, State, note, trouble
from signet.settings.fields import Given
from signet.settings.names import PREFIX, known_settings, variable_of
from signet.settings.reading import read_configuration
from signet.settings.usage import UsageError
from signet.system.redaction import SecretRedactor, redact_user_info
from signet.system.text import printable

from .checkups import checks_of

__all__ = ["add"]

FAILED: Final = 1
LIMIT_S: Final = 6.0
"""The time for all checks that wait; they run at once."""

MIN_SECRET_CHARS: Final = 4
"""The shortest secret that is looked for in the report: a shorter one is part of ordinary words."""

MARKS: Final = {State.OK: ("✓", "green"), State.NOTE: ("!", "yellow"), State.TROUBLE: ("✗", "bold red")}
WIDTH: Final = 110
"""The width of the report where there is no terminal."""

EPILOG: Final = """\
examples:
  signet doctor                                   this installation, as the environment configures it
  signet doctor --sandbox                         the same, with embedded sample data in place of the upstreams
  signet doctor --oj-base-url https://judge.example --json

✓ works, ! is worth knowing or an optional part that is missing, ✗ is configured and does not work: the exit status is
then 1. No token is printed.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet doctor`."""
    if isinstance(parser, Parser):
        add_settings(
            parser, "toolsets", "config", "sandbox", TOOLSET_FLAGS, "host", "port", "tls_cert", "tls_key", "token"
        )
        add_settings(parser, "allowed_hosts", "log_dir", "journal", "record", "replay")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = EPILOG
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    others = set(threading.enumerate())
    flags = {name: value for name, value in flags_of(args).items() if value is not None}
    redactor = SecretRedactor(_secrets(os.environ, flags), min_chars=MIN_SECRET_CHARS)
    checks = checks_of(os.environ, flags)
    # Not asyncio.run: it would wait for a thread that still looks up a name.
    loop = asyncio.new_event_loop()
    findings = loop.run_until_complete(_run_all(checks))
    loop.close()
    found = [(check, _without_secrets(finding, redactor)) for check, finding in zip(checks, findings, strict=True)]
    _report(found, as_json=args.json)
    status = FAILED if any(finding.state is State.TROUBLE for _, finding in found) else 0
    leave(status, others)
    return status


def _secrets(environ: Mapping[str, str], flags: Mapping[str, Any]) -> list[str]:
    """Return the values of all secret settings, as they were given: they may be unusable as settings."""
    given: Mapping[str, Given] = {}
    with contextlib.suppress(UsageError):
        given = read_configuration(environ, flags, with_documents=True).given
    # Behind the reading: it opens the targets and the documents that have settings of their own.
    names = [name for name, field in known_settings().items() if field.secret]
    variables = [variable for name in names for variable in (variable_of(name), PREFIX + name.upper())]
    values = [environ.get(variable) for variable in variables] + [flags.get(name) for name in names]
    values += [given[name].value for name in names if name in given]
    return [str(value) for value in values if value and str(value).strip()]


def _without_secrets(finding: CheckupResult, redactor: SecretRedactor) -> CheckupResult:
    text, mend = (redact_user_info(redactor.text(part)) for part in (finding.text, finding.mend))
    return CheckupResult(finding.state, text, mend)


async def _run_all(checks: Iterable[Check]) -> list[CheckupResult]:
    """Run all checks, those that wait at once; a check that takes too long is given up."""
    return list(await asyncio.gather(*map(_run_one, checks)))


async def _run_one(check: Check) -> CheckupResult:
    try:
        finding = check.run()
        if isinstance(finding, CheckupResult):
            return finding
        return await asyncio.wait_for(_awaited(finding), LIMIT_S)
    except TimeoutError:
        return trouble(f"no answer within {LIMIT_S:g} s", "try again; if it stays, check the network and its proxy")
    except (OSError, ValueError, RuntimeError) as error:
        return note(f"could not be checked ({type(error).__name__})")


async def _awaited(finding: Any) -> CheckupResult:
    result: CheckupResult = await finding
    return result


def _report(found: list[tuple[Check, CheckupResult]], *, as_json: bool) -> None:
    troubles = sum(finding.state is State.TROUBLE for _, finding in found)
    if as_json:
        rows = [{"area": check.area, "name": check.name, **msgspec.to_builtins(finding)} for check, finding in found]
        report = {"signet": __version__, "ok": troubles == 0, "findings": rows}
        write_json(msgspec.json.encode(report).decode())
        return
    replace_unencodable()
    cells = []
    for number, (check, finding) in enumerate(found):
        mark, style = MARKS[finding.state]
        is_first = number == 0 or found[number - 1][0].area != check.area
        area = (check.area, "bold") if is_first else ""
        cells.append((area, (f"{mark} {finding.state}", style), check.name, finding.text))
    write(table(("", "", "", ""), cells, pipe_width=WIDTH, strip=True).lstrip("\n"))
    # On lines of their own, however long they are: a table would fold a command, which could not be pasted then.
    mends = [f"  {check.name}\n    {finding.mend}\n" for check, finding in found if finding.mend]
    if mends:
        write(printable(f"\nWhat to do:\n{''.join(mends)}", keep="\n"))
    words = {0: "No trouble was found.", 1: "One thing is configured and does not work."}
    write(words.get(troubles, f"{troubles} things are configured and do not work."))
