"""The journal as a person sees it: calls that appear, filters, one record, the call again, and ten thousand of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser import Open, Stay
from console.journal_calls import encode, encode_at_every_door, listed, write_tools
from processes import FREQUENT_TOKEN_CHECKS, Server, serving, serving_command

LONG_US = 100_000
MANY = 10_000


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a user's tools that records."""
    tools = write_tools(tmp_path_factory.mktemp("tools"))
    with serving("--toolsets", f"plantuml,{tools}", "--record", str(tmp_path_factory.mktemp("tape"))) as running:
        yield running


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has answered ten thousand calls."""
    command = (sys.executable, str(Path(__file__).parent / "flooded_server.py"), "serve", "--port", "0")
    with serving_command(*command, "--toolsets", "plantuml", "--no-journal", "--log", "error") as running:
        call_often(running, MANY)
        yield running


def call_often(server: Server, count: int) -> None:
    """Make many calls on one connection, several hundred at a time."""
    at_once = 500
    body = b'{"plantumlCode": "A -> B"}'
    head = b"POST /api/tools/encodePlantUML HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    request = head + b"content-length: %d\r\n\r\n" % len(body) + body
    with server.connect() as connection:
        for _ in range(count // at_once):
            connection.sendall(request * at_once)
            read = b""
            while read.count(b"HTTP/1.1 200 OK") < at_once or not read.endswith(b"}"):
                read += connection.recv(1 << 20)


def records(page: Page) -> Locator:
    return page.get_by_role("region", name="Records").get_by_role("link")


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Record", exact=True)


def test_calls_made_elsewhere_appear_and_are_filtered(stay: Stay, server: Server) -> None:
    person = stay(server)
    page = person.go("journal")
    expect(page.get_by_role("heading", name="No calls yet")).to_be_visible()
    expect(page.get_by_text("/api/tools/encodePlantUML")).to_be_visible()

    encode_at_every_door(server)
    expect(records(page)).to_have_count(3)
    encode(server, 3)
    expect(records(page)).to_have_count(4)
    expect(page.get_by_text("4 records", exact=True)).to_be_visible()
    doors = page.get_by_role("region", name="Records").locator("td.door").all_inner_texts()
    assert sorted(doors) == ["Envelope over HTTP", "MCP over HTTP", "REST", "REST"]

    page.get_by_label("Door").select_option("MCP over HTTP")
    expect(records(page)).to_have_count(1)
    page.get_by_label("Door").select_option("All doors")
    page.get_by_label("Code").select_option("INVALID_INPUT")
    expect(records(page)).to_have_count(1)
    page.get_by_label("Text").fill("no such words")
    expect(page.get_by_text("No record matches the filters.")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(records(page)).to_have_count(4)
    person.assert_quiet()


def test_a_record_is_opened_and_closed_with_the_keyboard(stay: Stay, flooded: Server) -> None:
    for _ in range(2):
        flooded.post("/api/tools/typed", {})
    known = listed(flooded, 2, tool="typed")["records"]
    person = stay(flooded)
    page = person.go("journal")
    page.get_by_label("Tool").select_option("typed")
    expect(records(page)).to_have_count(2)
    page.get_by_label("Text").focus()

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(records(page).first).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Enter")

    opened = panel(page)
    expect(opened.get_by_role("heading", name="typed")).to_be_focused()
    road = opened.get_by_role("listitem").all_inner_texts()
    assert " ".join(road[0].split()) == "✕ envelope failed Tool 'typed' not found"
    expect(opened.get_by_text("--record DIR")).to_be_visible()
    assert page.url.endswith("#/journal/" + known[-1]["requestId"])
    page.keyboard.press("Escape")
    expect(opened).to_be_hidden()
    expect(records(page).last).to_be_focused()
    page.goto(f"{person.url}/#/journal/{known[0]['requestId']}")
    expect(panel(page).get_by_role("heading", name="Road")).to_be_visible()
    person.assert_quiet()


def test_a_recorded_call_is_made_again_and_compared(stay: Stay, recording: Server) -> None:
    person = stay(recording)
    page = person.go("journal")
    for tool in ("same", "later", "change"):
        recording.post(f"/api/tools/{tool}", {"text": "hello"})
    expect(records(page)).to_have_count(3)
    opened = panel(page)

    page.get_by_role("link", name="same").click()
    expect(opened.get_by_text("hello").first).to_be_visible()
    again = opened.get_by_role("button", name="Call again")
    again.focus()
    page.keyboard.press("Enter")
    expect(opened.get_by_text("✓ The answer is the same as the recorded one")).to_be_visible()
    expect(records(page)).to_have_count(4)
    expect(again).to_be_focused()
    page.keyboard.press("Escape")
    expect(opened).to_be_hidden()

    page.get_by_role("link", name="later").click()
    opened.get_by_role("button", name="Call again").click()
    expect(opened.get_by_text("✕ The answer differs from the recorded one in 1 place.")).to_be_visible()
    row = opened.get_by_role("region", name="Differences").get_by_role("row").nth(1)
    assert row.inner_text().split() == ["/result/result/0", "1", "2"]

    page.get_by_role("link", name="change").click()
    opened.get_by_role("button", name="Call again").click()
    expect(opened.get_by_text("This tool may change something.")).to_be_visible()
    expect(opened.get_by_role("button", name="Cancel")).to_be_focused()
    opened.get_by_role("button", name="Yes, call it").click()
    expect(opened.get_by_text("✓ The answer is the same")).to_be_visible()
    person.assert_quiet()


def test_what_is_read_stays_where_it_is_while_records_come(stay: Stay, flooded: Server) -> None:
    person = stay(flooded)
    page = person.go("journal")
    expect(page.get_by_text("10,000 records")).to_be_visible()
    box = page.get_by_role("region", name="Records")
    box.evaluate("box => box.scrollTop = 3000")
    read = box.locator("tbody tr[aria-rowindex='90']")
    expect(read).to_be_visible()
    page.evaluate("row => (window.read = row)", read.element_handle())
    place = read.bounding_box()

    call_often(flooded, 500)
    expect(page.get_by_role("button", name="New records above")).to_be_visible()

    expect(box.locator("tbody tr[aria-rowindex='590']")).to_be_visible()
    moved = box.locator("tbody tr[aria-rowindex='590']")
    assert moved.evaluate("row => row === window.read"), "the same row, 500 places further down"
    assert moved.bounding_box() == place
    page.get_by_role("button", name="New records above").click()
    expect(box.locator("tbody tr[aria-rowindex='2']")).to_be_visible()

    page.get_by_role("button", name="Pause").click()
    newest = records(page).first.get_attribute("href")
    encode(flooded)
    expect(page.get_by_role("button", name="Resume (1 new)")).to_be_visible()
    assert records(page).first.get_attribute("href") == newest
    page.get_by_role("button", name="Resume").click()
    expect(records(page).first).not_to_have_attribute("href", newest or "")
    person.assert_quiet()


def test_ten_thousand_records_scroll_without_a_long_task(stay: Stay, browser: Browser, flooded: Server) -> None:
    person = stay(flooded)
    page = person.go("journal")
    expect(page.get_by_text("10,000 records")).to_be_visible()
    box = page.get_by_role("region", name="Records")
    box.hover()

    browser.start_tracing(page=page, categories=["toplevel"])
    for _ in range(15):
        page.mouse.wheel(0, 8000)
    # A wheel that is still at work would take the rows away from where the keys bring them.
    expect(box).to_have_js_property("scrollTop", 15 * 8000)
    records(page).nth(3).focus()
    page.keyboard.press("End")
    expect(box.locator(f"tbody tr[aria-rowindex='{MANY + 1}']")).to_be_visible()
    page.keyboard.press("Home")
    expect(box.locator("tbody tr[aria-rowindex='2']")).to_be_visible()
    trace = json.loads(browser.stop_tracing())

    tasks = tasks_of(trace["traceEvents"])
    assert len(tasks) > 100, "the trace has the page's tasks"
    assert [task for task in tasks if task["tdur"] > LONG_US] == []
    assert box.locator("tbody tr").count() < 60, "only what is seen is in the page"
    person.assert_quiet()


def tasks_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tasks of the page's main thread, each with the processor time it took: others' load is not in it."""
    named = [event for event in events if event["name"] == "thread_name"]
    main = {(event["pid"], event["tid"]) for event in named if event["args"]["name"] == "CrRendererMain"}
    tasks = [event for event in events if event["name"] == "ThreadControllerImpl::RunTask" and "tdur" in event]
    return [task for task in tasks if (task["pid"], task["tid"]) in main]


def test_a_page_follows_on_when_its_stream_has_ended_and_says_so(visit: Open) -> None:
    env = {**FREQUENT_TOKEN_CHECKS, "SHORT_STREAMS": "0.5"}
    with serving("--toolsets", "plantuml", "--no-journal", env=env) as server:
        person = visit(server)
        page = person.go("journal")
        expect(page.get_by_text("No new records: The server has ended the stream. Trying again every")).to_be_visible()
        with page.expect_response("**/-/journal/stream") as found:
            pass
        assert found.value.status == 200
        encode(server)
        expect(records(page)).to_have_count(1)
        encode(server)
        expect(records(page)).to_have_count(2)
        person.assert_quiet()


def hide(page: Page, *, is_hidden: bool) -> None:
    """Put another tab before the page, or take it away."""
    page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def test_a_tab_that_is_not_seen_holds_no_stream_and_comes_back(visit: Open, recording: Server) -> None:
    person = visit(recording)
    page = person.go("journal")
    seen = recording.post("/-/journal", {}).json()["matches"] + 1
    recording.post("/api/tools/same", {"text": "before"})
    expect(records(page)).to_have_count(seen)

    with page.expect_event("requestfailed", lambda request: request.url.endswith("/-/journal/stream")):
        hide(page, is_hidden=True)
    recording.post("/api/tools/same", {"text": "meanwhile"})
    listed(recording, seen + 1)
    with page.expect_request("**/-/journal/stream"):
        hide(page, is_hidden=False)

    expect(records(page)).to_have_count(seen + 1)
    expect(page.get_by_role("region", name="Records").locator("td.took").first).to_have_text(
        re.compile(r"^[\d.]+ m?s$")
    )


def test_a_journal_that_is_cut_off_says_so_and_goes_on(visit: Open, recording: Server) -> None:
    person = visit(recording)
    page = person.page
    page.route("**/-/journal/stream", lambda route: route.abort())
    person.go("journal")
    expect(page.get_by_text("No new records: The server does not answer. Trying again every 2 s.")).to_be_visible()

    page.unroute("**/-/journal/stream")
    expect(page.get_by_text("No new records")).to_be_hidden()
    recording.post("/api/tools/same", {"text": "again"})
    expect(records(page).first).to_be_visible()
