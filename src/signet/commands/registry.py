"""The commands that are imported only when they are given: the name, module and purpose of each."""

from __future__ import annotations

from typing import Final

__all__ = ["MORE"]

MORE: Final[dict[str, tuple[str, str]]] = {
    "new": ("signet.commands.new.command", "write a small project: one tool, its contract, tests and a CI file"),
    "boj": ("signet.commands.boj.command", "statistics of the Bank of Japan: search, fetch into a file, draw"),
    "oj": ("signet.commands.oj.command", "problems of online judges: read one, test a program on its samples"),
    "diagram": ("signet.commands.diagram", "draw the PlantUML diagrams of files, and name the line of an error"),
    "diagrams": ("signet.commands.diagrams", "fetch the files of the diagram engine; tell which engine draws"),
    "token": ("signet.commands.token", "make, list and revoke the named tokens of callers"),
    "wrap": ("signet.commands.wrap.command", "serve any other MCP server, or an OpenAPI document, under contract"),
    "config": ("signet.commands.config", "show every setting, and the flag, variable or file that set it"),
    "doctor": ("signet.commands.doctor.command", "show what is installed, configured and reachable, and what is wrong"),
    "install": ("signet.commands.install.command", "put Signet into the configuration of an AI client"),
    "uninstall": ("signet.commands.install.removal", "take Signet out of the configuration of an AI client"),
    "contract": (
        "signet.commands.contract.command",
        "freeze the contracts of your own tools; compare sets: what a change breaks",
    ),
    "lock": ("signet.commands.lock.command", "pin what other servers say of their tools; show and accept what changed"),
    "preflight": ("signet.commands.lock.preflight", "look whether tools of other servers are as they were pinned"),
    "check": ("signet.commands.check.command", "check your own tools: contracts, examples, every door, real clients"),
    "parity": ("signet.commands.parity.command", "run calls through every door and compare the results"),
    "replay": ("signet.commands.replay", "run recorded calls again and show what has changed"),
    "audit": ("signet.commands.audit", "verify an audit log: find a line that was edited, removed or moved"),
    "sandbox": (
        "signet.commands.sandbox",
        "play a toolset's upstream on loopback, with sample data and faults to order (GET /_sandbox)",
    ),
    "journal": ("signet.commands.journal.command", "show, filter and query the journal of calls"),
    "top": ("signet.commands.journal.top", "show what a server does now: calls, errors, times, callers"),
    "completion": ("signet.commands.completion", "print a completion script for bash, zsh or fish"),
}
"""Commands in modules of their own, imported when one is given: each has `add(parser)`, which adds its arguments and
sets `run`."""
