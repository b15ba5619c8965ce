"""What a person gives and what a tool answers arrives as it is: large numbers, names that look alike, empty values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from browser import Open, Stay, Visitor, copied
from processes import Server, serving

OWN = Path(__file__).parent / "exact_tools.py"
LARGE = 9007199254740993
"""The first whole number that a double cannot hold."""


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    with serving("--toolsets", str(OWN), "--no-journal") as running:
        yield running


@pytest.fixture
def customer(stay: Stay, own: Server) -> Iterator[Visitor]:
    visitor = stay(own)
    yield visitor
    visitor.assert_quiet()


def sent_by_call(page: Page) -> Any:
    """Press the button, and return the arguments that are sent."""
    with page.expect_request("**/-/call") as sent:
        page.get_by_role("button", name="Call", exact=True).click()
    return json.loads(sent.value.post_data or "")["arguments"]


def as_json(page: Page, arguments: str) -> None:
    page.get_by_role("button", name="Edit as JSON").click()
    page.get_by_label("Arguments as JSON").fill(arguments)


TEXTS = [
    str(LARGE), "-" + str(LARGE), "12345678901234567890.5", "0.10000000000000000555", "1e400", "0.1", "1.5E+3",
    "0.30000000000000004", "5e-324", '"9007199254740993"', "null",
    '{"a":[9007199254740993,{"b":18446744073709551615}]}',
    r'{"\\":9007199254740993,"__proto__":-9007199254740993,"a\",":",9007199254740993,\\\\"}',
]  # fmt: skip


def test_json_is_read_and_written_without_a_loss(customer: Visitor) -> None:
    written = customer.go().evaluate(
        """async (texts) => {
            const { readJson } = await import("/-/files/exact_json.js");
            return texts.map((text) => JSON.stringify(readJson(text)));
        }""",
        TEXTS,
    )

    plain = {"1.5E+3": "1500"}
    assert written == [plain.get(text, text) for text in TEXTS]


CHECKS = [
    ('{"minimum": 9007199254740993}', "9007199254740992", False),
    ('{"minimum": 9007199254740993}', "9007199254740993", True),
    ('{"exclusiveMaximum": 9007199254740993}', "9007199254740993", False),
    ('{"maximum": 9007199254740992}', "9007199254740993", False),
    ('{"type": "integer", "multipleOf": 3}', "9007199254740993", True),
    ('{"type": "integer", "multipleOf": 3}', "9007199254740994", False),
    ('{"type": "integer"}', "12345678901234567890.5", False),
    ('{"type": "integer"}', "12345678901234567890.0", True),
    ('{"type": "object"}', "9007199254740993", False),
    ('{"enum": [9007199254740993]}', "9007199254740992", False),
    ('{"const": 9007199254740993}', "9007199254740993.0", True),
    ('{"uniqueItems": true}', "[9007199254740993, 9007199254740992]", True),
    ('{"uniqueItems": true}', "[9007199254740993, 9007199254740993]", False),
    ('{"maximum": 5}', "1e999999999", False),
]


def test_the_check_compares_numbers_as_they_are_written(customer: Visitor) -> None:
    told = customer.go().evaluate(
        """async (cases) => {
            const { readJson } = await import("/-/files/exact_json.js");
            const { check } = await import("/-/files/schema_check.js");
            return cases.map(([schema, value]) => check(readJson(schema), readJson(value)).length === 0);
        }""",
        CHECKS,
    )

    wrong = [case for case, is_valid in zip(CHECKS, told, strict=True) if is_valid != case[2]]
    assert wrong == []


def test_a_large_number_reaches_the_tool_and_comes_back_by_every_way(customer: Visitor) -> None:
    page = customer.go("tools/echo")
    expect(page.get_by_label("least", exact=True)).to_have_value(str(LARGE + 2))
    page.get_by_role("button", name="Use this").click()
    expect(page.get_by_label("number", exact=True)).to_have_value(str(LARGE))
    page.get_by_label("least", exact=True).fill(str(LARGE - 1))
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text(f"{LARGE - 1} is too small")).to_be_visible()
    page.get_by_label("least", exact=True).fill(str(LARGE))
    page.get_by_label("more", exact=True).fill(f"[{LARGE}]")

    assert sent_by_call(page) == {"number": LARGE, "least": LARGE, "more": [LARGE]}
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem", name=f"number: {LARGE}")).to_be_visible()
    page.get_by_role("button", name="Raw JSON").click()
    expect(page.get_by_role("region", name="Raw JSON")).to_contain_text(f'"number": {LARGE}')
    expect(page.get_by_role("tabpanel")).to_contain_text(f'"least": {LARGE}')
    page.get_by_role("button", name="Copy a link to these arguments").click()
    link = copied(page, "http")
    assert quote(f'"number":{LARGE}', safe="") in link

    customer.go(f"tools/echo/{quote(json.dumps({'number': -LARGE}), safe='')}")
    expect(page.get_by_label("number", exact=True)).to_have_value(str(-LARGE))
    as_json(page, f'{{"number": {LARGE}, "more": 1e400}}')
    page.get_by_role("button", name="Back to the form").click()
    expect(page.get_by_label("more", exact=True)).to_have_value("1e400")
    page.get_by_role("button", name="Edit as JSON").click()
    expect(page.get_by_label("Arguments as JSON")).to_have_value(f'{{\n  "number": {LARGE},\n  "more": 1e400\n}}')


def test_names_that_look_alike_have_fields_of_their_own(customer: Visitor) -> None:
    page = customer.go("tools/alike")
    page.get_by_role("radiogroup", name="単位").get_by_label("b").check()
    page.get_by_role("radiogroup", name="期間").get_by_label("d").check()

    assert sent_by_call(page) == {"単位": "b", "期間": "d"}
    ids = page.locator("main [id]").evaluate_all("all => all.map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_values_that_differ_in_case_are_two_and_empty_ones_are_sent(customer: Visitor) -> None:
    page = customer.go("tools/case")
    page.get_by_role("radio", name="m", exact=True).check()
    expect(page.get_by_role("radio", name="M", exact=True)).not_to_be_checked()
    code = page.get_by_label("code", exact=True)
    code.fill("a-0001")
    page.get_by_role("button", name="Call", exact=True).click()
    text = page.get_by_label("text", exact=True)
    expect(text).to_have_accessible_description("This is required. Fill it in.")
    expect(code).not_to_have_accessible_description("matches")
    page.locator(".field", has=text).get_by_label("send it empty").check()
    assert sent_by_call(page) == {"kind": "m", "text": "", "code": "a-0001"}

    as_json(page, '{"kind": "M", "text": "", "code": "a-0001", "tags": []}')
    page.get_by_role("button", name="Back to the form").click()
    assert sent_by_call(page) == {"kind": "M", "text": "", "code": "a-0001", "tags": []}
    page.get_by_role("group", name="tags").get_by_label("send it empty").uncheck()
    text.fill("given")
    expect(page.locator(".field", has=text).get_by_label("send it empty")).to_be_hidden()
    assert sent_by_call(page) == {"kind": "M", "text": "given", "code": "a-0001"}


FORM = """async ([schema, given]) => {
    const { schemaForm } = await import("/-/files/form.js");
    const form = schemaForm(schema, { onSend: () => {} });
    document.querySelector("main").append(form.element);
    form.set(given);
    return form.value();
}"""


def test_a_fixed_field_keeps_another_value_until_a_person_mends_it(customer: Visitor) -> None:
    page = customer.go()
    schema = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "a"}, "any": {}}}

    assert page.evaluate(FORM, [schema, {"kind": "b", "any": None}]) == {"kind": "b", "any": None}
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Write a: nothing else is allowed.")).to_be_visible()
    page.get_by_role("button", name="Use a", exact=True).click()
    expect(page.get_by_text("Write a: nothing else is allowed.")).to_be_hidden()


def test_case_is_folded_where_a_contract_lists_every_case(person: Visitor) -> None:
    page = person.go("tools/boj_get_data_layer")
    options = page.get_by_label("frequency", exact=True).get_by_role("option").all_inner_texts()

    assert [option.split(" ")[0] for option in options] == ["choose", "CY", "FY", "CH", "FH", "Q", "M", "W", "D"]


def test_the_focus_goes_from_the_button_to_the_result_and_stays_in_a_field(visit: Open, own: Server) -> None:
    customer = visit(own)
    page = customer.go("tools/echo")
    page.set_viewport_size({"width": 390, "height": 844})
    number, send = page.get_by_label("number", exact=True), page.get_by_role("button", name="Call", exact=True)
    number.fill("5")
    number.press("Enter")
    heading = page.get_by_role("heading", name="Passed")
    expect(heading).to_be_in_viewport()
    expect(number).to_be_focused()
    page.route("**/-/call", lambda route: (expect(send).to_be_focused(), route.continue_()))
    send.focus()
    send.press("Enter")
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    expect(page.get_by_role("button", name="doors")).to_have_count(1)
    customer.assert_quiet()


def test_a_proposed_call_is_a_link_to_its_form(customer: Visitor) -> None:
    page = customer.go("tools/propose")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("button", name="Tree").click()
    tree = page.get_by_role("tree")

    expect(tree.get_by_text("Thing 14")).to_be_visible()
    link = tree.get_by_role("link", name="with these arguments")
    expect(link).to_have_text("Open echo with these arguments")
    link.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("echo")
    expect(page.get_by_label("number", exact=True)).to_have_value(str(LARGE))


def test_enter_in_an_empty_search_opens_nothing(customer: Visitor) -> None:
    page = customer.go("tools")
    search = page.get_by_label("Search", exact=True)
    search.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tools")
    search.fill("propose")
    search.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("propose")
    expect(page.get_by_text("read-only", exact=True)).to_have_attribute("title", "A call changes nothing.")


def test_how_to_call_has_arguments_that_keep_the_contract_where_there_is_no_example(own: Server) -> None:
    shown = own.ask("GET", "/-/tools/case").json()

    assert shown["examples"] == []
    text = shown["ways"][0]["text"]
    arguments = json.loads(text.partition("-d '")[2].rpartition("'")[0])
    assert own.post("/api/tools/case", arguments).status == 200
