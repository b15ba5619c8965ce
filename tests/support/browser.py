"""A person at a real browser, Debian's Chromium: one page, and what it asked for and complained about."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable

from playwright.sync_api import Browser, Error, Page, Playwright

from processes import PATIENCE_S, ROOT, Server

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or "chromium"
"""The browser without windows is the same engine at less than half the processor time; its package is young."""
WIDTH, HEIGHT = 1280, 860
FLAGS = [
    "--no-sandbox", "--renderer-process-limit=1", "--disable-features=SpareRendererForSitePerProcess",
    "--disable-gpu", "--in-process-gpu",
]  # fmt: skip
"""Without processes that are started in advance for pages that nobody opens, and without one that plays a GPU."""
STARTS = 3


def launch(playwright: Playwright) -> Browser:
    """Start the browser; one that crashes while it starts, as Chromium does now and then, is started again."""
    for _ in range(STARTS - 1):
        with contextlib.suppress(Error):
            return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


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
        page.set_default_timeout(PATIENCE_S * 1000)

    def go(self, view: str = "tools") -> Page:
        """Open a view by its address, and wait until it is drawn."""
        address = f"{self.url}/#/{view}"
        if self.page.url != address:
            # The page may be open already: its view is left for another, which has to be waited for.
            self.page.evaluate("document.querySelectorAll('main > *').forEach(one => one.dataset.left = '')")
        self.page.goto(address)
        self.page.locator("main > :not([data-left]) h1").first.wait_for()
        return self.page

    def assert_quiet(self) -> None:
        """Assert that nothing was asked of another server, and that the page complained of nothing."""
        own = (self.url, "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        assert self.complaints == []


AXE = ROOT / "node_modules/axe-core/axe.min.js"
LAYOUT_RULES = ["color-contrast", "target-size", "scrollable-region-focusable", "link-in-text-block"]
"""The rules of axe whose verdict depends on colours and places; all others read the same elements at any width."""


def serious_findings(page: Page, rules: list[str] | None = None) -> list[tuple[str, str]]:
    """Return what axe finds serious or critical in a page, by rule and element; the page keeps its own policy."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8") + "; true")
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}]


def fits(page: Page) -> bool:
    """Return whether the page does not scroll sideways."""
    return bool(page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"))


def until(page: Page, holds: Callable[[], object], what: str) -> None:
    """Wait until something holds that the browser tells of in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        page.wait_for_timeout(10)


def copied(page: Page, begin: str, end: str = "") -> str:
    """Wait until a text that begins and ends so is in the clipboard, where pages put it in their own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not ((text := str(page.evaluate("navigator.clipboard.readText()"))).startswith(begin) and text.endswith(end)):
        assert time.monotonic() < deadline, text
    return text


Open = Callable[..., Visitor]
"""Open a page on a server, with Playwright's options of a context: dark, narrow, touch."""
Stay = Callable[[Server], Visitor]
"""Return the visitor of a server whose page stays open."""
