"""The view Health, as a person sees it: the numbers of the calls that were made, which change while one looks."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from browser import Open, Visitor
from processes import PATIENCE_S, Server

CODE = {"plantumlCode": "@startuml\nA -> B\n@enduml"}
A_TURN_MS = 3100
"""A little more than the time after which the page asks again, by the page's clock."""
TOOLS_TABLE = "Calls by tool and door, last hour"


@pytest.fixture
def watcher(visit: Open, server: Server) -> Iterator[Visitor]:
    """A visitor whose page has a clock of its own."""
    visitor = visit(server)
    visitor.page.clock.install()
    yield visitor
    visitor.assert_quiet()


def figure(page: Page, name: str) -> Locator:
    """Return the value of a large figure."""
    return page.locator("dl > div").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def cells(page: Page, table: str, row: str) -> list[str]:
    return (
        page.get_by_role("table", name=table)
        .get_by_role("row")
        .filter(has_text=row)
        .get_by_role("cell")
        .all_inner_texts()
    )


def count(server: Server) -> int:
    """Return the calls that the server has counted."""
    return int(server.ask("GET", "/-/health").json()["total"]["calls"])


def counted(server: Server, calls: int) -> None:
    """Wait until the server has counted so many calls."""
    deadline = time.monotonic() + PATIENCE_S
    while count(server) < calls:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def hide(page: Page, *, is_hidden: bool) -> None:
    """Put another tab before the page, or take it away."""
    page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def test_a_person_sees_calls_appear_as_figures_and_can_stop_them(watcher: Visitor, server: Server) -> None:
    page = watcher.go("health")
    expect(figure(page, "Calls")).to_have_text("0")
    expect(page.get_by_text("No call was made in the last hour.")).to_be_visible()
    expect(page.get_by_role("link", name="Call a tool")).to_be_visible()

    for _ in range(3):
        server.post("/api/tools/encodePlantUML", CODE)
    server.post("/api/tools/encodePlantUML", {"plantumlCode": ""})
    counted(server, 4)
    page.clock.run_for(A_TURN_MS)

    expect(figure(page, "Calls")).to_have_text("4")
    expect(figure(page, "Errors")).to_have_text("1")
    expect(figure(page, "Error rate")).to_have_text("25 %")
    expect(figure(page, "p99")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    expect(page.get_by_text("No call was made in the last hour.")).to_be_hidden()
    expect(page.get_by_text("Calls per minute", exact=True)).to_be_visible()
    assert cells(page, TOOLS_TABLE, "encodePlantUML")[:5] == ["encodePlantUML", "REST", "4", "1", "25 %"]
    assert cells(page, "Errors by code, last hour", "INVALID_INPUT") == ["INVALID_INPUT", "EMPTY_CODE", "1", "no"]


def test_figures_change_in_place_and_can_be_stopped(watcher: Visitor, server: Server) -> None:
    calls = count(server) + 1
    server.post("/api/tools/encodePlantUML", CODE)
    counted(server, calls)
    page = watcher.go("health")
    expect(figure(page, "Calls")).to_have_text(str(calls))
    link = page.get_by_role("table", name=TOOLS_TABLE).get_by_role("link", name="encodePlantUML")
    link.focus()
    before = page.evaluate("scrollY")

    for _ in range(2):
        server.post("/api/tools/decodePlantUML", {"plantuml": "SyfFKj2rKt3CoKnELR1Io4ZDoSa70000"})
    counted(server, calls + 2)
    page.clock.run_for(A_TURN_MS)

    expect(figure(page, "Calls")).to_have_text(str(calls + 2))
    expect(link).to_be_focused()
    assert page.evaluate("scrollY") == before

    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    asked = len(watcher.requests)
    page.clock.run_for(3 * A_TURN_MS)
    assert len(watcher.requests) == asked
    server.post("/api/tools/encodePlantUML", CODE)
    counted(server, calls + 3)
    page.keyboard.press("Enter")
    expect(figure(page, "Calls")).to_have_text(str(calls + 3))

    hide(page, is_hidden=True)
    asked = len(watcher.requests)
    page.clock.run_for(3 * A_TURN_MS)
    assert len(watcher.requests) == asked
    server.post("/api/tools/encodePlantUML", CODE)
    counted(server, calls + 4)
    hide(page, is_hidden=False)
    expect(figure(page, "Calls")).to_have_text(str(calls + 4))

    page.get_by_role("link", name="Contracts", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contracts")
    asked = sum(url.endswith("/-/health") for url in watcher.requests)
    page.clock.run_for(3 * A_TURN_MS)
    assert sum(url.endswith("/-/health") for url in watcher.requests) == asked


def test_a_person_finds_a_setting_and_where_it_comes_from(person: Visitor) -> None:
    page = person.go("health")

    page.get_by_label("Filter settings").fill("log_dir")

    expect(page.get_by_role("status").filter(has_text="settings")).to_have_text(re.compile(r"^1 of \d+ settings$"))
    rows = page.get_by_role("table", name="Settings").get_by_role("row")
    expect(rows).to_have_count(2)
    assert rows.nth(1).get_by_role("cell").all_inner_texts()[0] == "log_dir"
    expect(rows.nth(1)).to_contain_text("--log-dir")
    page.get_by_label("Filter settings").fill("oj_token")
    expect(rows.nth(1)).to_contain_text("set, not shown")
