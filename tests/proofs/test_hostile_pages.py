"""The console's page of a tool whose schema is hostile: it opens, and the server answers everybody meanwhile."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from processes import ROOT, SIGNET, Reply, Server, serving_command
from proofs.schema_server import SCHEMAS

HOSTILE = str(ROOT / "tests/proofs/schema_server.py")
MEMORY = 64 << 20
"""How much the server itself may grow, whatever the schema."""
MOST_WORK_S = 6.0
"""The processor time of the server itself, most of it for its start and for what asks it meanwhile."""
UNCHECKED = "--validation=weather=off"
"""How a tool is served whose schema is over its budget."""
NOT_SHOWN = {
    "doubling": "its references make it look at a value more than 50,000 times",
    "doubling-choices": "its references make it look at a value more than 50,000 times",
    "chain": "it is nested deeper than 200",
    "classes": "it takes more than 32 MiB when it is compiled",
    "malformed": "it is not a usable schema",
}


def wrapping(word: str, *more: str) -> Any:
    server = (sys.executable, HOSTILE, word)
    flags = ("--serve", "--port", "0", "--no-journal", "--lock", "off", "--name", "hostile", *more)
    return serving_command(SIGNET, "wrap", *flags, "--", *server)


def resident(server: Server) -> int:
    statm = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(statm[1]) * os.sysconf("SC_PAGE_SIZE")


def worked_s(server: Server) -> float:
    """Return the processor time of the server itself."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def opened(server: Server) -> Reply:
    """Open the page of the hostile tool, and see that others are answered while it is made."""
    replies: list[Reply] = []
    opening = threading.Thread(target=lambda: replies.append(server.ask("GET", "/-/tools/weather")))
    opening.start()
    answered = 0
    while opening.is_alive():
        assert server.ask("GET", "/healthz").status == 200
        answered += 1
    opening.join()
    assert answered > 1
    return replies[0]


@pytest.fixture(
    params=[word for word in SCHEMAS if word not in {"longer", "optional", "alternatives", "deep-300", "deep-450"}]
)
def word(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_hostile_page_opens_and_the_server_serves(word: str) -> None:
    with wrapping(word, UNCHECKED) as server:
        assert server.ask("GET", "/-/tools").status == 200
        before = resident(server)

        reply = opened(server)

        page = reply.json()
        assert (reply.status, page["name"]) == (200, "weather")
        assert resident(server) - before < MEMORY
        assert worked_s(server) < MOST_WORK_S
        if word in NOT_SHOWN:
            assert page["input"]["description"] == f"This schema is not shown: {NOT_SHOWN[word]}."
            assert page["inputSchema"] == {"$comment": f"not shown: {NOT_SHOWN[word]}"}
        else:
            assert page["inputSchema"] == SCHEMAS[word]
            assert page["input"]["fields"][0]["name"] in {"city", "a"}
        assert server.ask("GET", "/openapi.json").status == 200
        assert server.ask("GET", "/api/tools").status == 200


@pytest.mark.parametrize("word", ["doubling", "classes", "chain", "deep-300"])
def test_a_tool_over_its_budget_has_no_page(word: str) -> None:
    with wrapping(word) as server:
        assert server.ask("GET", "/-/tools/weather").status == 404
        assert [tool["name"] for tool in server.ask("GET", "/api/tools").json()["tools"]] == ["time"]
        for path in ("/-/tools", "/-/tools/time", "/-/contracts", "/openapi.json", "/readyz"):
            reply = server.ask("GET", path)
            assert (reply.status, b"weather" in reply.body) == (200, False)


@pytest.mark.parametrize("word", ["deep-300", "deep-450"])
def test_a_schema_of_hundreds_of_levels_fails_no_page(word: str) -> None:
    with wrapping(word, UNCHECKED) as server:
        paths = ("/-/tools", "/-/tools/weather", "/-/contracts", "/openapi.json", "/api/tools", "/readyz")

        assert {path: server.ask("GET", path).status for path in paths} == dict.fromkeys(paths, 200)
        components = server.ask("GET", "/openapi.json").json()["components"]["schemas"]
        assert components["hostile.weather.input"] == {"description": "This schema is nested too deeply to show."}


def test_an_honest_page_of_a_wrapped_server_has_a_call_that_keeps_its_contract() -> None:
    with wrapping("") as server:
        page = server.ask("GET", "/-/tools/weather").json()

        assert "arguments = {'city': 'a'}" in page["ways"][-1]["text"]
        assert server.ask("GET", "/-/tools/weather").json() == page
        assert server.ask("GET", "/-/tools/unknown").status == 404
