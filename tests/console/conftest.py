"""A real browser, Debian's Chromium, beside a real server on sample data; what the page asks for is written down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser import CHROMIUM, HEIGHT, WIDTH, Open, Visitor
from processes import Server, serving


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


@pytest.fixture
def person(visit: Open, server: Server) -> Iterator[Visitor]:
    """A visitor of the server; at the end of the test the page must have been quiet."""
    visitor = visit(server)
    yield visitor
    visitor.assert_quiet()
