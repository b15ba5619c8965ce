"""The page itself: who gets it, under which rules, and how it is found by name, keyboard and token."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from browser import Open, Visitor
from console.test_contracts_view import own_set
from processes import PATIENCE_S, ROOT, Server, serving

NAVIGATION = ["Tools", "Diagram", "Journal", "Health", "Contracts", "Clients"]
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FILES = sorted(path.name for path in (ROOT / "src/signet/console/files").iterdir() if path.name != "index.html")
HTML_FROM_TEXT = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
"""What would turn a text into elements or code."""
AXE = ROOT / "node_modules/axe-core/axe.min.js"
ALSO = {"heading-order", "landmark-unique"}
"""What axe calls moderate, and is held here all the same."""
TOKEN = "t0ken-of-the-console"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants a token, and has a second one without the right to call."""
    folder = tmp_path_factory.mktemp("locked")
    with serving("--sandbox", "--log-dir", str(folder), env={"SIGNET_TOKEN": TOKEN}) as running:
        yield running


def test_a_browser_gets_the_page_and_a_program_gets_json(server: Server) -> None:
    page = server.ask("GET", "/", headers=HTML)
    listed = server.ask("GET", "/", headers={"Accept": "*/*"})
    bare = server.ask("GET", "/")

    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "Accept"
    assert listed.json()["doors"]["mcp"] == "/mcp"
    assert listed.headers["vary"] == "Accept"
    assert bare.json() == listed.json()


def test_the_page_runs_nothing_but_its_own_files(server: Server) -> None:
    page = server.ask("GET", "/", headers=HTML)
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert re.findall(rb"<script(?![^>]* src=)|<style|\son\w+=|style=", page.body) == []


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_page_is_served_and_kept_by_browsers(server: Server, name: str) -> None:
    file = server.ask("GET", f"/-/files/{name}")
    again = server.ask("GET", f"/-/files/{name}", headers={"If-None-Match": file.headers["etag"]})

    assert (file.status, again.status, again.body) == (200, 304, b"")
    assert file.body == (ROOT / "src/signet/console/files" / name).read_bytes()
    assert file.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in file.headers["content-security-policy"]


PRIVATE = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""The headers of all that the console tells."""


def test_what_the_console_tells_is_for_its_page_alone(server: Server, locked: Server) -> None:
    replies = [
        server.ask("GET", "/-/about"),
        server.post("/-/call", {"tool": "encodePlantUML", "arguments": {"plantumlCode": "A"}}),
        server.post("/-/call", {"unknown": 1}),
        server.ask("GET", "/-/call"),
        server.ask("GET", "/-/nothing"),
        server.post("/-/files/app.js", {}),
        locked.ask("GET", "/-/about"),
    ]

    assert [reply.status for reply in replies] == [200, 200, 400, 405, 404, 405, 401]
    for reply in replies:
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers.items() >= PRIVATE.items()


def test_a_stream_is_for_the_page_alone(server: Server) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("POST", "/-/journal/stream", b"{}", {"content-type": "application/json"})
        response = connection.getresponse()

        assert response.status == 200
        assert {name.lower(): value for name, value in response.getheaders()}.items() >= PRIVATE.items()


@pytest.mark.parametrize(
    "path", ["/-/files/", "/-/files/index.html", "/-/files/../console.py", "/-/files/%2e%2e/console.py", "/-/", "/-/x"]
)
def test_nothing_else_is_served_below_the_console(server: Server, path: str) -> None:
    assert server.ask("GET", path).status == 404


def test_no_file_is_of_another_project_or_names_another_host() -> None:
    for name in FILES:
        text = (ROOT / "src/signet/console/files" / name).read_text()
        assert re.findall(r"https?://(?!www\.w3\.org/|127\.0\.0\.1)[a-z0-9]", text) == [], name
        assert re.findall(HTML_FROM_TEXT, text) == [], name


def test_the_first_view_is_small(server: Server) -> None:
    """Under 150 KB as they are sent: the page, and all files that the first view loads."""
    names = ["style.css", "tools.css", "icon.svg", *[name for name in FILES if name.endswith(".js")]]
    replies = [server.ask("GET", f"/-/files/{name}", headers={"Accept-Encoding": "gzip"}) for name in names]

    assert sum(len(reply.body) for reply in replies) < 150_000


def test_a_page_of_another_site_gets_nothing(server: Server) -> None:
    foreign = {"Origin": "https://evil.example"}

    assert server.ask("GET", "/-/about", headers=foreign).status == 403
    assert server.ask("GET", "/-/about", headers={"Host": "evil.example"}).status == 421
    assert server.ask("GET", "/", headers={**HTML, "Host": "evil.example"}).status == 421
    plain = {"Content-Type": "text/plain"}
    assert server.ask("POST", "/-/clients", b'{"url": "http://x"}', plain).status == 415


def test_a_wrong_method_and_a_wrong_body_are_told(server: Server) -> None:
    assert server.ask("DELETE", "/-/about").status == 405
    assert server.post("/-/clients", {"url": "http://x", "more": 1}).status == 400
    assert server.ask("POST", "/-/clients", b"{", {"Content-Type": "application/json"}).status == 400


def test_the_navigation_reads_as_settled(person: Visitor) -> None:
    page = person.go()

    assert page.locator("header nav a").all_inner_texts() == NAVIGATION
    for name in NAVIGATION:
        page.locator("header").get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_title(f"{name} · Signet")


def test_a_person_finds_the_entry_of_a_client(person: Visitor, server: Server) -> None:
    page = person.go("clients")
    page.get_by_role("navigation", name="Clients").get_by_role("link", name="Codex").click()

    expect(page.get_by_role("heading", name="Codex")).to_be_visible()
    expect(page.get_by_label("the entry for Codex, over HTTP")).to_contain_text(f'url = "{server.url}/mcp"')


def test_a_person_compares_a_file_with_what_is_served(person: Visitor, tmp_path: Path) -> None:
    hostile = {"<img src=x onerror=alert(1)>\u202e": own_set("nothing")["plantuml.encode"]}
    file = tmp_path / "release.json"
    file.write_text(json.dumps({"tools": own_set("an argument was free") | hostile}))
    page = person.go("contracts")

    with page.expect_file_chooser() as chooser:
        page.get_by_label("Clients rely on", exact=True).select_option("file")
    chooser.value.set_files(file)

    card = page.get_by_role("article").filter(has_text="plantuml.encode · input")
    expect(card).to_contain_text("breaking")
    expect(card).to_contain_text("Arguments that were good and are refused")
    removed = page.get_by_role("article").filter(has_text="removed")
    expect(removed).to_contain_text("<img src=x onerror=alert(1)>U+202E")


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "nothing"])
def test_an_address_without_a_view_of_its_own_shows_the_tools(person: Visitor, name: str) -> None:
    page = person.page
    page.goto(f"{person.url}/#/{name}")

    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()


def test_a_link_on_another_page_leads_to_the_console(visit: Open, server: Server) -> None:
    page = visit(server).page
    link = f"<a href='{server.url}/#/tools'>go</a>"
    page.route("http://another.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto("http://another.example/")
    page.get_by_role("link", name="go").click()

    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()


def test_the_content_is_reached_by_the_first_link_and_the_view_stays(visit: Open, server: Server) -> None:
    person = visit(server)
    page = person.go("health")
    assert page.evaluate("document.activeElement.tagName") == "BODY"

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.goto(f"{person.url}/#elsewhere")
    expect(page.get_by_role("heading", level=1, name="Health")).to_be_visible()
    person.go("constructor")
    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()


def test_a_server_that_is_gone_is_told_and_asked_again(person: Visitor) -> None:
    page = person.go("health")
    page.context.set_offline(True)
    page.get_by_role("link", name="Contracts", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")

    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1, name="Contracts")).to_be_visible()
    person.complaints.clear()


@pytest.mark.parametrize(("can_copy", "told"), [(True, "Copied"), (False, "It cannot be copied here")])
def test_a_text_is_copied_where_the_browser_gives_no_clipboard(
    visit: Open, server: Server, told: str, *, can_copy: bool
) -> None:
    """As on a plain http address that is not this machine's."""
    person = visit(server)
    person.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    if not can_copy:
        person.page.add_init_script("document.execCommand = () => false")
    page = person.go("clients")
    page.evaluate("addEventListener('copy', () => (window.taken = String(document.activeElement.value)))")

    button = page.get_by_role("main").get_by_role("button", name="Copy").first
    button.click()

    expect(page.get_by_text(told, exact=True)).to_be_visible()
    expect(button).to_be_focused()
    assert ("signet" in page.evaluate("window.taken ?? ''")) == can_copy
    page.get_by_role("link", name="Health", exact=True).click()
    expect(page.get_by_text(told, exact=True)).to_be_hidden()


def grave(page: Page) -> list[tuple[str, list[str]]]:
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    heavy = [one for one in found if one["impact"] in {"serious", "critical"} or one["id"] in ALSO]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in heavy]


def grave_by_light_and_dark(page: Page) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += grave(page)
    return found


def test_what_a_call_loads_leaves_other_parts_readable(visit: Open, server: Server) -> None:
    visitor = visit(server, reduced_motion="reduce", bypass_csp=True)
    page = visitor.go("tools/boj_get_series/" + quote('{"codes": ["FM08:FXERD01"]}'))
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("button", name="Log axis").click()
    assert grave_by_light_and_dark(page) == []

    page.get_by_role("link", name="Health", exact=True).click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").hover()
    page.get_by_label("Filter settings").fill("port")
    assert grave_by_light_and_dark(page) == []


PAGE_OF_A_JUDGE = """
<h1>Title</h1><h3>Input</h3><p>It is <math><mi>a</mi><mo>=</mo><mn>{}</mn></math> here.</p>
<table><thead><tr><th>codeforces</th><th>{}</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>
<table><tbody><tr><td>second</td></tr></tbody></table>
""".format("1234567890" * 12, "accepted" * 20)


def test_a_page_of_a_result_keeps_words_whole_and_fits(visit: Open, server: Server) -> None:
    visitor = visit(server, viewport={"width": 390, "height": 844})
    page = visitor.go("clients")
    page.evaluate(
        """async html => {
            const link = document.createElement("link");
            const loaded = new Promise(resolve => (link.onload = resolve));
            link.rel = "stylesheet";
            link.href = "/-/files/call.css";
            document.head.append(link);
            await loaded;
            (await import("/-/files/page.js")).showPage(document.querySelector("main"), html);
        }""",
        PAGE_OF_A_JUDGE,
    )

    expect(page.get_by_role("heading", level=3, name="Title")).to_be_visible()
    expect(page.get_by_role("heading", level=4, name="Input")).to_be_visible()
    expect(page.locator(".formula")).to_have_attribute("tabindex", "0")
    lines = "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)"
    assert page.get_by_role("columnheader", name="codeforces").evaluate(lines) < 2
    box = page.get_by_role("region", name="Table 1")
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")
    expect(page.get_by_role("region", name="Table 2")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_with_text_twice_as_large_no_view_is_cut_off_on_a_phone(visit: Open, server: Server) -> None:
    visitor = visit(server, viewport={"width": 390, "height": 844})
    for name in NAVIGATION:
        page = visitor.go(name.lower())
        page.get_by_role("heading", level=1, name=name).wait_for()
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, name


def test_a_person_logs_in_with_a_token_which_is_kept_in_memory_alone(locked: Server, visit: Open) -> None:
    visitor = visit(locked)
    page = visitor.page
    page.goto(f"{locked.url}/")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()

    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()
    kept = page.evaluate(
        "[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href]"
    )
    assert TOKEN not in "".join(kept)
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("path", ["/-/about", "/-/tools", "/-/contracts", "/-/health"])
def test_without_the_token_nothing_is_shown_but_the_empty_page(locked: Server, path: str) -> None:
    assert locked.ask("GET", path).status == 401
    assert locked.ask("GET", path, headers={"Authorization": f"Bearer {TOKEN}"}).status == 200
    assert locked.ask("GET", "/", headers=HTML).status == 200
    assert locked.ask("GET", "/").status == 401


def test_without_a_console_the_page_is_json_as_before(tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--no-journal", "--no-console") as server:
        home = server.ask("GET", "/", headers=HTML)
        assert home.json()["name"] == "signet"
        server.wait_for("Ctrl-C stops it.")
        assert "in a browser" not in server.stderr()
        assert server.ask("GET", "/-/about").status == 404
        assert server.ask("GET", "/-/files/app.js").status == 404
        assert not [path for path in server.ask("GET", "/openapi.json").json()["paths"] if path.startswith("/-/")]


def test_below_a_public_path_the_page_finds_its_files(visit: Open) -> None:
    with serving("--toolsets", "plantuml", "--no-journal", "--public-url", "http://127.0.0.1/tools/signet") as server:
        below = [server.ask("GET", path, headers=HTML).body for path in ("/tools/signet", "/tools/signet/")]
        here = server.ask("GET", "/", headers=HTML).body

    # A proxy that takes the path away asks for `/`, and the browser is below the path all the same.
    for page in (*below, here):
        assert b'src="/tools/signet/-/files/app.js"' in page
