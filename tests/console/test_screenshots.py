"""Pictures of the six views, light and dark: each is drawn, and docs/ has the same set.

With `SIGNET_WRITE_SCREENSHOTS=1` (`make screenshots`) they are written to docs/images/console.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from browser import HEIGHT, WIDTH, Open
from console.journal_calls import listed
from door_calls import invocation, rpc
from processes import PATIENCE_S, ROOT, Server, serving

PICTURES = ROOT / "docs/images/console"
IS_WRITING = os.environ.get("SIGNET_WRITE_SCREENSHOTS") == "1"
MAX_BYTES = 200_000
BELOW_HEADING = 160
"""Where the content of a view begins, in pixels."""
MIN_COLOURS = 50
"""Of a view's content, in a picture of at most 256: an empty page has one, a page of text about a hundred."""
PAPERS = {"light": (255, 255, 255), "dark": (20, 22, 26)}
CALLS = 3
SERIES = {"codes": ["FM08:FXERD01", "FM08:FXERD04"], "start": "2025-10-01", "end": "2026-09-30"}
DIAGRAM = {"plantumlCode": "@startuml\nAlice -> Bob: hello\n@enduml"}
ISLANDS = {"query": "shortest path between islands", "limit": 3}
SOURCE = """@startuml
actor Agent
participant Signet
participant Tool
Agent -> Signet: call
Signet -> Signet: check the input
Signet -> Tool: arguments
Tool --> Signet: result
Signet -> Signet: check the output
Signet --> Agent: result
@enduml"""

expect.set_options(timeout=PATIENCE_S * 1000)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on sample data that records, and has answered calls of several tools through every HTTP door."""
    with serving("--sandbox", "--record", str(tmp_path_factory.mktemp("tape"))) as running:
        count = sum(call_all(running) for _ in range(CALLS))
        listed(running, count)
        yield running


def call_all(server: Server) -> int:
    """Call tools through REST, MCP and the envelope, rightly and wrongly; return how often."""
    mcp = {"accept": "application/json, text/event-stream"}
    rest = [
        ("boj_get_series", SERIES),
        ("boj_search", {"query": "dollar yen"}),
        ("find_similar_problems", ISLANDS),
        ("encodePlantUML", DIAGRAM),
        ("encodePlantUML", {"plantumlCode": 3}),
        ("find_similar_problems", {"limit": 3}),
    ]
    for tool, arguments in rest:
        server.post(f"/api/tools/{tool}", arguments)
    by_mcp = [("boj_get_series", SERIES), ("find_similar_problems", ISLANDS), ("boj_get_series", {"codes": ["FM08"]})]
    for tool, arguments in by_mcp:
        server.post("/mcp", rpc("tools/call", {"name": tool, "arguments": arguments}), mcp)
    server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", DIAGRAM))
    return len(rest) + len(by_mcp) + 1


def show_tools(page: Page, go: Callable[[str], Page]) -> None:
    go(f"tools/boj_get_series/{quote(json.dumps(SERIES))}")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_role("application")).to_be_visible()
    expect(page.get_by_role("heading", name="Road")).to_be_attached()


def show_diagram(page: Page, go: Callable[[str], Page]) -> None:
    go("diagram")
    if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"):
        page.get_by_label("Dark picture").check()
    page.get_by_label("PlantUML text").fill(SOURCE)
    expect(page.get_by_role("region", name="Picture")).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("img", name="The diagram as a picture")).to_be_visible()


def show_journal(page: Page, go: Callable[[str], Page]) -> None:
    go("journal")
    page.get_by_role("region", name="Records").get_by_role("link", name="find_similar_problems").first.click()
    expect(page.get_by_role("region", name="Record", exact=True).get_by_role("heading", name="Road")).to_be_visible()


def show_health(page: Page, go: Callable[[str], Page]) -> None:
    go("health")
    expect(page.get_by_role("application").first).to_be_visible()


def show_contracts(page: Page, go: Callable[[str], Page]) -> None:
    go("contracts")
    expect(page.get_by_role("article").first).to_be_visible()


def show_clients(page: Page, go: Callable[[str], Page]) -> None:
    go("clients")
    expect(page.get_by_text("mcpServers").first).to_be_visible()


VIEWS = {
    "tools": show_tools,
    "diagram": show_diagram,
    "journal": show_journal,
    "health": show_health,
    "contracts": show_contracts,
    "clients": show_clients,
}


@pytest.mark.parametrize("scheme", PAPERS)
def test_every_view_is_drawn_and_docs_has_its_picture(visit: Open, busy: Server, tmp_path: Path, scheme: str) -> None:
    person = visit(busy, color_scheme=scheme, reduced_motion="reduce", timezone_id="UTC", locale="en-GB")
    names = [f"{view}-{scheme}.png" for view in VIEWS]
    # Each view once, by light or by dark; all of them twice where the pictures are wanted.
    drawn = names if IS_WRITING else names[list(PAPERS).index(scheme) :: len(PAPERS)]
    for name in drawn:
        VIEWS[name.partition("-")[0]](person.page, person.go)
        expect(person.page.get_by_role("alert")).to_have_count(0)
        take(person.page, tmp_path / name)
        if IS_WRITING:
            PICTURES.mkdir(exist_ok=True)
            shutil.copy(tmp_path / name, PICTURES / name)
    person.assert_quiet()

    for path in [*(tmp_path / name for name in drawn), *(PICTURES / name for name in names)]:
        assert_is_a_picture(path, scheme)
    assert sorted(path.name for path in PICTURES.glob(f"*-{scheme}.png")) == sorted(names)


def test_a_call_on_a_phone_ends_at_its_result(visit: Open, busy: Server) -> None:
    """The form is longer than the screen, so the result is below it: the page goes there."""
    person = visit(busy, viewport={"width": 390, "height": 844}, has_touch=True)
    show_tools(person.page, person.go)

    expect(person.page.get_by_role("heading", name="Passed")).to_be_in_viewport()
    expect(person.page.get_by_role("application")).to_be_in_viewport(ratio=1)
    expect(person.page.get_by_role("button", name="all doors")).to_have_count(1)
    person.assert_quiet()


def take(page: Page, path: Path) -> None:
    """Take a picture without the short message at the bottom, in at most 256 colours."""
    page.evaluate("() => { document.getElementById('told').textContent = ''; }")
    page.screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def assert_is_a_picture(path: Path, scheme: str) -> None:
    with Image.open(path) as picture:
        assert picture.size == (WIDTH, HEIGHT), path.name
        colours = picture.convert("RGB").crop((0, BELOW_HEADING, WIDTH, HEIGHT)).getcolors(1 << 16)
    assert colours is not None
    assert len(colours) > MIN_COLOURS, path.name
    _, paper = max(colours)
    assert paper == PAPERS[scheme], path.name
    assert path.stat().st_size < MAX_BYTES, path.name
