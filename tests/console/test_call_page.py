"""What became of a call, in a browser: values, links and statements, the road and the doors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from browser import HEIGHT, WIDTH, Stay, Visitor, copied, fits

from .call_house import House, opened, show
from .test_doors import DOORS
from .test_markdown import HOSTILE


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("calls")) as running:
        yield running


def test_a_large_value_unfolds_piece_by_piece_and_is_searched(stay: Stay, house: House) -> None:
    visitor = stay(house.server)
    page = visitor.go("clients")
    show(page, "wide", count=60_000)

    tree = page.get_by_role("tree", name="Result")
    items = tree.get_by_role("treeitem")
    tree.get_by_text("items", exact=True).click()
    if not tree.get_by_text("Show 100 more").count():
        tree.get_by_text("items", exact=True).click()
    expect(tree.get_by_text("Show 100 more of 59,900")).to_be_visible()
    assert items.count() < 500

    page.get_by_label("Search").fill("54321")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Copy path").click()
    copied(page, "", ".items[54321].number")
    assert items.count() < 800

    chosen = tree.locator('[aria-selected="true"]')
    chosen.focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Copy value").click()
    assert json.loads(copied(page, "{")) == {"number": 54321}
    visitor.assert_quiet()


def test_a_link_of_a_diagram_is_shown_with_its_length(stay: Stay, house: House) -> None:
    visitor = stay(house.server)
    page = visitor.go("clients")
    show(page, "encodePlantUML", plantumlCode="A -> B")

    link = page.get_by_role("link", name="https://www.plantuml.com/plantuml/svg/")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    length = len(link.get_attribute("href") or "")
    expect(page.get_by_text(f"{length} characters, svg.")).to_be_visible()
    page.get_by_role("button", name="Raw JSON").click()
    expect(page.get_by_role("region", name="Raw JSON")).to_contain_text('"format": "svg"')
    visitor.assert_quiet()


def test_the_road_is_drawn_as_a_list_that_fits_a_phone(stay: Stay, house: House) -> None:
    visitor = stay(house.server)
    page = visitor.go("clients")
    page.set_viewport_size({"width": 390, "height": 844})
    house.boj.order("status", status=503, times=1)

    show(page, "boj_get_metadata", db="CO", lang="en")
    road = page.get_by_role("list", name="The road of the call")
    attempts = page.get_by_role("list", name="Requests to upstreams").get_by_role("listitem")
    assert attempts.count() == 2
    assert "failed" in attempts.nth(0).inner_text()
    assert "503" in attempts.nth(0).inner_text()

    show(page, "boj_get_data_code", db=8, codes=["FXERD01"])
    failed = road.get_by_role("listitem").filter(has_text="input contract")
    assert [term.strip() for term in failed.locator("dd").all_inner_texts()] == ["db", "type", "8"]
    assert fits(page)
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    visitor.assert_quiet()


def open_tool(visitor: Visitor, tool: str, **arguments: str) -> Page:
    """Open the page of a tool with arguments in its form."""
    page = visitor.go(f"tools/{tool}/{quote(json.dumps(arguments), safe='')}")
    expect(page.get_by_role("heading", level=1)).to_have_text(tool)
    return page


def test_the_doors_are_shown_in_a_table_and_a_tool_that_may_change_things_is_asked_about(
    stay: Stay, house: House
) -> None:
    visitor = stay(house.server)
    page = open_tool(visitor, "get_problem", source="leetcode", id="1")
    page.get_by_role("button", name="Same call through all doors").click()

    expect(page.get_by_text("✓ All 7 doors agree")).to_be_visible()
    table = page.get_by_role("region", name="Doors")
    assert table.get_by_role("rowheader").all_inner_texts() == DOORS
    table.get_by_text("On the wire: REST").click()
    expect(page.get_by_role("region", name="On the wire: REST")).to_contain_text('{"success":true')

    open_tool(visitor, "change", name="x")
    page.get_by_role("button", name="Same call through all doors").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("This makes 7 calls")
    page.keyboard.press("Escape")
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    page.get_by_role("button", name="Same call through all doors").click()
    page.get_by_role("button", name="Make 7 calls").click()
    expect(page.get_by_text("✓ All 7 doors agree")).to_be_visible()
    visitor.assert_quiet()


def test_a_hostile_statement_does_nothing_in_a_browser_and_its_formulas_are_drawn(stay: Stay, house: House) -> None:
    visitor = stay(house.server)
    page = visitor.go("clients")
    text = "\n\n".join(["# Hostile", "$\\frac{a}{b}$", *HOSTILE, "$$\n\\sum_{i=1}^{n} i\n$$"])
    show(page, "page", text=text)

    shown = page.locator(".page")
    expect(page.get_by_role("heading", name="Hostile")).to_be_visible()
    expect(shown).to_contain_text("<script>window.ran = 1</script>")
    for mark in ("U+202E", "U+200B", "U+2066", "U+FEFF"):
        expect(shown.get_by_text(mark).first).to_be_visible()
    sizes = shown.locator("math").evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert len(sizes) >= 2
    assert min(sizes) > 5
    assert max(sizes) > 30
    assert shown.locator("script, img, svg, iframe, style, form, link, meta, base").count() == 0
    addresses = shown.get_by_role("link").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert all(address.startswith("https://") for address in addresses)
    for link in shown.get_by_role("link").all()[:3]:
        link.hover()
    assert page.evaluate("window.ran === undefined")
    visitor.assert_quiet()


def test_what_the_server_would_let_through_the_page_would_not(stay: Stay, house: House) -> None:
    """The page takes only known elements over, whatever the server sends."""
    visitor = stay(house.server)
    page = visitor.go("clients")
    html = (
        "<p onclick='window.ran=1' id='x'>text</p><img src=https://evil.example/ onerror=window.ran=1>"
        "<a href='javascript:window.ran=1'>link</a><svg onload=window.ran=1></svg><script>window.ran=1</script>"
        "<math href='javascript:1' onclick='window.ran=1'><mi>x</mi><maction>y</maction></math>"
    )
    page.evaluate(
        """async (html) => (await import("./-/files/page.js")).showPage(document.getElementById("view"), html)""", html
    )
    left = page.locator("#view").evaluate(
        "all => [...all.querySelectorAll('.page *')].map(e => [e.localName, e.getAttributeNames()])"
    )
    assert left == [["p", []], ["a", []], ["span", ["class"]], ["math", []], ["mi", []]]
    assert page.evaluate("window.ran === undefined")
    # The browser says that it ran no handler; it was asked for nothing else.
    assert all("Content Security Policy" in complaint for complaint in visitor.complaints)
    assert [url for url in visitor.requests if not url.startswith(house.server.url)] == []
