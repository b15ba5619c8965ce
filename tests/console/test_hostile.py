"""Hostile words of a toolset, a judge, a bank, a caller and a diagram: they do nothing and are read as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from boj_harness import SPOT, BojHarness, boj_sandbox
from browser import HEIGHT, WIDTH, Visitor
from console.journal_calls import listed
from oj_harness import PROBLEM, OjHarness, oj_sandbox
from processes import Server, serving
from upstream_harness import DIRECT

SCRIPT = "<script>window.__pwned=1</script>"
WORDS = (
    f"{SCRIPT} <img src=x onerror='window.__pwned=1'> [a](javascript:window.__pwned=1) javascript:window.__pwned=1 "
    "<svg onload='window.__pwned=1'><script>window.__pwned=1</script></svg> <a href='javascript:window.__pwned=1'>b</a>"
    " <iframe srcdoc='<script>parent.__pwned=1</script>'></iframe> \u202edesrever\u2066\u200b"
)
MARKS = ("U+202E", "U+200B")
HOSTILE_ELEMENTS = "main script, main img[src=x], main iframe, main a[href^=javascript], main svg[onload]"
TOOLS = f'''
from typing import Annotated, Literal

from msgspec import Meta

import signet

WORDS = {WORDS!r}


@signet.tool(title=WORDS, example={{"text": WORDS}}, annotations={{"readOnlyHint": True}})
def say(
    text: Annotated[str, Meta(description=WORDS, title=WORDS)] = WORDS,
    choice: Literal["plain", {WORDS!r}] = {WORDS!r},
) -> dict[str, str]:
    """Say {WORDS}."""
    return {{text: choice}}


@signet.tool
def refuse(text: str) -> str:
    """Refuse a text."""
    raise signet.Fault(signet.Code.NOT_FOUND, text)


toolset = signet.Toolset(name="hostile", title=WORDS, instructions=WORDS, tools=[say, refuse])
'''
DIAGRAM = (
    "@startuml\nA -> B: <script>window.__pwned=1</script>\n"
    'note over A: <img src=x onerror="window.__pwned=1"> [[javascript:window.__pwned=1 click]]\n'
    "B -> A: \u202edesrever\u200b\nA -> B: </text><foreignObject><body onload='window.__pwned=1'/>\n@enduml"
)


@dataclass
class House:
    """A server whose toolset and services lie, and a visitor who goes through its views."""

    server: Server
    boj: BojHarness
    oj: OjHarness
    visitor: Visitor
    dialogs: list[str] = field(default_factory=list)

    def go(self, view: str) -> Page:
        return self.visitor.go(view)


@pytest.fixture(scope="module")
def house(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "own.py").write_text(TOOLS, encoding="utf-8")
    with (
        boj_sandbox() as boj,
        oj_sandbox() as oj,
        browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}) as context,
    ):
        env = {**DIRECT, "BOJ_BASE_URL": boj.url, "OJ_BASE_URL": oj.url}
        flags = ("--toolsets", f"plantuml,plantuml-tools,boj,oj,{folder / 'own.py'}", "--record", str(folder / "tape"))
        with serving(*flags, env=env) as server:
            page = context.new_page()
            house = House(server, boj, oj, Visitor(page, server.url))
            page.on("dialog", lambda dialog: (house.dialogs.append(dialog.message), dialog.dismiss()))
            page.route("**/-/about", call_the_caller_names)
            page.route("**/-/journal", call_the_caller_names)
            yield house


@pytest.fixture(autouse=True)
def _unmoved(house: House) -> Iterator[None]:
    """After each test nothing has run, opened, loaded or complained."""
    yield
    assert house.visitor.page.evaluate("window.__pwned") is None
    assert house.dialogs == []
    house.visitor.assert_quiet()


def call_the_caller_names(route: Route) -> None:
    """Pass an answer on with a hostile name of the caller: only an issuer of tokens could give one."""
    answer = route.fetch()
    body = answer.json()
    if "caller" in body:
        body["caller"]["name"] = WORDS
    for record in body.get("records", ()):
        record["caller"] = WORDS
    if "callers" in body:
        body["callers"] = [WORDS]
    route.fulfill(response=answer, json=body)


def assert_read_as_text(page: Page, place: Locator) -> None:
    """Assert that a place shows the words as they are written, with marks for what is not seen."""
    expect(place).to_contain_text(SCRIPT)
    for mark in MARKS:
        expect(place).to_contain_text(mark)
    assert page.locator(HOSTILE_ELEMENTS).count() == 0
    seen = page.locator("body").inner_text()
    assert not {"\u202e", "\u200b", "\u2066"} & set(seen)


def shown_result(house: House, tool: str, arguments: dict[str, Any]) -> Locator:
    """Call a tool on its page, and return where its result is shown."""
    page = house.go(f"tools/{tool}/{quote(json.dumps(arguments), safe='')}")
    expect(page.get_by_role("heading", level=1)).to_have_text(tool)
    page.get_by_role("button", name="Call", exact=True).click()
    result = page.get_by_role("region", name="Result", exact=True)
    expect(result.get_by_role("heading", name="Passed")).to_be_visible()
    return result


def test_words_of_a_toolset_in_the_catalogue_and_on_the_page_of_its_tool(house: House) -> None:
    page = house.go("tools")
    toolset = page.get_by_role("region").filter(has=page.get_by_role("link", name="say", exact=True))
    assert_read_as_text(page, toolset.get_by_role("heading").first)
    assert_read_as_text(page, toolset.get_by_role("listitem").first)
    assert_read_as_text(page, page.get_by_role("banner"))

    result = shown_result(house, "say", {"text": WORDS})
    assert_read_as_text(page, result)
    result.get_by_role("button", name="Raw JSON").click()
    assert_read_as_text(page, result.get_by_role("region", name="Raw JSON"))
    for part in ("Arguments", "Contract"):
        section = page.locator("section").filter(has=page.get_by_role("heading", name=part, exact=True))
        assert_read_as_text(page, section.last)


def test_a_statement_of_a_judge_and_a_series_of_a_bank(house: House) -> None:
    content = f"<p>A {WORDS.replace('<', '&lt;')} <script>window.__pwned=1</script> $a_i$</p>"
    house.oj.answers({**PROBLEM, "id": "66", "title": WORDS, "content": content})
    statement = shown_result(house, "get_problem", {"source": "leetcode", "id": "66"})
    expect(statement.locator("math")).to_have_count(1)
    assert_read_as_text(house.visitor.page, statement)

    target = "/api/v1/getDataCode?db=FM08&startDate=202610&endDate=202610&code=FXERD01&lang=en"
    page = msgspec.json.decode(house.boj.body(target))
    page["RESULTSET"][0] |= {"NAME_OF_TIME_SERIES": WORDS, "UNIT": WORDS, "CATEGORY": WORDS}
    house.boj.answers(page)
    chart = shown_result(house, "boj_get_data_code", {**SPOT, "lang": "en"})
    expect(chart.get_by_role("application")).to_be_visible()
    assert_read_as_text(house.visitor.page, chart)
    chart.get_by_role("button", name="Table").click()
    assert_read_as_text(house.visitor.page, chart.get_by_role("table"))
    chart.get_by_role("application").press("Home")
    assert_read_as_text(house.visitor.page, chart.locator("figure"))


def test_records_of_the_journal_and_the_figures_of_health(house: House) -> None:
    house.server.post("/api/tools/refuse", {"text": WORDS})
    house.server.post(f"/api/tools/{quote(WORDS[:200], safe='')}", {WORDS: WORDS})
    listed(house.server, 2, code="NOT_FOUND")
    page = house.go("journal")
    page.get_by_label("Code").select_option("NOT_FOUND")
    records = page.get_by_role("region", name="Records")
    expect(records.get_by_role("link")).to_have_count(2)
    assert_read_as_text(page, records)
    assert page.get_by_label("Caller").locator("option", has_text="U+202E").count() == 1

    panel = page.get_by_role("region", name="Record", exact=True)
    for at in range(2):
        records.get_by_role("link").nth(at).click()
        expect(panel.get_by_role("heading", name="Arguments")).to_be_visible()
        assert_read_as_text(page, panel)
    page = house.go("health")
    expect(page.get_by_role("table", name="Errors by code, last hour")).to_contain_text("NOT_FOUND")
    assert page.locator(HOSTILE_ELEMENTS).count() == 0


def test_a_contract_set_and_the_clients(house: House, tmp_path: Path) -> None:
    terms = house.server.ask("GET", "/-/contracts").json()["sets"][0]["tools"]["hostile.say"]
    (tmp_path / "set.json").write_text(json.dumps({"tools": {WORDS: terms}}))
    page = house.go("contracts")
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Clients rely on", exact=True).select_option("file")
    chooser.value.set_files(tmp_path / "set.json")
    assert_read_as_text(page, page.get_by_role("article").filter(has_text="removed"))

    page = house.go("clients")
    expect(page.get_by_role("heading", name="Claude Desktop")).to_be_visible()
    assert page.locator(HOSTILE_ELEMENTS).count() == 0


def test_a_diagram_is_a_picture_and_nothing_more(house: House) -> None:
    page = house.go("diagram")
    page.get_by_label("PlantUML text").fill(DIAGRAM)
    expect(page.get_by_text("characters that are not seen: U+202E, U+200B")).to_be_visible()
    picture = page.get_by_role("region", name="Picture")
    expect(picture).to_have_attribute("aria-busy", "false")
    expect(page.get_by_text("Drawn in this page")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download SVG").click()
    drawn = Path(saved.value.path()).read_text(encoding="utf-8")
    picture.click()

    assert picture.locator("script, a, foreignObject, svg").count() == 0
    assert "<script" not in drawn
    assert "foreignObject>" not in drawn.replace("&lt;foreignObject&gt;", "")
    assert "javascript:" not in drawn.replace("[[javascript:", "")
