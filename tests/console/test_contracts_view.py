"""The view Contracts: two sets compared, with the example that breaks."""

from __future__ import annotations

import copy
import json

from playwright.sync_api import expect

from browser import Visitor
from processes import ROOT, Server
from signet.console.contract_diff import schema_changes

TAGGED = max((ROOT / "contracts").iterdir(), key=lambda path: [int(part) for part in path.name.split(".")])
ENCODE = json.loads((ROOT / "src/signet/schemas/tools/plantuml.encode.json").read_text())


def own_set(change: str) -> dict[str, object]:
    """Return a set with one tool, as a release may have had it."""
    terms = {"input": copy.deepcopy(ENCODE["input"]), "output": copy.deepcopy(ENCODE["output"])}
    if change == "an argument was free":
        terms["input"]["properties"] = {}
        terms["input"]["required"] = []
    return {"plantuml.encode": terms}


def test_the_sets_are_what_is_served_and_the_last_release(server: Server) -> None:
    sets = server.ask("GET", "/-/contracts").json()["sets"]

    served, released = sets
    assert served["name"] == "served"
    assert served["tools"]["plantuml.encode"]["input"] == ENCODE["input"]
    assert released["name"] == TAGGED.name
    assert set(released["tools"]) == {path.stem for path in (TAGGED / "tools").glob("*.json")}


def test_a_change_that_breaks_is_told_with_an_example(server: Server) -> None:
    asked = {"old": own_set("an argument was free"), "new": own_set("nothing")}

    diff = server.post("/-/contracts/diff", asked).json()

    assert diff["breaks"] is True
    broken = [finding for finding in diff["findings"] if finding["breaks"]]
    assert [(finding["tool"], finding["side"]) for finding in broken] == [("plantuml.encode", "input")]
    assert broken[0]["hasExample"] is True
    assert ["properties"] in [change["path"][:1] for change in broken[0]["changes"]]


def test_what_is_not_served_is_not_called_removed(server: Server) -> None:
    diff = server.post("/-/contracts/diff", {"old": TAGGED.name}).json()

    assert [finding for finding in diff["findings"] if finding["verdict"] == "removed"] == []


def test_a_set_that_is_not_there_is_told(server: Server) -> None:
    reply = server.post("/-/contracts/diff", {"old": "9.9.9"})

    assert reply.status == 404
    assert reply.json()["error"]["message"] == f"There is no contract set '9.9.9': write one of served, {TAGGED.name}"


def test_changes_are_named_by_their_place() -> None:
    before = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}, "b": True}}
    after = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 2}, "c": {}}}

    changes = {
        tuple(change.path): (change.kind, change.before, change.after) for change in schema_changes(before, after)
    }

    assert changes == {
        ("properties", "a", "minimum"): ("changed", 1, 2),
        ("properties", "b"): ("removed", True, None),
        ("properties", "c"): ("added", None, {}),
    }


def test_the_number_of_places_is_bounded() -> None:
    wide = {f"p{number}": number for number in range(10_000)}

    assert len(schema_changes(wide, {})) == 200


def test_one_change_is_unfolded_and_the_others_are_found_by_their_tools(person: Visitor) -> None:
    page = person.go("contracts")
    cards = page.get_by_role("article")
    cards.first.wait_for()

    assert page.locator("article > details[open]").count() == 1
    last = cards.filter(has=page.get_by_role("group")).last
    tool = last.get_by_role("heading").first.inner_text().split(" ")[0]
    page.get_by_role("navigation", name="Tools of the comparison").get_by_role("button", name=tool).click()

    chosen = cards.filter(has=page.get_by_role("heading", name=tool)).first
    expect(chosen.get_by_role("heading").first).to_be_focused()
    expect(chosen).to_be_in_viewport()
    assert page.url.endswith("#/contracts")
