"""The checks of what clients see: names, descriptions and schemas that they take, and no secret among them."""

from __future__ import annotations

from typing import Any

from .client_rules import Finding, lint_tool
from .result import CheckResult, Subject

__all__ = ["check_clients", "warnings_of"]


def check_clients(subject: Subject, schemas: dict[str, dict[str, Any]]) -> list[CheckResult]:
    """Lint a tool as clients do; a secret is a failure, everything else a warning."""
    findings = warnings_of(subject, schemas)
    secrets = [one for one in findings if one.severity == "error"]
    rest = [one for one in findings if one.severity != "error"]
    leaks = [subject.failed("secret", f"{one.place}: {one.message}") for one in secrets]
    lint = [subject.warning("client", f"{one.place}: {one.message}") for one in rest]
    return [*(lint or [subject.ok("client")]), *(leaks or [subject.ok("secret")])]


def warnings_of(subject: Subject, schemas: dict[str, dict[str, Any]]) -> list[Finding]:
    """Return what clients refuse of a tool, or lose of it."""
    tool = subject.tool
    # A tool that answers in content blocks publishes no output schema.
    output = None if tool.to_content is not None else schemas["output"]
    return lint_tool(tool.name, tool.title, tool.description, schemas["input"], output, example=tool.example)
