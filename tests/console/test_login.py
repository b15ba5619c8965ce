"""The login: a dialog over the view, at the beginning of a visit and where a token ends in the middle of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import Open
from processes import PATIENCE_S, Server, run, serving

NAME = "ada"


class Keys:
    """The tokens of one caller: the newest alone is good."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.newest = self.made()

    def made(self, *flags: str) -> str:
        return run("token", "new", NAME, *flags, "--tokens-file", self.file).stdout.decode().split()[-1]

    def change(self, server: Server) -> None:
        """Make a new token, end the old one, and wait until the server knows."""
        old = {"authorization": f"Bearer {self.newest}"}
        self.newest = self.made("--rotate")
        run("token", "revoke", NAME, "--old", "--tokens-file", self.file)
        wait_until(lambda: server.ask("GET", "/-/about", headers=old).status == 401)


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys") / "tokens")


@pytest.fixture(scope="module")
def locked(keys: Keys) -> Iterator[Server]:
    """A server that wants a token."""
    with serving("--toolsets", "plantuml", "--no-journal", "--tokens-file", keys.file) as running:
        yield running


def log_in(page: Page, token: str) -> None:
    page.get_by_role("dialog").get_by_label("Token").fill(token)
    page.keyboard.press("Enter")


def test_a_token_that_ends_in_the_middle_of_a_visit_is_asked_for_over_the_view(
    visit: Open, locked: Server, keys: Keys
) -> None:
    page = visit(locked).page
    page.goto(f"{locked.url}/#/tools/encodePlantUML")
    log_in(page, keys.newest)
    field = page.get_by_label("plantumlCode").first
    field.fill("A -> B")
    keys.change(locked)

    page.get_by_role("button", name="Call", exact=True).click()
    dialog = page.get_by_role("dialog", name="Log in")
    expect(dialog.get_by_label("Token")).to_be_focused()
    expect(page).to_have_title("Log in · Signet")
    for _ in range(3):
        page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    log_in(page, keys.newest)

    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", name="Passed")).to_be_visible()
    expect(field).to_have_value("A -> B")
    expect(page).to_have_title("encodePlantUML · Tools · Signet")
    expect(page.locator("header")).to_contain_text(NAME)


def test_all_requests_that_wait_go_on_after_one_login(visit: Open, locked: Server, keys: Keys) -> None:
    page = visit(locked).page
    page.goto(f"{locked.url}/#/contracts")
    log_in(page, keys.newest)
    page.get_by_role("heading", level=1, name="Contracts").wait_for()
    keys.change(locked)

    page.get_by_role("link", name="Health", exact=True).click()
    link = page.get_by_role("link", name="Health", exact=True)
    dialog = page.get_by_role("dialog", name="Log in")
    expect(dialog).to_have_count(1)
    log_in(page, "wrong")
    field = dialog.get_by_label("Token")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("^This token is not known.* " + re.escape(HELP)))
    log_in(page, keys.newest)

    expect(dialog).to_have_count(0)
    expect(page.get_by_text(f"Logged in as {NAME}")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="Health")).to_be_visible()
    expect(page.get_by_role("table", name="Settings")).to_be_visible()
    expect(link).to_have_attribute("aria-current", "page")


HELP = (
    "The bearer token that callers of this server send. It stays in this page's memory and is gone when you close or "
    "reload it."
)
