"""The form of a tool, as a person uses it, and its check of a schema, held to the server's validator."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema_rs import Draft202012Validator
from playwright.sync_api import Page, expect

from browser import HEIGHT, WIDTH, Open, Stay, Visitor, fits, serious_findings
from processes import SIGNET, Server, clean_env, serving

from .schema_cases import KEYWORDS, LEAVES

OWN = Path(__file__).parent / "form_tools.py"


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    """A server of a tool whose form has every kind of field."""
    with serving("--toolsets", str(OWN), "--no-journal") as running:
        yield running


@pytest.fixture
def customer(stay: Stay, own: Server) -> Iterator[Visitor]:
    """A visitor of that server; at the end of the test the page must have been quiet."""
    visitor = stay(own)
    yield visitor
    visitor.assert_quiet()


def pages(server: Server) -> list[Any]:
    listed = server.ask("GET", "/-/tools").json()["toolsets"]
    return [server.ask("GET", f"/-/tools/{tool['name']}").json() for toolset in listed for tool in toolset["tools"]]


def near(schema: Any) -> Iterator[Any]:
    """Yield values at and behind the limits that a schema and its branches have."""
    yield from schema.get("enum", [])
    yield from schema.get("examples", [])
    yield from (schema[name] + step for name in ("minimum", "maximum") if name in schema for step in (-1, 0, 1))
    yield from (
        "x" * (schema[name] + step) for name in ("minLength", "maxLength") if schema.get(name) for step in (-1, 0, 1)
    )
    for branch in schema.get("anyOf", []):
        yield from near(branch)
    if isinstance(schema.get("items"), dict):
        for value in [*near(schema["items"]), *LEAVES]:
            yield from ([value], [value] * 2, [value] * (schema.get("maxItems", 3) + 1))


def instances(page: Any) -> Iterator[Any]:
    """Yield arguments of a tool, right and wrong: its examples, and these with one of them changed."""
    schema, base = page["inputSchema"], page["examples"][0]["arguments"]
    yield from (example["arguments"] for example in page["examples"])
    yield from ([], "x", {}, {**base, "unknown": 1})
    for name, part in schema.get("properties", {}).items():
        yield {key: value for key, value in base.items() if key != name}
        yield from ({**base, name: value} for value in [*LEAVES, *near(part)])


def test_the_check_of_the_page_is_that_of_the_server(person: Visitor, own: Server, server: Server) -> None:
    page = person.go()
    cases = [(found["inputSchema"], list(instances(found))) for found in [*pages(server), *pages(own)]] + KEYWORDS

    told = page.evaluate(
        """async (cases) => {
            const { check } = await import("/-/files/schema_check.js");
            const messages = (schema, value) => check(schema, value).map((error) => error.message);
            const verdict = ([schema, values]) => values.map((value) => messages(schema, value));
            return JSON.stringify(JSON.parse(cases).map(verdict));
        }""",
        json.dumps(cases),
    )

    wrong = []
    for (schema, values), found in zip(cases, json.loads(told), strict=True):
        is_valid = Draft202012Validator(schema).is_valid
        wrong += [
            (schema, value, errors)
            for value, errors in zip(values, found, strict=True)
            if is_valid(value) == bool(errors)
        ]
        assert all(message for messages in found for message in messages)
    assert wrong == []
    assert sum(len(values) for _, values in cases) > 1500


def calls(visitor: Visitor) -> list[str]:
    return [url for url in visitor.requests if url.endswith("/-/call")]


def call(page: Page) -> None:
    page.get_by_role("button", name="Call", exact=True).click()


def test_a_person_finds_a_tool_fills_the_form_wrong_and_then_right(person: Visitor) -> None:
    page = person.go()
    page.get_by_label("Search", exact=True).fill("similar PROBLEMS")
    expect(page.get_by_text("1 of 17 tools")).to_be_visible()
    page.get_by_role("link", name="find_similar_problems").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("find_similar_problems")
    limit, query = page.get_by_label("limit", exact=True), page.get_by_label("query", exact=True)
    expect(limit).to_have_value("10")

    query.fill("pairs that add up to a sum")
    limit.fill("51")
    call(page)

    expect(limit).to_have_attribute("aria-invalid", "true")
    described = limit.get_attribute("aria-describedby") or ""
    texts = [page.locator(f"#{name}").inner_text() for name in described.split()]
    assert any("at most 50; 51 is too large" in text for text in texts)
    expect(limit).to_be_focused()
    assert calls(person) == []

    limit.fill("3")
    expect(limit).not_to_have_attribute("aria-invalid", "true")
    with page.expect_request("**/-/call") as sent:
        call(page)
    assert sent.value.post_data_json == {
        "tool": "find_similar_problems", "arguments": {"query": "pairs that add up to a sum", "limit": 3}
    }  # fmt: skip
    expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text("Lantern")


def test_a_form_of_every_kind_sends_what_was_filled_in_and_nothing_else(customer: Visitor) -> None:
    page = customer.go("tools/order")
    expect(page.get_by_text("not marked as read-only")).to_be_visible()
    call(page)
    expect(page.get_by_role("alert")).to_contain_text("to change before this can be sent")
    assert calls(customer) == []
    assert serious_findings(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert fits(page)
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})

    lines = page.get_by_role("group", name="lines required")
    lines.get_by_label("item", exact=True).fill("tea")
    lines.get_by_role("button", name="Add an item").click()
    lines.get_by_label("item", exact=True).nth(1).fill("salt")
    lines.get_by_label("count", exact=True).nth(1).fill("7")
    lines.get_by_role("button", name="Move item 2 up").click()
    page.get_by_label("street", exact=True).fill("Main 1")
    page.get_by_label("code", exact=True).fill("123")
    pet = page.get_by_role("group", name="pet required")
    pet.get_by_label("lives", exact=True).fill("9")
    pet.get_by_label("Form of the value").select_option("Dog")
    pet.get_by_label("trick", exact=True).fill("roll")
    page.get_by_label("weight", exact=True).fill("1.25")
    discount = page.get_by_label("discount", exact=True)
    page.locator(".field", has=discount).get_by_label("null", exact=True).check()
    page.get_by_label("gift", exact=True).check()
    page.get_by_role("radio", name="large").check()
    page.get_by_role("group", name="mark optional").get_by_label("Form of the value").select_option("a text")
    page.get_by_label("mark", exact=True).fill("m")
    page.get_by_label("notes", exact=True).fill("{")
    call(page)

    expect(page.get_by_label("weight", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("code", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("notes", exact=True)).to_have_attribute("aria-invalid", "true")
    assert calls(customer) == []
    page.get_by_label("weight", exact=True).fill("1.5")
    page.get_by_label("code", exact=True).fill("12345")
    page.get_by_label("notes", exact=True).fill('{"a": 1}')
    pet.get_by_label("Form of the value").select_option("Cat")
    expect(pet.get_by_label("lives", exact=True)).to_have_value("9")
    with page.expect_request("**/-/call") as sent:
        call(page)

    assert sent.value.post_data_json["arguments"] == {
        "lines": [{"item": "salt", "count": 7}, {"item": "tea"}],
        "to": {"street": "Main 1", "code": "12345"},
        "pet": {"type": "cat", "lives": 9},
        "weight": 1.5, "discount": None, "gift": True, "size": "large", "mark": "m", "notes": {"a": 1},
    }  # fmt: skip
    expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text("Main 1")


def test_what_was_typed_stays_and_the_address_may_carry_arguments(customer: Visitor) -> None:
    customer.page.reload()  # what an earlier test has typed would stay too
    page = customer.go("tools/order")
    page.get_by_label("street", exact=True).fill("Typed 1")
    page.get_by_role("button", name="Edit as JSON").click()
    expect(page.get_by_label("Arguments as JSON")).to_have_value(json.dumps(
        {"lines": [{}], "to": {"street": "Typed 1"}, "pet": {"type": "cat"}}, indent=2))  # fmt: skip
    page.get_by_role("button", name="Back to the form").click()
    page.get_by_role("link", name="Tools", exact=True).first.click()
    page.get_by_role("link", name="order").click()
    expect(page.get_by_label("street", exact=True)).to_have_value("Typed 1")

    given = {
        "lines": [{"item": "a/b"}],
        "to": {"street": "Given 2"},
        "pet": {"type": "dog", "trick": "sit"},
        "weight": 2,
    }
    customer.go(f"tools/order/{quote(json.dumps(given), safe='')}")
    expect(page.get_by_label("street", exact=True)).to_have_value("Given 2")
    expect(page.get_by_label("item", exact=True)).to_have_value("a/b")
    expect(page.get_by_label("trick", exact=True)).to_have_value("sit")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server, and a token with which one of its tools may be called."""
    file = str(tmp_path_factory.mktemp("tokens") / "tokens.jsonl")
    command = [SIGNET, "token", "new", "reader", "--tokens-file", file, "--scopes", "tools:call:plantuml.decode"]
    token = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_env()).stdout.split()[-1]
    with serving("--toolsets", "plantuml,plantuml-tools", "--tokens-file", file, "--no-journal") as running:
        yield running, token


def test_without_the_scope_the_form_is_for_reading(visit: Open, reader: tuple[Server, str]) -> None:
    server, token = reader
    listed = server.ask("GET", "/-/tools", headers={"Authorization": f"Bearer {token}"}).json()["toolsets"]
    may_call = {tool["name"]: tool["mayCall"] for toolset in listed for tool in toolset["tools"]}
    page = visit(server).page
    page.goto(f"{server.url}/#/tools/encodePlantUML")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_text("you can look at this tool, but not call it")).to_be_visible()
    expect(page.get_by_role("button", name="Call", exact=True)).to_be_disabled()
    expect(page.get_by_label("plantumlCode", exact=True)).to_be_disabled()
    expect(page.get_by_text("The result of a call is shown here")).to_have_count(0)
    mark = page.get_by_text("not yours to call")
    expect(mark).to_have_attribute("title", re.compile("your token does not have the scope"))
    page.get_by_role("tab", name="REST").press("ArrowLeft")
    expect(page.get_by_role("tab", name="Python")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text('os.environ["SIGNET_TOKEN"]')
    assert {name for name, is_mine in may_call.items() if is_mine} == {"decodePlantUML"}
    page.goto(f"{server.url}/#/tools/decodePlantUML")
    expect(page.get_by_role("button", name="Call", exact=True)).to_be_enabled()


def test_what_the_server_finds_wrong_stands_beside_its_field(customer: Visitor) -> None:
    page = customer.go("tools")
    page.evaluate(
        """async () => {
            const { schemaForm } = await import("/-/files/form.js");
            const line = { type: "object", properties: { item: { type: "string" }, count: { type: "integer" } } };
            const schema = { type: "object", properties: { lines: { type: "array", items: line } } };
            const form = schemaForm(schema, { onSend: () => {} });
            document.querySelector("main").append(form.element);
            form.set({ lines: [{ item: "a" }, { item: "b" }] });
            form.showPlaces([
              { path: ["lines", 1, "item"], keyword: "x-own", message: "the server says no" },
              { path: ["lines", 0], keyword: "required", message: '"count" is a required property' },
            ]);
        }"""
    )

    second, first = page.get_by_label("item", exact=True).nth(1), page.get_by_label("count", exact=True).first
    expect(second).to_have_attribute("aria-invalid", "true")
    expect(second).to_have_accessible_description("the server says no")
    expect(first).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("item", exact=True).first).not_to_have_attribute("aria-invalid", "true")


def test_for_large_arguments_the_texts_of_the_example_are_shown_and_why(person: Visitor) -> None:
    page = person.go("tools/encodePlantUML/" + quote(json.dumps({"plantumlCode": "A -> B: é\n" * 500}), safe=""))
    panel = page.get_by_role("tabpanel")
    example = panel.inner_text()
    page.get_by_role("button", name="Write it for the form").click()

    expect(panel.get_by_role("status")).to_contain_text("more than 4096 bytes")
    assert panel.inner_text().endswith(example)
    page.get_by_label("plantumlCode").first.fill("A -> C")
    page.get_by_role("button", name="Write it for the form").click()
    expect(panel).to_contain_text("A -> C")
    expect(panel.get_by_role("status")).to_have_count(0)
