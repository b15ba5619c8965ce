"""Charts in a real browser: values read by mouse and keyboard, zoom, gaps, units, log axis, table, files, size."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from browser import Open, Visitor, fits
from processes import Server
from signet.console.views import series_view

SHOW = """async (view) => {
  // Points by the thousand are made in the page: to send them would take long.
  for (const one of view.series.filter((series) => series.days)) {
    const value = { count: (day) => day, wave: (day) => Math.sin(day * one.seed) * day }[one.kind];
    one.points = Array.from({ length: one.days }, (_, day) => [Date.UTC(1900, 0, 1) + day * 86400000, value(day)]);
  }
  const { showSeries } = await import("/-/files/series.js");
  const place = document.createElement("div");
  document.getElementById("view").replaceChildren(place);
  window.shownChart = showSeries(place, view);
}"""
COLUMN = """(canvas, [part, colour]) => {
  const wanted = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
  const rgb = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
  const x = Math.round(canvas.width * part);
  const { data } = canvas.getContext("2d").getImageData(x - 2, 0, 5, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 100 && rgb.every((value, channel) => Math.abs(data[at + channel] - value) < 40)) found++;
  }
  return found;
}"""
"""The number of pixels in the colour of a series, in the columns at a part of the width."""
HOSTILE = "<img src=x onerror=alert(1)>\u202eevil"
MANY = 60_000
LONG_TASK_US = 100_000
START = datetime(1900, 1, 1, tzinfo=UTC)


def show(visitor: Visitor, *series: dict[str, Any], title: str = "Sample") -> Page:
    page = visitor.go("clients")
    page.evaluate(SHOW, {"kind": "series", "title": title, "note": "", "series": list(series)})
    expect(chart_of(page)).to_be_visible()
    expect(page.locator("figure text").first).to_be_attached()
    return page


def chart_of(page: Page) -> Locator:
    return page.get_by_role("application")


def series_of(values: list[float | None], unit: str = "yen", **more: Any) -> dict[str, Any]:
    """Return a series of days from 1900 on."""
    points = [[(START + timedelta(days=day)).timestamp() * 1000, value] for day, value in enumerate(values)]
    return {"code": "A", "name": "one", "unit": unit, "frequency": "D", "points": points, **more}


def moved(series: dict[str, Any]) -> dict[str, Any]:
    """Return a series 200 days later."""
    return {**series, "points": [[at + timedelta(days=200).total_seconds() * 1000, y] for at, y in series["points"]]}


def wait_for_frame(page: Page) -> None:
    """Wait until what was asked for is drawn, which it is with the next frame."""
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")


def press(page: Page, *keys: str) -> str:
    """Press keys in the chart; return what is said when it is drawn again."""
    for key in keys:
        chart_of(page).press(key)
    wait_for_frame(page)
    return page.locator("figure [aria-live]").inner_text()


def ends_of(page: Page) -> tuple[str, str]:
    """Return the first and the last day in sight, as the keyboard finds them."""
    wait_for_frame(page)
    return press(page, "Home")[:10], press(page, "End")[:10]


def drag(page: Page, start: float, end: float) -> None:
    box = chart_of(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 60, steps=4)
    page.mouse.up()


@pytest.fixture(scope="module")
def dollar(server: Server) -> dict[str, Any]:
    """A year of the dollar's rate, as the Bank's tool gives it."""
    arguments = {"codes": ["FM08:FXERD01"], "start": "2025-10-01", "end": "2026-09-30"}
    result: dict[str, Any] = server.post("/api/tools/boj_get_series", arguments).json()["result"]
    return result


def test_values_are_read_by_mouse_and_by_keyboard(person: Visitor, dollar: dict[str, Any]) -> None:
    columns = dollar["series"][0]
    sent = {day: value for day, value in zip(columns["dates"], columns["values"], strict=True) if value is not None}
    days = list(sent)
    view = msgspec.to_builtins(series_view("boj_get_series", dollar))

    page = show(person, *view["series"], title=view["title"])

    assert re.search(r"FM08 Foreign Exchange Rates: 1 series, \d+ points, 2025-10-01 to 2026-09-30",
                     chart_of(page).get_attribute("aria-label") or "")  # fmt: skip
    said = press(page, "Home")
    assert (said[:10], f" {sent[days[0]]} Yen per U.S. Dollar" in said) == (days[0], True)
    said = press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert said.startswith(days[2])
    assert f" {sent[days[2]]} " in said
    assert press(page, "End").startswith(days[-1])
    chart_of(page).press("Escape")
    expect(page.get_by_text(days[-1], exact=True)).to_be_hidden()
    box = chart_of(page).bounding_box()
    assert box is not None
    chart_of(page).hover(position={"x": box["width"] / 2, "y": 90})
    shown = page.get_by_text(re.compile(r"^2026-0[345]-\d\d$"))
    expect(shown).to_be_visible()
    expect(page.get_by_text(sent[shown.inner_text()], exact=True)).to_be_visible()
    told = page.locator(".chart-box").inner_text()
    assert columns["code"] in told
    assert columns["name"] not in told
    page.set_viewport_size({"width": 390, "height": 844})
    chart_of(page).hover(position={"x": 150, "y": 90})
    plot, box = chart_of(page).bounding_box(), page.locator(".chart-box").bounding_box()
    assert plot is not None
    assert box is not None
    assert box["y"] >= plot["y"] + plot["height"]


def test_zoom_by_drag_wheel_keys_and_buttons_and_back(person: Visitor) -> None:
    page = show(person, series_of([math.sin(day / 50) for day in range(1000)]))
    whole = ("1900-01-01", "1902-09-27")
    assert ends_of(page) == whole

    drag(page, 0.4, 0.6)
    first, last = ends_of(page)
    assert "1900-12" < first < "1901-04"
    assert "1901-06" < last < "1901-10"
    page.get_by_role("button", name="Earlier").click()
    assert ends_of(page)[0] < first
    page.get_by_role("button", name="Reset zoom").click()
    expect(chart_of(page)).to_be_focused()
    assert ends_of(page) == whole
    chart_of(page).press("Home")
    press(page, "+", "+", "+")
    assert ends_of(page) == ("1900-01-01", "1900-05-05")
    assert press(page, "ArrowRight") == press(page, "End")
    assert press(page, "End")[:10] == "1900-05-06"
    press(page, "Escape")
    assert ends_of(page) == whole
    press(page, "Escape")
    chart_of(page).hover(position={"x": 600, "y": 90})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Zoom out").click()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_hidden()


def test_a_gap_is_never_bridged(person: Visitor) -> None:
    values: list[float | None] = [float(day % 7 + 5) for day in range(300)]
    values[120:180] = [None] * 60

    page = show(person, series_of(values))

    canvas = page.locator("figure canvas")
    drawn = [canvas.evaluate(COLUMN, [part, "--series-1"]) for part in (0.2, 0.35, 0.45, 0.5, 0.55, 0.65, 0.8)]
    assert [count > 0 for count in drawn] == [True, True, False, False, False, True, True]
    assert "no value" in press(page, *["Home"], *["PageDown"] * 10)


def test_units_have_axes_and_more_than_two_are_chosen(person: Visitor) -> None:
    series = [series_of([10.0**place, 2.0, 3.0], f"unit {place}", code=f"S{place}") for place in range(3)]

    page = show(person, *series)

    expect(page.get_by_text("The series have 3 units")).to_be_visible()
    expect(page.get_by_role("button", name="S2 one")).to_be_disabled()
    assert "S2" not in press(page, "Home")
    page.get_by_label("Left axis").select_option("unit 2")
    assert "S2 one 100 unit 2" in press(page, "Home")
    assert "S0" not in press(page, "Home")
    toggle = page.get_by_role("button", name="S2 one")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    wait_for_frame(page)
    assert "S2" not in press(page, "End")
    assert "S1" in press(page, "Home")


def test_a_key_that_comes_before_the_frame_speaks_of_what_was_asked_for(person: Visitor) -> None:
    page = show(person, *(series_of([10.0**place, 2.0], f"unit {place}", code=f"S{place}") for place in range(3)))
    press(page, "Home")
    choose_and_press = """(select) => {
        select.value = "2";
        select.dispatchEvent(new Event("change"));
        const plot = document.querySelector("figure [tabindex]");
        plot.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
        return document.querySelector("figure [aria-live]").textContent;
    }"""

    spoken = page.get_by_label("Left axis").evaluate(choose_and_press)

    assert "S2 one 100 unit 2" in spoken
    assert "S0" not in spoken


def test_a_log_axis_has_powers_of_ten_and_tells_what_it_leaves_out(person: Visitor) -> None:
    page = show(person, series_of([0.0, -5.0, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0]))
    button = page.get_by_role("button", name="Log axis")

    button.click()

    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("The log axis leaves out 2 values at or below 0.")).to_be_visible()
    texts = page.locator("figure text").all_text_contents()
    assert {"1", "10", "100", "1,000", "10,000", "100,000"} <= set(texts)
    assert "-5 yen" in press(page, "Home", "ArrowRight")
    button.click()
    expect(page.get_by_text("The log axis leaves out")).to_be_hidden()


def test_the_files_hold_the_values_and_the_picture(person: Visitor, tmp_path: Path) -> None:
    names = ['=cmd|"x"', "+1", "-2", "@a", "plain, with comma\nand line", HOSTILE]
    series = [series_of([-1.5, None, 1e21], "%", name=name, code=f"C{at}") for at, name in enumerate(names)]
    page = show(person, *series, title="Title")

    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    with page.expect_download() as painted:
        page.get_by_role("button", name="PNG").click()

    assert saved.value.suggested_filename == "C0_C1_C2.csv"
    text = Path(saved.value.path()).read_bytes().decode("utf-8")
    assert text.split("\r\n")[0] == "period,C0,C1,C2,C3,C4,C5"
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows == [
        ["period", "C0", "C1", "C2", "C3", "C4", "C5"],
        ["name", '\'=cmd|"x"', "'+1", "'-2", "'@a", names[4], HOSTILE],
        ["unit", *["%"] * 6],
        ["1900-01-01", *["-1.5"] * 6],
        ["1900-01-02", *[""] * 6],
        ["1900-01-03", *["1e+21"] * 6],
    ]
    picture = Image.open(painted.value.path())
    assert picture.format == "PNG"
    assert picture.width == 2400
    assert 1200 < picture.height < 1600
    assert len(picture.convert("RGB").getcolors(1_000_000) or []) > 50


def test_hostile_names_are_texts_and_the_table_has_the_rows_in_sight_alone(person: Visitor) -> None:
    page = show(person, series_of([], HOSTILE, name=HOSTILE, days=MANY, kind="count"), title=HOSTILE)

    page.get_by_role("button", name="Table").click()

    region = page.get_by_role("region", name=re.compile("table$"))
    table = region.get_by_role("table")
    assert table.get_attribute("aria-rowcount") == str(MANY + 1)
    expect(table.get_by_role("columnheader").nth(1)).to_contain_text("<img src=x onerror=alert(1)>U+202Eevil")
    expect(table.get_by_role("row", name="1900-01-02 1", exact=True)).to_be_visible()
    region.evaluate("region => region.scrollTo(0, region.scrollHeight)")
    expect(table.get_by_role("row", name="2064-04-09 59,999")).to_be_visible()
    assert table.get_by_role("row").count() < 60
    assert page.locator("main img").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


def test_other_points_keep_the_zoom_the_choice_and_the_canvas(person: Visitor) -> None:
    page = show(person, series_of([1.0] * 100), series_of([2.0] * 100, code="B"))
    page.get_by_role("button", name="B one").click()
    press(page, "Home", "+", "+")
    before = ends_of(page)
    canvas = page.locator("figure canvas").element_handle()

    page.evaluate("series => shownChart.update(series)", [series_of([7.0] * 120), series_of([8.0] * 120, code="B")])

    assert ends_of(page) == before
    assert "A one 7 yen" in press(page, "Home")
    assert "B one" not in press(page, "Home")
    # An hour that moves on: what was in sight is gone, the next is seen.
    page.evaluate("series => shownChart.update(series)", [moved(series_of([9.0] * 120)), series_of([], code="B")])
    wait_for_frame(page)
    assert press(page, "Home").startswith("1900-07-20: A one 9 yen")
    assert press(page, "ArrowRight").startswith("1900-07-21")
    assert canvas is not None
    assert canvas.evaluate("canvas => canvas.isConnected")


def test_sixty_thousand_points_make_no_long_task(browser: Browser, person: Visitor, tmp_path: Path) -> None:
    waves = [series_of([], code=f"S{seed}", days=MANY, kind="wave", seed=seed) for seed in (1, 2, 3)]
    page = show(person, *waves)
    trace = tmp_path / "trace.json"
    categories = ["toplevel"]

    browser.start_tracing(page=page, path=trace, categories=categories)
    box = chart_of(page).bounding_box()
    assert box is not None
    for part in range(10, 90, 4):
        page.mouse.move(box["x"] + box["width"] * part / 100, box["y"] + 60)
    page.keyboard.down("Control")
    for _ in range(8):
        page.mouse.wheel(0, -300)
    for _ in range(8):
        page.mouse.wheel(0, 300)
    page.keyboard.up("Control")
    drag(page, 0.3, 0.4)
    press(page, "End", "ArrowRight", "ArrowRight", "-", "-", "-", "PageUp", "Escape", "Home", *["+"] * 12, "Escape")
    page.get_by_role("button", name="Log axis").click()
    page.get_by_role("button", name="S2 one").click()
    page.get_by_role("button", name="Table").click()
    region = page.get_by_role("region", name="Sample: table")
    for top in range(0, 1_500_000, 100_000):
        region.evaluate("(region, top) => region.scrollTo(0, top)", top)
    expect(region.get_by_role("row").nth(30)).to_be_attached()
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    # The trace must be able to show a long task: this one is made to be seen.
    page.evaluate("() => { let sum = 0; for (let at = 0; at < 4e8; at++) sum += at % 7; return sum; }")
    # Its answer is sent from within the task, and a task that has not ended is not in the trace.
    page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 0))")
    browser.stop_tracing()

    *tasks, made = sorted(long_tasks(trace))
    # A thread beside another on one core, or with cold caches, takes more time for the same work: the task that was
    # made, of 400 ms on a processor of its own, tells how much more.
    assert [task for task in tasks if task > made / 4] == []


def long_tasks(trace: Path) -> list[float]:
    """Return the tasks of the page that took the processor for more than 100 ms."""
    events = json.loads(trace.read_bytes())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    return [
        event["tdur"]
        for event in events
        if event.get("name") == "ThreadControllerImpl::RunTask"
        and (event["pid"], event["tid"]) in threads
        and event.get("tdur", 0) > LONG_TASK_US
    ]


def test_it_fits_a_phone_and_a_finger_reads_a_value(visit: Open, server: Server) -> None:
    visitor = visit(server, viewport={"width": 390, "height": 844}, has_touch=True)
    page = show(
        visitor, series_of([1.0, 2.0, None, 4.0]), series_of([5.0, 6.0, 7.0, 8.0], "percent", name="long " * 30)
    )
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("table")).to_be_visible()

    assert fits(page)
    chart_of(page).tap(position={"x": 200, "y": 60})
    expect(page.get_by_text(re.compile(r"^1900-01-0\d$")).first).to_be_visible()
    visitor.assert_quiet()
