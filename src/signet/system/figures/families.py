"""The families of figures: each with its name in OpenTelemetry, from which its name for Prometheus follows. Pure.

The families of the hour are read by the console alone, and have no names outside.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = [
    "BUILD",
    "BY_NAME",
    "HOURS",
    "HOUR_CALLS",
    "HOUR_REFUSALS",
    "HOUR_UPSTREAMS",
    "IN_FLIGHT",
    "JOURNAL_LAG",
    "JOURNAL_RECORDS",
    "LOCK_DRIFT",
    "OPERATIONS",
    "REQUESTS",
    "RESTARTS",
    "UPSTREAM_REQUESTS",
    "VIOLATIONS",
    "Family",
    "Key",
]

OPERATION_BOUNDS_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""The bounds that the conventions of MCP state."""
HTTP_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""The bounds that the conventions of HTTP state."""
CHECK_BOUNDS_S: Final = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0)
SUFFIXES: Final = {"counter": "_total", "gauge": "", "histogram": "", "hour": ""}

Key = tuple[str, tuple[str, ...]]
"""One figure: the name of its family, and the values of its labels."""


class Family(msgspec.Struct, frozen=True):
    """The figures of one name, which differ by their labels."""

    kind: Literal["counter", "gauge", "histogram", "hour"]
    name: str
    """The name in OpenTelemetry."""
    help: str
    labels: tuple[str, ...] = ()
    """The names of the labels in OpenTelemetry. No value of a label comes from a client."""
    unit: Literal["", "s"] = ""
    bounds: tuple[float, ...] = ()
    adds_up: bool = True
    """Whether the figures of several processes are added; otherwise the largest counts."""
    most: int = 0
    """The number of figures of an hour that are told apart; all others are one figure."""

    @property
    def exposed(self) -> str:
        """The name for Prometheus: with the unit, and for a counter with `_total`."""
        return _underscored(self.name) + ("_seconds" if self.unit else "") + SUFFIXES[self.kind]

    @property
    def exposed_labels(self) -> tuple[str, ...]:
        """The names of the labels for Prometheus."""
        return tuple(map(_underscored, self.labels))

    @property
    def width(self) -> int:
        """The number of cells of one figure: for a histogram its buckets, the last without a bound, and the sum."""
        return len(self.bounds) + 2 if self.kind == "histogram" else 1


def _underscored(name: str) -> str:
    return name.replace(".", "_")


OPERATIONS: Final = Family(
    "histogram",
    "mcp.server.operation.duration",
    "Time from a message of MCP, or from a call through another door, to its answer.",
    ("mcp.method.name", "gen_ai.tool.name", "error.type", "network.transport", "mcp.protocol.version"),
    "s",
    OPERATION_BOUNDS_S,
)
REQUESTS: Final = Family(
    "histogram",
    "http.server.request.duration",
    "Time from the head of an HTTP request to its response.",
    ("http.request.method", "http.route", "http.response.status_code"),
    "s",
    HTTP_BOUNDS_S,
)
VIOLATIONS: Final = Family(
    "counter",
    "signet.contract.violations",
    "Values that broke a contract: refused (enforce) or let through (shadow).",
    ("tool", "stage", "mode"),
)
IN_FLIGHT: Final = Family("gauge", "signet.calls_in_flight", "Calls that are being awaited.")
UPSTREAM_REQUESTS: Final = Family(
    "histogram",
    "signet.upstream.request.duration",
    "Time of a request to a service, from its turn to the end of the response.",
    ("upstream", "code"),
    "s",
    HTTP_BOUNDS_S,
)
JOURNAL_RECORDS: Final = Family("counter", "signet.journal.records", "Records that the journal has written.")
JOURNAL_LAG: Final = Family(
    "gauge", "signet.journal.lag", "Age of the oldest record that could not be written yet.", unit="s", adds_up=False
)
RESTARTS: Final = Family(
    "counter", "signet.child_restarts", "Starts of a wrapped server after an instance of it was lost.", ("server",)
)
LOCK_DRIFT: Final = Family(
    "gauge",
    "signet.lock_drift",
    "Differences between a wrapped server and the lock that pins it; 0 where it is as pinned.",
    ("server",),
    adds_up=False,
)
BUILD: Final = Family("gauge", "signet.build_info", "The version that runs.", ("version", "python"), adds_up=False)

_ALL: Final = (
    OPERATIONS,
    REQUESTS,
    VIOLATIONS,
    IN_FLIGHT,
    Family(
        "counter",
        "signet.rate_limit.decisions",
        "Decisions of the limits on calls.",
        ("decision", "scope"),
    ),
    Family("counter", "signet.rate_limit.fail_open", "Calls that were let in because the store was away."),
    Family(
        "histogram",
        "signet.rate_limit.check.duration",
        "Time that a decision of the limits took.",
        unit="s",
        bounds=CHECK_BOUNDS_S,
    ),
    Family("counter", "signet.store.errors", "Requests to the store that failed."),
    UPSTREAM_REQUESTS,
    JOURNAL_RECORDS,
    JOURNAL_LAG,
    RESTARTS,
    LOCK_DRIFT,
    BUILD,
)
BY_NAME: Final = {family.exposed: family for family in _ALL}
"""The families by their names for Prometheus, in the order in which they are shown."""

HOUR_CALLS: Final = Family(
    "hour", "signet.hour.calls", "Calls; names that no tool has are empty.", ("tool", "door"), "s", most=500
)
HOUR_REFUSALS: Final = Family(
    "hour", "signet.hour.refusals", "Requests that were refused before they were calls.", ("reason", "status"), most=50
)
HOUR_UPSTREAMS: Final = Family(
    "hour", "signet.hour.upstreams", "Requests to upstreams.", ("upstream", "origin"), "s", most=50
)
HOURS: Final = {family.name: family for family in (HOUR_CALLS, HOUR_REFUSALS, HOUR_UPSTREAMS)}
"""The families of which the registry keeps the last hour."""
