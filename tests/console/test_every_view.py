"""The whole console for everybody: each view for axe, narrow and wide, and two journeys from the page to a record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser import HEIGHT, LAYOUT_RULES, WIDTH, Visitor, fits, serious_findings
from processes import Server, serving

PROBLEM = {"source": "leetcode", "id": "9001"}
RATES = {"codes": ["FM08:FXERD01"], "start": "2026-06-01", "end": "2026-09-30"}
BROKEN = "@startuml\nAlice -> Bob: hello\nthis is no arrow\n@enduml"
NARROW = {"width": 390, "height": 844}
LINK = "https://leetcode.com/problems/lantern-pairs/"
MOST_TABS = 150


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of all toolsets on sample data, which records, with an answer and a refusal in its journal."""
    with serving("--sandbox", "--record", str(tmp_path_factory.mktemp("tape"))) as running:
        running.post("/api/tools/get_problem", PROBLEM)
        running.post("/api/tools/get_problem", {"source": "leetcode", "id": "no-such-problem-" + "w" * 60})
        yield running


@pytest.fixture(scope="module")
def looker(browser: Browser, server: Server) -> Iterator[Visitor]:
    """Somebody who looks at one view after the other."""
    with browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce") as context:
        yield Visitor(context.new_page(), server.url)


def call_of(tool: str, arguments: dict[str, object]) -> str:
    """Return the address of a tool with arguments."""
    return f"tools/{tool}/{quote(json.dumps(arguments), safe='')}"


def result_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Result", exact=True)


def called(page: Page) -> None:
    page.get_by_role("button", name="Call", exact=True).click()
    expect(result_of(page).get_by_role("list", name="The road of the call")).to_be_visible()


def see_catalogue(page: Page) -> None:
    expect(page.get_by_role("link", name="get_problem")).to_be_visible()


def see_page_of_a_problem(page: Page) -> None:
    called(page)
    expect(result_of(page).get_by_role("heading", name="Lantern Pairs")).to_be_visible()
    page.get_by_role("button", name="Same call through all doors").click()
    expect(page.get_by_text("✓ All 7 doors agree")).to_be_visible()


def see_chart(page: Page) -> None:
    called(page)
    expect(page.get_by_role("application")).to_be_visible()
    result_of(page).get_by_role("button", name="Table").click()
    expect(page.get_by_role("region", name=re.compile(": table$"))).to_be_visible()


def see_refused_form(page: Page) -> None:
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("to change before this can be sent")


def see_error_of_a_diagram(page: Page) -> None:
    page.get_by_label("PlantUML text").fill(BROKEN)
    expect(page.get_by_role("button", name="Line 3")).to_be_visible()
    page.get_by_text("Open a link").click()


def see_records(page: Page) -> None:
    expect(page.get_by_role("region", name="Records").get_by_role("link").first).to_be_visible()


def see_record(page: Page) -> None:
    page.get_by_label("Code").select_option("NOT_FOUND")
    page.get_by_role("region", name="Records").get_by_role("link").first.click()
    panel = page.get_by_role("region", name="Record", exact=True)
    expect(panel.get_by_role("button", name="Call again")).to_be_visible()
    panel.get_by_text("All fields").click()


def see_figures(page: Page) -> None:
    expect(page.get_by_role("table", name="Calls by tool and door, last hour")).to_be_visible()
    # Two rows of settings are as good as sixty, and sooner looked at.
    page.get_by_label("Filter settings").fill("port")


def see_changes(page: Page) -> None:
    expect(page.get_by_text(re.compile(r"^. \d+ tools, \d+ with a change that breaks, \d+ added\.$"))).to_be_visible()


def see_clients(page: Page) -> None:
    expect(page.get_by_role("heading", name="Claude Desktop")).to_be_visible()


STATES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "Tools": ("tools", see_catalogue),
    "a tool with a page as its result": (call_of("get_problem", PROBLEM), see_page_of_a_problem),
    "a tool with a chart as its result": (call_of("boj_get_series", RATES), see_chart),
    "a tool whose form is not filled in": ("tools/boj_get_data_layer", see_refused_form),
    "Diagram, with an error": ("diagram", see_error_of_a_diagram),
    "Journal": ("journal", see_records),
    "Journal, with an open record": ("journal", see_record),
    "Health": ("health", see_figures),
    "Contracts": ("contracts", see_changes),
    "Clients": ("clients", see_clients),
}


@pytest.mark.parametrize("state", STATES)
def test_a_view_is_for_everybody(looker: Visitor, state: str) -> None:
    """Axe finds nothing serious by light and by dark, and a phone shows it without scrolling sideways."""
    address, see = STATES[state]
    page = looker.page
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.emulate_media(color_scheme="light")
    looker.go(address)
    see(page)

    assert serious_findings(page) == []
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    assert serious_findings(page, LAYOUT_RULES) == []
    assert fits(page)
    looker.assert_quiet()


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until an element has the focus."""
    for _ in range(MOST_TABS):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"the keyboard does not reach {wanted}")


def test_the_keyboard_alone_leads_from_the_page_to_the_record_of_a_call(browser: Browser, server: Server) -> None:
    with browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}) as context:
        visitor = Visitor(context.new_page(), server.url)
        page = visitor.go()
        page.keyboard.press("/")
        page.keyboard.type("resolve")
        # The first tool that is found only mentions the word.
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("link", name="resolve_problem")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("resolve_problem")
        tab_to(page, page.get_by_label("query", exact=True))
        page.keyboard.type(LINK)
        page.keyboard.press("Enter")
        expect(result_of(page)).to_contain_text("9001")

        tab_to(page, page.get_by_role("link", name="Journal", exact=True), "Shift+Tab")
        page.keyboard.press("Enter")
        records = page.get_by_role("region", name="Records").get_by_role("link")
        expect(records.first).to_have_text("resolve_problem")
        tab_to(page, records.first)
        page.keyboard.press("Enter")
        record = page.get_by_role("region", name="Record", exact=True)
        expect(record.get_by_role("heading", name="resolve_problem")).to_be_focused()
        expect(record.get_by_role("heading", name="Recorded answer")).to_be_visible()
        page.keyboard.press("Escape")
        expect(record).to_be_hidden()
        expect(records.first).to_be_focused()
        visitor.assert_quiet()


def test_a_finger_leads_from_the_page_to_the_record_of_a_call_on_a_phone(browser: Browser, server: Server) -> None:
    with browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True, color_scheme="dark") as context:
        visitor = Visitor(context.new_page(), server.url)
        page = visitor.go()
        page.get_by_label("Search", exact=True).tap()
        page.keyboard.type("similar problems")
        page.get_by_role("link", name="find_similar_problems").tap()
        page.get_by_label("query", exact=True).tap()
        page.keyboard.type("pairs that add up to a sum")
        page.get_by_role("button", name="Call", exact=True).tap()
        expect(result_of(page)).to_contain_text("Lantern")
        assert fits(page)

        page.get_by_role("link", name="Journal", exact=True).tap()
        page.get_by_role("link", name="find_similar_problems").first.tap()
        record = page.get_by_role("region", name="Record", exact=True)
        expect(record.get_by_role("heading", name="Recorded answer")).to_be_visible()
        assert fits(page)
        page.get_by_role("button", name="Close").tap()
        expect(record).to_be_hidden()
        visitor.assert_quiet()
