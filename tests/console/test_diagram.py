"""The diagram editor as a person uses it: type, break, mend, open, share, save; nothing leaves the page unasked."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from browser import Open, Visitor, until
from diagram_texts import BROKEN, GOOD
from engines.test_javascript_child import SLOW
from processes import ROOT, Server, serving_command

WORD = "Xyzzyquux"
SEQUENCE = f"@startuml\nAlice -> Bob: {WORD}\nBob --> Alice: fine\n@enduml"
KINDS = ("sequence-unicode", "class", "mindmap-colours", "sprite")
EMOJI = "@startuml\n!theme plain\nA -> B: <:smile:> <&bolt>\n@enduml"
DRAW_ALL = """async (sources) => {
  const { PageEngine } = await import("/-/files/diagram_engine.js");
  const engine = new PageEngine();
  const drawn = [];
  for (const [source, dark] of sources) drawn.push(await engine.draw(source, dark));
  engine.close();
  return drawn;
}"""


def write(page: Page, text: str) -> None:
    page.get_by_label("PlantUML text").fill(text)


def expect_drawn(page: Page, where: str = "Drawn in this page") -> None:
    """Wait for the picture of the text as it is."""
    expect(page.get_by_role("region", name="Picture")).to_have_attribute("aria-busy", "false")
    expect(page.get_by_text(where)).to_be_visible()
    image = page.get_by_role("img", name="The diagram as a picture")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") > 0


def saved(page: Page, name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Download {name}").click()
    return Path(waiting.value.path()).read_bytes()


def test_a_diagram_is_typed_broken_and_mended_and_its_text_stays_in_the_page(author: Visitor) -> None:
    sent: list[str] = []
    author.page.on("request", lambda request: sent.append(f"{request.method} {request.url} {request.post_data or ''}"))
    page = author.go("diagram")
    field = page.get_by_label("PlantUML text")
    write(page, SEQUENCE)
    expect_drawn(page)
    assert WORD.encode() in saved(page, "SVG")

    write(page, SEQUENCE.replace("Bob --> Alice: fine", "this is no arrow"))
    expect(page.get_by_text("Line 3: Syntax Error? (Assumed diagram type: sequence)")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("✕ 3", exact=True)).to_be_visible()
    expect(page.get_by_text("The picture is that of the last text that could be drawn.")).to_be_visible()
    page.get_by_role("button", name="Line 3").click()
    assert field.evaluate("f => f.value.slice(f.selectionStart, f.selectionEnd)") == "this is no arrow"

    page.keyboard.type("Bob --> Alice: mended")
    expect_drawn(page)
    expect(field).not_to_have_attribute("aria-invalid", "true")
    picture = saved(page, "SVG").decode()
    assert "mended" in picture
    assert saved(page, "PNG").startswith(b"\x89PNG\r\n")
    assert WORD.encode() in saved(page, "text")
    assert [line for line in sent if not line.startswith("GET ") or WORD in line] == []
    assert not any("/-/draw" in line for line in sent)


def test_the_picture_is_that_of_the_servers_engine(author: Visitor, server: Server) -> None:
    sources = [(GOOD[name][1], name == "class") for name in KINDS] + [(EMOJI, False)]
    sources.append((next(iter(BROKEN.values()))[1], False))
    drawn = author.page.evaluate(DRAW_ALL, sources)

    for (source, dark), here in zip(sources, drawn, strict=True):
        there = server.post("/-/draw", {"source": source, "dark": dark}).json()
        told = (here.get("svg", ""), here.get("line"), here.get("message", ""))
        assert told == (there["data"], there["line"], there["message"])


def test_a_diagram_that_takes_too_long_is_told_and_the_next_is_drawn(visit: Open, server: Server) -> None:
    visitor = visit(server)
    page = visitor.page
    page.clock.install()
    visitor.go("diagram")
    expect_drawn(page)
    write(page, SLOW)
    expect(page.get_by_text("Drawing…")).to_be_visible()
    page.clock.fast_forward(6_000)
    expect(page.get_by_text("the diagram was not drawn within 5 seconds and was stopped")).to_be_visible()

    write(page, SEQUENCE)
    expect_drawn(page)
    assert WORD.encode() in saved(page, "SVG")


def test_without_its_files_the_server_draws(visit: Open) -> None:
    command = (sys.executable, str(ROOT / "tests/support/engineless_server.py"), "serve", "--port", "0", "--sandbox")
    with serving_command(*command, "--no-journal") as server:
        visitor = visit(server)
        page = visitor.go("diagram")
        expect(page.get_by_label("in this page")).to_be_disabled()
        expect(page.get_by_label("by this server")).to_be_checked()
        write(page, SEQUENCE)
        expect_drawn(page, "Drawn by this server (jar)")
        write(page, SEQUENCE + "\n' behind\n@enduml\n@startuml")
        expect(page.get_by_role("button", name="Line 7")).to_be_visible()
        visitor.assert_quiet()


def test_without_any_engine_the_link_is_shown_with_a_hint(visit: Open) -> None:
    command = (sys.executable, str(ROOT / "tests/support/engineless_server.py"), "serve", "--port", "0", "--sandbox")
    with serving_command(*command, "--no-journal", "--plantuml-jar", "/nowhere.jar") as server:
        visitor = visit(server)
        page = visitor.go("diagram")
        expect(page.get_by_text("signet diagrams install")).to_be_visible()
        expect(page.get_by_label("by this server")).to_be_disabled()
        expect(page.get_by_role("region", name="Link").get_by_role("link")).to_be_visible()
        visitor.assert_quiet()


def test_where_the_engine_does_not_load_the_server_draws(visit: Open, server: Server) -> None:
    page = visit(server).page
    page.route("**/-/engine/plantuml.js", lambda route: route.fulfill(status=404, body=""))
    page.goto(f"{server.url}/#/diagram")
    expect_drawn(page, "Drawn by this server (JavaScript)")
    expect(page.get_by_label("by this server")).to_be_checked()
    expect(page.get_by_label("in this page")).to_be_disabled()


def test_the_person_chooses_who_draws_and_a_dark_picture(author: Visitor) -> None:
    page = author.go("diagram")
    expect_drawn(page)
    page.get_by_label("by this server").check()
    expect_drawn(page, "Drawn by this server (JavaScript)")
    page.get_by_label("in this page").check()
    page.get_by_label("Dark picture").check()
    expect_drawn(page)
    assert b'fill="#1B1B1B"' in saved(page, "SVG")

    write(page, SEQUENCE)
    page.get_by_role("link", name="Journal").click()
    expect(page).to_have_title("Journal · Signet")
    expect(page.get_by_role("heading", level=1)).to_have_text("Journal")
    until(page, lambda: not page.workers, "the engine is stopped")
    page.get_by_role("link", name="Diagram").click()
    expect(page.get_by_label("PlantUML text")).to_have_value(SEQUENCE)


def test_the_keyboard_alone_is_enough(author: Visitor) -> None:
    page = author.go("diagram")
    expect_drawn(page)
    field = page.get_by_label("PlantUML text")
    page.get_by_label("Example").focus()
    page.get_by_label("Example").select_option("Mind map")
    expect(field).to_have_value(GOOD_START)
    field.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    assert field.input_value().startswith("  @startmindmap")
    expect(field).to_be_focused()
    page.keyboard.press("Shift+Tab")
    assert field.input_value().startswith("@startmindmap")
    page.keyboard.press("Control+z")
    assert field.input_value().startswith("  @startmindmap")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()

    picture = page.get_by_role("region", name="Picture")
    zoom = page.get_by_label("Zoom", exact=True).and_(page.get_by_role("status"))
    picture.focus()
    page.keyboard.press("0")
    expect(zoom).to_have_text("100 %")
    page.keyboard.press("+")
    expect(zoom).to_have_text("125 %")
    page.get_by_role("button", name="Zoom out").click()
    expect(zoom).to_have_text("100 %")


GOOD_START = """@startmindmap
* Signet
** Doors
*** MCP
*** REST
*** Envelope
** Tools
*** Judge
*** Statistics
*** Diagrams
left side
** Journal
** Contracts
@endmindmap
"""


def test_a_text_outlives_a_reload_or_is_warned_of(person: Visitor) -> None:
    page = person.go("diagram")
    write(page, "Alice -> Bob: kept")
    expect(page).to_have_url(re.compile(r"#/diagram/[0-9A-Za-z_-]+$"))
    page.reload()
    expect(page.get_by_label("PlantUML text")).to_have_value("Alice -> Bob: kept")

    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    rows = "\n".join(f"A -> B: {hashlib.sha256(str(row).encode()).hexdigest()}" for row in range(150))
    write(page, rows)
    expect(page).to_have_url(re.compile(r"#/diagram$"))
    page.get_by_label("PlantUML text").press("End")
    page.reload()
    page.get_by_role("heading", level=1, name="Diagram").wait_for()
    assert asked == ["beforeunload"]
