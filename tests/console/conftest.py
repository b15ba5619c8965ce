"""A real browser, Debian's Chromium, beside a real server on sample data; what the page asks for is written down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser import CHROMIUM, HEIGHT, WIDTH, Open, Stay, Visitor
from processes import PATIENCE_S, Server, serving

expect.set_options(timeout=PATIENCE_S * 1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one file: its event loop must not outlive them."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of all toolsets on sample data, for the tests of one file."""
    folder = tmp_path_factory.mktemp("runs")
    with serving("--sandbox", "--log-dir", str(folder)) as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Return what opens a page on a server, with Playwright's options of a context: dark, narrow, touch."""
    with contextlib.ExitStack() as stack:

        def open_(server: Server, **options: object) -> Visitor:
            options = {"viewport": {"width": WIDTH, "height": HEIGHT}, "color_scheme": "light", **options}
            context = stack.enter_context(contextlib.closing(browser.new_context(**options)))
            return Visitor(context.new_page(), server.url)

        yield open_


@pytest.fixture(scope="module")
def stay(browser: Browser) -> Iterator[Stay]:
    """Return what gives the visitor of a server whose page stays open for all tests of a file: to load one takes long.

    Each time the page is in a small view that no test begins with, and what it asked for before is forgotten.
    """
    options = {"viewport": {"width": WIDTH, "height": HEIGHT}, "permissions": ["clipboard-read", "clipboard-write"]}
    with contextlib.closing(browser.new_context(**options)) as context:
        known: dict[str, Visitor] = {}

        def stay_at(server: Server) -> Visitor:
            if server.url not in known:
                known[server.url] = Visitor(context.new_page(), server.url)
            visitor = known[server.url]
            visitor.go("clients/codex")
            visitor.requests.clear()
            visitor.complaints.clear()
            return visitor

        yield stay_at


@pytest.fixture(scope="module")
def _at_the_editor(stay: Stay, server: Server) -> Visitor:
    """Somebody who opens the diagram editor once: to load its engine takes seconds."""
    return stay(server)


@pytest.fixture
def author(_at_the_editor: Visitor) -> Iterator[Visitor]:
    """A visitor who finds the editor as the test before has left it; the page must have been quiet."""
    _at_the_editor.go("diagram")
    _at_the_editor.requests.clear()
    yield _at_the_editor
    _at_the_editor.assert_quiet()


@pytest.fixture
def person(stay: Stay, server: Server) -> Iterator[Visitor]:
    """The visitor who stays; at the end of the test the page must have been quiet."""
    visitor = stay(server)
    visitor.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    yield visitor
    visitor.assert_quiet()
