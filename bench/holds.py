"""How long hostile input holds the interpreter: `python bench/holds.py`.

A thread handles each message or response; meanwhile this thread notes the longest time until it gets its turn.
Other work on the machine makes the times longer, so the shortest of three runs is shown, beside the CPU time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from signet.app import SCHEMA_ROOT
from signet.kernel.errors import Fault
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import HTTP_MCP, ClientChannel, Pending, Server
from signet.kernel.tools import Toolbox
from signet.kernel.upstream import UpstreamResponse
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.toolsets.boj.decode import read_data
from signet.toolsets.boj.query import DataCodeIn
from signet.toolsets.oj.models import Problem
from signet.toolsets.oj.render import problem_page

MIB = 1_048_576
RUNS = 3
BEAT_S = 0.0002
NESTED = b"[" * 900 + b"]" * 900
MESSAGES = {
    "a text": b'"' + b"x" * MIB + b'"',
    "numbers": b"[" + b",".join([b"1.7976931348623157e308"] * 45_000) + b"]",
    "arrays in arrays": b"[" + b",".join([NESTED] * 580) + b"]",
    "arrays in arrays, within the limit": b"[" + b",".join([NESTED] * 55) + b"]",
    "members": b"{" + b",".join(b'"%x":0' % number for number in range(49_000)) + b"}",
}
MEMBERS = b",".join(b'"k%d":0' % number for number in range(690_000))
ROWS = b'{"STATUS":200,"RESULTSET":'
RESPONSES = {
    "members": b'{"STATUS":200,' + MEMBERS + b"}",
    "a row of members": ROWS + b'[{"SERIES_CODE":"A",' + MEMBERS + b"}]}",
    "arrays in arrays": ROWS + b"[" + b",".join([NESTED] * 9_000) + b"]}",
    "a long status": b'{"STATUS":"' + b"1" * (15 * MIB) + b'"}',
}
STATEMENTS = {
    "brackets in a link": "<a href=x>" + "[" * 1_000_000,
    "stars": "<p>" + "*a" * 500_000,
    "tags": "<td>" * 250_000,
}


def measured(act: Callable[[], object]) -> tuple[float, float]:
    """Return the longest hold and the CPU time of an act, in milliseconds."""
    cpu_s: list[float] = []

    def work() -> None:
        begun = time.thread_time()
        act()
        cpu_s.append(time.thread_time() - begun)

    thread = threading.Thread(target=work)
    longest, last = 0.0, time.perf_counter()
    thread.start()
    while thread.is_alive():
        time.sleep(BEAT_S)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest * 1000, cpu_s[0] * 1000


def show(name: str, act: Callable[[], object]) -> None:
    """Print the shortest of some runs."""
    hold_ms, cpu_ms = min(measured(act) for _ in range(RUNS))
    print(f"{name:50} hold {hold_ms:7.1f} ms   CPU {cpu_ms:7.1f} ms")


def receive(server: Server, value: bytes) -> None:
    """Pass a call with some value among its arguments to a server, as a door does."""
    message = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"encodePlantUML","arguments":{"x":'
    reply = server.receive(message + value + b"}}}", ClientChannel(door=HTTP_MCP))
    if isinstance(reply, Pending):
        reply.reply.close()


def read(body: bytes) -> None:
    """Read a response of the Bank of Japan."""
    try:
        read_data(UpstreamResponse(200, "application/json", body), DataCodeIn(db="CO", codes=("A",)))
    except Fault:
        return


def main() -> None:
    """Measure everything."""
    sys.setswitchinterval(0.0005)
    toolbox = Toolbox(*[find_toolset(name).tools() for name in TOOLSETS])
    server = Server(Pipeline(toolbox, SchemaRegistry(schema_root=SCHEMA_ROOT)), Identity("holds", "0"), "")
    receive(server, b"0")
    for name, value in MESSAGES.items():
        show(f"a message of {name}", lambda value=value: receive(server, value))
    for name, body in RESPONSES.items():
        show(f"the Bank: {name}", lambda body=body: read(body))
    for name, content in STATEMENTS.items():
        show(f"the judge: {name}", lambda content=content: problem_page(Problem("1", content=content)))


if __name__ == "__main__":
    main()
