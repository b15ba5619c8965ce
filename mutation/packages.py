"""Which source is mutated and which tests are asked: one `Package` for each row of the report."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NO_MAP", "PACKAGES", "ROOT", "TRACED", "Package", "package_of"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "src/signet"


@dataclass(frozen=True)
class Package:
    """A part of the source with a mutation score of its own."""

    name: str
    files: tuple[str, ...]
    """Patterns of paths below `src/signet`."""
    last: tuple[tuple[str, ...], ...]
    """Test files that start processes, are slow, or have more cases than are asked at first, in groups: asked about a
    mutant that all other tests let live."""
    without: tuple[str, ...] = ()
    """Patterns of paths that hold no rule of the package."""

    def paths(self, root: Path = ROOT) -> list[str]:
        """Return the files of the package, relative to the root."""
        base = root / SOURCE
        found = {path.relative_to(base).as_posix() for one in self.files for path in base.glob(one)}
        kept = sorted(path for path in found if not any(fnmatch.fnmatch(path, one) for one in self.without))
        return [f"{SOURCE}/{path}" for path in kept if not path.endswith("__init__.py")]


DOORS = (
    "tests/transports/test_every_tool.py",
    "tests/transports/test_rest.py",
    "tests/transports/test_envelope.py",
    "tests/transports/test_http.py",
)
"""Every door, by processes that the tests of a file share."""

IN_PROCESS = (
    "tests/transports/test_refusals.py",
    "tests/transports/test_web_app.py",
    "tests/transports/test_connection_ends.py",
    "tests/transports/test_connection_times.py",
    "tests/transports/test_supervisor_deadlines.py",
    "tests/transports/test_compression.py",
    "tests/transports/test_event_log.py",
    "tests/transports/test_heads.py",
    "tests/transports/test_pipes.py",
    "tests/transports/test_router.py",
    "tests/transports/test_sessions.py",
    "tests/transports/test_slots.py",
)
"""Tests of the transports that take no time: all of their cases are asked, not only some of those that run a line."""

PACKAGES = (
    Package(
        "kernel",
        ("kernel/*.py", "schemas/envelope.schema.json", "schemas/tool_io.schema.json"),
        (DOORS, ("tests/toolsets/oj/test_tools.py", "tests/transports/test_stdio.py", "tests/wrap/test_listing.py")),
    ),
    Package(
        "transports",
        ("transports/*.py",),
        (
            IN_PROCESS,
            (
                *DOORS,
                "tests/transports/test_guard.py",
                "tests/transports/test_pages.py",
                "tests/transports/test_openapi.py",
                "tests/transports/test_request_ids.py",
                "tests/transports/test_tls.py",
                "tests/transports/test_systemd.py",
            ),
            (
                "tests/transports/test_connection.py",
                "tests/transports/test_http_server.py",
                "tests/transports/test_conversation.py",
                "tests/transports/test_stdio.py",
                "tests/transports/test_hangup.py",
                "tests/attack/test_pipelining.py",
            ),
            (
                "tests/transports/test_workers.py",
                "tests/transports/test_supervisor.py",
                "tests/attack/test_time_limits.py",
            ),
        ),
    ),
    Package(
        "journal",
        ("journal/*.py",),
        (("tests/journal/test_retention_settings.py", "tests/test_journal_command.py"),),
    ),
    Package(
        "limits",
        ("operations/limits/*.py", "operations/gates.py"),
        (
            (
                "tests/operations/test_limit_policy.py",
                "tests/operations/test_limits.py",
                "tests/operations/test_idempotency.py",
            ),
            ("tests/operations/test_limits_doors.py",),
            ("tests/operations/test_metrics.py",),
        ),
    ),
    Package(
        "lock",
        ("lock/*.py", "mcp/snapshot.py", "system/canonical_json.py"),
        (
            (
                "tests/lock/test_comparison.py",
                "tests/lock/test_shown.py",
                "tests/lock/test_policy.py",
            ),
            ("tests/lock/test_lock_command.py",),
            ("tests/wrap/test_wrap_lock.py",),
        ),
    ),
    Package(
        "toolset oj",
        (
            "toolsets/oj/api.py",
            "toolsets/oj/models.py",
            "toolsets/oj/tools.py",
            "toolsets/oj/statement_cache.py",
            "toolsets/oj_practice/limits.py",
            "toolsets/oj_practice/samples.py",
            "toolsets/oj_practice/tools.py",
            "schemas/tools/oj.*.json",
        ),
        (
            (
                "tests/toolsets/test_contract_edges.py",
                "tests/toolsets/oj/test_api.py",
                "tests/toolsets/oj/test_requests.py",
                "tests/toolsets/oj_practice/test_samples.py",
            ),
            ("tests/toolsets/oj/test_tools.py", "tests/transports/test_every_tool.py"),
            ("tests/test_oj_mcp.py",),
        ),
    ),
    Package(
        "toolset boj",
        (
            "toolsets/boj/*.py",
            "toolsets/boj_explore/codes.py",
            "toolsets/boj_explore/columns.py",
            "toolsets/boj_explore/models.py",
            "toolsets/boj_explore/words.py",
            "toolsets/boj_explore/tools.py",
            "schemas/tools/boj.*.json",
        ),
        (
            (
                "tests/toolsets/boj/test_contract_limits.py",
                "tests/toolsets/boj/test_decode.py",
                "tests/toolsets/boj/test_query.py",
                "tests/toolsets/boj_explore/test_codes.py",
                "tests/toolsets/boj_explore/test_columns.py",
                "tests/toolsets/boj_explore/test_tools.py",
            ),
            ("tests/toolsets/test_boj_tools.py", "tests/transports/test_every_tool.py"),
            ("tests/test_boj_mcp.py", "tests/toolsets/boj_explore/test_index.py", "tests/test_waiting.py"),
        ),
        without=("toolsets/boj/digest.py", "toolsets/boj/sources.py"),
    ),
    Package(
        "toolset plantuml",
        ("toolsets/plantuml/*.py", "toolsets/plantuml_tools/*.py", "schemas/tools/plantuml.*.json"),
        (
            (
                "tests/toolsets/test_contract_edges.py",
                "tests/toolsets/plantuml_tools/test_decoding.py",
                "tests/toolsets/plantuml_tools/test_diagram_tools.py",
            ),
            ("tests/toolsets/test_plantuml.py", "tests/transports/test_every_tool.py"),
            ("tests/toolsets/plantuml_tools/test_drawing.py",),
        ),
        without=("*/corpus.py",),
    ),
)

TRACED = (
    "tests/kernel",
    "tests/transports",
    "tests/journal",
    "tests/lock",
    "tests/toolsets",
    "tests/operations/test_gates.py",
    "tests/operations/test_idempotency.py",
    "tests/operations/test_limit_policy.py",
    "tests/operations/test_limits.py",
    "tests/operations/test_limits_doors.py",
    "tests/operations/test_places.py",
    "tests/test_app.py",
    "tests/test_contracts.py",
    "tests/settings/test_model.py",
    "tests/test_tool_arguments.py",
)
"""The tests of the coverage map."""

NO_MAP = (
    "tests/transports/test_supervisor.py",
    "tests/transports/test_stdio.py",
    "tests/transports/test_workers.py",
    "tests/transports/test_hangup.py",
    "tests/journal/test_retention_settings.py",
    "tests/lock/test_lock_command.py",
    "tests/lock/test_lock_page.py",
    "tests/toolsets/oj/test_convert.py",
    "tests/toolsets/test_boj_large.py",
    "tests/toolsets/test_boj_retry.py",
    "tests/toolsets/boj_explore/test_index.py",
    "tests/toolsets/plantuml_tools/test_drawing.py",
)
"""Test files of these folders that the map leaves out: they start processes, or wait more than they check."""


def package_of(name: str) -> Package:
    """Return the package with a name."""
    return next(package for package in PACKAGES if package.name == name)
