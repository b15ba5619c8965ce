"""A real browser, Debian's Chromium, beside a real server on sample data; what the page asks for is written down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser import HEIGHT, WIDTH, Open, Stay, Visitor, launch
from processes import PATIENCE_S, Server, serving

expect.set_options(timeout=PATIENCE_S * 1000)


PATIENT_EDITOR = """(() => {
  const wait = window.setTimeout;
  window.setTimeout = (act, ms, ...more) => wait(act, ms === 5000 ? 60000 : ms, ...more);
})()"""
"""The page gives a diagram five seconds by the clock, which a busy machine may need for any; a test of that limit has
a clock of its own."""


class OneBrowser:
    """A browser for all files of a process: to start one, and Playwright before it, takes as long as some files."""

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        self._browser: Browser | None = None

    @contextlib.contextmanager
    def at_work(self) -> Iterator[Browser]:
        """Yield the browser; only then does this thread seem to run Playwright's event loop, which goes on by itself.

        Other files have event loops of their own.
        """
        asyncio._set_running_loop(self._loop)
        try:
            if self._browser is None or not self._browser.is_connected():
                self._browser = launch(self._playwright)
            yield self._browser
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End the browser and Playwright."""
        with self.at_work() as browser:
            browser.close()
            self._playwright.stop()


@pytest.fixture(scope="session")
def _one_browser() -> Iterator[OneBrowser]:
    one = OneBrowser()
    asyncio._set_running_loop(None)
    yield one
    one.close()


@pytest.fixture(scope="module")
def browser(_one_browser: OneBrowser) -> Iterator[Browser]:
    """The browser, for the tests of one file; pages are in contexts of their own, which they close."""
    with _one_browser.at_work() as browser:
        yield browser
        for context in browser.contexts:
            context.close()


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
        context.add_init_script(PATIENT_EDITOR)
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
