"""The links of the diagram editor: made and read in the page, by the same rules as in the server."""

from __future__ import annotations

import base64
import zlib
from hashlib import sha256

from playwright.sync_api import expect

from browser import Visitor
from console.test_diagram import SEQUENCE, write
from diagram_texts import GOOD
from processes import Server

ALPHABET = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_",
)
LONG = "@startuml\n" + "".join(f"' line {n}\n" for n in range(2, 5000)) + "foo bar\n@enduml"


def encoded(text: str) -> str:
    """Return a text in PlantUML's alphabet, with the header of zlib, which PlantUML itself leaves out."""
    return base64.b64encode(zlib.compress(text.encode())).rstrip(b"=").translate(ALPHABET).decode()


def encode_by(server: Server, text: str) -> str:
    return str(server.post("/api/tools/encodePlantUML", {"plantumlCode": text}).json()["result"]["encoded"])


def test_the_link_is_made_in_the_page_and_is_read_by_the_server(author: Visitor, server: Server) -> None:
    page = author.go("diagram")
    write(page, SEQUENCE)
    link = page.get_by_role("region", name="Link").get_by_role("link")
    expect(page.get_by_role("region", name="Link").get_by_text("characters. The text is in the link")).to_be_visible()
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    texts = [source for _, source, _ in GOOD.values()] + ["", "a", "Größe → 🌸", "x y z " * 9000]
    encoded = page.evaluate(
        "async (texts) => { const { encode } = await import('/-/files/diagram_link.js');"
        "return Promise.all(texts.map(encode)); }",
        texts,
    )
    for text, word in zip(texts, encoded, strict=True):
        assert server.post("/api/tools/decodePlantUML", {"encoded": word}).json()["result"]["plantumlCode"] == text
    page.get_by_label("to", exact=True).select_option("png")
    expect(link).to_have_attribute("href", "https://www.plantuml.com/plantuml/png/" + encode_by(server, SEQUENCE))

    write(page, "@startuml\nA -> B\n" + "".join(f"' {sha256(bytes([n])).hexdigest()}\n" for n in range(80)) + "@enduml")
    expect(page.get_by_text("chats, mail programs and some browsers cut links after 2,000")).to_be_visible()


def test_a_link_is_opened_in_the_page(author: Visitor, server: Server) -> None:
    page = author.go("diagram")
    # PlantUML itself fills the last four characters up with zeros.
    word = encode_by(server, SEQUENCE)
    word += "0" * (-len(word) % 4)
    read = page.evaluate(
        "async (links) => { const { decode } = await import('/-/files/diagram_link.js');"
        "return Promise.all(links.map((link) => decode(link).catch((error) => error.message))); }",
        [f"//a.example/svg/{word}.svg", f"~1{word}", f"https://a/?text={word}", "~h" + SEQUENCE.encode().hex(),
         encoded(SEQUENCE), "~x", word[:20], "~hff", encoded("a" * 4_000_000)],
    )  # fmt: skip
    assert read[:5] == [SEQUENCE] * 5
    assert all(
        words in told for words, told in zip(["~x marks", "cut off", "not UTF-8", "longer"], read[5:], strict=True)
    )

    page.get_by_text("Open a link").click()
    page.get_by_label("Link or encoded text").fill("https://a.example/svg/what is it")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("It cannot be opened: it has characters")).to_be_visible()
    page.get_by_label("Link or encoded text").fill(f"https://a.example/plantuml/svg/{word}")
    page.keyboard.press("Enter")
    expect(page.get_by_label("PlantUML text")).to_have_value(SEQUENCE)


def test_five_thousand_lines_are_written_with_few_elements(author: Visitor) -> None:
    page = author.go("diagram")
    field = page.get_by_label("Link or encoded text")
    if not field.is_visible():
        page.get_by_text("Open a link").click()
    field.fill(encoded(LONG))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Line 5000")).to_be_visible()
    page.get_by_role("button", name="Line 5000").click()
    expect(page.get_by_text("✕ 5000", exact=True)).to_be_visible()
    assert page.locator(".editor *").count() < 400
