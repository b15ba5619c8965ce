"""The limit of open files of a process: it is raised to what the connections need, or there are fewer of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from processes import PATIENCE_S
from signet.transports.descriptors import with_descriptors
from signet.transports.slots import ConnectionLimits

CHILD = """
import json, resource, sys
from signet.transports.descriptors import with_descriptors
from signet.transports.slots import ConnectionLimits

soft, hard, connections = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
limits, why = with_descriptors(ConnectionLimits(connections=connections))
print(json.dumps([limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0], why]))
"""


def in_a_process(soft: int, hard: int, connections: int) -> Any:
    """Return the connections, the limit of open files and the warning of a process that began with these limits."""
    command = [sys.executable, "-c", CHILD, *map(str, (soft, hard, connections))]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True)
    return json.loads(done.stdout)


def test_the_limit_is_raised_to_what_the_connections_need_and_no_further() -> None:
    assert in_a_process(64, 4096, 1000) == [1000, 2024, ""]


def test_a_limit_that_is_high_enough_stays() -> None:
    assert in_a_process(3000, 4096, 1000) == [1000, 3000, ""]


def test_where_the_system_allows_fewer_files_there_are_fewer_connections_and_a_sentence() -> None:
    why = (
        "at most 2,048 files may be open: the server takes 1,536 connections, not 2,000; "
        "raise the hard limit (ulimit -Hn) to 3,024"
    )
    assert in_a_process(64, 2048, 2000) == [1536, 2048, why]


def test_of_few_files_a_quarter_is_for_what_is_no_connection() -> None:
    assert in_a_process(64, 200, 4096)[:2] == [150, 200]


def test_few_connections_need_no_sentence() -> None:
    assert in_a_process(64, 1000, 100) == [100, 1000, ""]


def test_the_other_limits_are_left_alone() -> None:
    limits = ConnectionLimits(connections=1, head_s=3.5)

    assert with_descriptors(limits) == (limits, "")
