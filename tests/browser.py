"""A person at a real browser, Debian's Chromium: one page, and what it asked for and complained about."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or "chromium"
WIDTH, HEIGHT = 1280, 860


class Visitor:
    """A person who visits a server."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        page.set_default_timeout(20_000)

    def go(self, view: str = "tools") -> Page:
        """Open a view by its address, and wait until it is drawn."""
        self.page.goto(f"{self.url}/#/{view}")
        self.page.locator("main h1").first.wait_for()
        return self.page

    def assert_quiet(self) -> None:
        """Assert that nothing was asked of another server, and that the page complained of nothing."""
        own = (self.url, "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        assert self.complaints == []


Open = Callable[..., Visitor]
"""Open a page on a server, with Playwright's options of a context: dark, narrow, touch."""
