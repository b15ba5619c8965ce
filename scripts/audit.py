"""Look the locked dependencies up in the databases of known vulnerabilities: pip-audit (OSV) and npm audit.

The exit status is 1 if a vulnerability is known or an auditor fails. An auditor whose database cannot be reached says
that it checked nothing, and does not count as a failure: a machine without network can run this.

OSV and not the index of pip: an index without vulnerability data looks to pip-audit like one that knows of none.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements/run.txt"
NPM_LOCK = "package-lock.json"
UNREACHABLE = ("requests.exceptions.", "pip_audit._service.interface.", "ERROR:pip_audit._cli:Could not connect")
"""How a line of pip-audit begins that reports a database without an answer."""


class AuditError(Exception):
    """An auditor that cannot do its work, for a reason other than its database."""


class UnreachableError(Exception):
    """A database that cannot be reached."""


def audit_python() -> tuple[int, list[str]]:
    """Return the number of packages in the lock file of pip, and a line for each known vulnerability.

    Raises:
        UnreachableError: the database gives no answer.
        AuditError: pip-audit fails otherwise.
    """
    with tempfile.TemporaryDirectory() as cache:
        options = ("--disable-pip", "--require-hashes", "-s", "osv", "-f", "json", "--progress-spinner", "off")
        stdout, stderr = _run(sys.executable, "-m", "pip_audit", "-r", LOCK, *options, "--cache-dir", cache)
    report = _parse(stdout)
    if report is None:
        lines = stderr.strip().splitlines() or ["no reason given"]
        reasons = [line for line in lines if line.startswith(UNREACHABLE)]
        raise UnreachableError(reasons[-1]) if reasons else AuditError(lines[-1])
    packages = report["dependencies"]
    if skipped := [package["name"] for package in packages if "skip_reason" in package]:
        raise AuditError("not checked: " + ", ".join(skipped))
    return len(packages), [
        f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {vulnerability['fix_versions']}"
        for package in packages
        for vulnerability in package["vulns"]
    ]


def audit_npm() -> tuple[int, list[str]]:
    """Return the number of packages in the lock file of npm, and a line for each vulnerable package.

    Raises:
        UnreachableError: the registry gives no answer.
        AuditError: npm fails otherwise.
    """
    stdout, stderr = _run("npm", "audit", "--json", "--package-lock-only", "--fetch-retries=0")
    report = _parse(stdout)
    if report is None or "vulnerabilities" not in report:
        # npm reports a request that failed by a message, and its own errors by a code.
        if report and "message" in report:
            raise UnreachableError(report["message"])
        raise AuditError(stderr.strip() or stdout.strip() or "no reason given")
    return report["metadata"]["dependencies"]["total"], [
        f"{name}: {entry['severity']} ({', '.join(map(_cause, entry['via']))})"
        for name, entry in report["vulnerabilities"].items()
    ]


def _cause(via: dict[str, Any] | str) -> str:
    """Return the address of an advisory, or the name of the vulnerable package that another one depends on."""
    return via if isinstance(via, str) else str(via["url"])


def _run(*command: str) -> tuple[str, str]:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError as error:
        message = f"{command[0]} is not installed"
        raise AuditError(message) from error
    return done.stdout, done.stderr


def _parse(text: str) -> dict[str, Any] | None:
    try:
        report = json.loads(text)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def passes(name: str, lock: str, audit: Callable[[], tuple[int, list[str]]]) -> bool:
    """Run an auditor, print its result, and return False if a vulnerability is known or the auditor failed."""
    try:
        count, vulnerabilities = audit()
    except UnreachableError as error:
        print(f"{name}: NOTHING WAS CHECKED in {lock}: the database cannot be reached ({str(error)[:300]})")
        return True
    except AuditError as error:
        print(f"{name}: failed on {lock}: {error}")
        return False
    if not vulnerabilities:
        print(f"{name}: {count} packages in {lock}, no known vulnerability")
        return True
    print(f"{name}: {count} packages in {lock}, known vulnerabilities: {len(vulnerabilities)}")
    print(*(f"  {line}" for line in vulnerabilities), sep="\n")
    return False


def main() -> int:
    """Run both auditors and return the exit status."""
    results = [passes("pip-audit", LOCK, audit_python), passes("npm audit", NPM_LOCK, audit_npm)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
