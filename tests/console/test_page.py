"""The page itself: who gets it, under which rules, and how it is found by name, keyboard and token."""

from __future__ import annotations

from browser import Visitor
from processes import Server

NAVIGATION = ["Tools", "Diagram", "Journal", "Health", "Contracts", "Clients"]


def test_a_browser_gets_the_page_and_a_program_gets_json(server: Server) -> None:
    page = server.ask("GET", "/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    listed = server.ask("GET", "/", headers={"Accept": "*/*"})

    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "Accept"
    assert listed.json()["doors"]["mcp"] == "/mcp"


def test_the_navigation_reads_as_settled(person: Visitor) -> None:
    page = person.go()

    assert page.locator("nav a").all_inner_texts() == NAVIGATION
    for name in NAVIGATION:
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_function("name => document.title === name + ' · Signet'", arg=name)
