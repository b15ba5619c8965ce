"""The road of a call: what passed, what failed and where, and each request to an upstream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from boj_harness import SPOT
from browser import Open

from .call_house import SECRET, House, opened

STAGES = ["envelope", "input contract", "tool", "upstream", "output contract", "journal"]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("road")) as running:
        yield running


def statuses(answer: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["status"] for step in answer["road"]}


def step(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in answer["road"] if step["name"] == name)


def test_a_call_that_is_answered_passes_every_stage_in_order(house: House) -> None:
    answer = house.call("get_problem", source="leetcode", id="1")

    assert [step["name"] for step in answer["road"]] == STAGES
    assert set(statuses(answer).values()) == {"passed"}
    starts = [step["startMs"] for step in answer["road"]]
    assert starts == sorted(starts)
    tool, upstream = step(answer, "tool"), step(answer, "upstream")
    assert upstream["detail"] == f"oj: GET {house.oj.url}, 200"
    assert tool["startMs"] <= upstream["startMs"]
    assert upstream["startMs"] + upstream["tookMs"] <= tool["startMs"] + tool["tookMs"]
    assert sum(step["tookMs"] for step in answer["road"] if step["name"] != "upstream") <= answer["tookMs"]


def test_a_tool_without_a_service_has_no_attempt(house: House) -> None:
    answer = house.call("encodePlantUML", plantumlCode="A -> B")

    assert statuses(answer)["upstream"] == "skipped"
    assert step(answer, "upstream")["detail"] == "it has none"


def test_a_cached_answer_needs_no_attempt(house: House) -> None:
    house.call("boj_get_metadata", db="FM01", lang="en")
    answer = house.call("boj_get_metadata", db="FM01", lang="en")

    assert answer["ok"]
    assert statuses(answer)["upstream"] == "skipped"


def test_wrong_arguments_are_told_with_every_place_keyword_and_value(house: House) -> None:
    answer = house.call("boj_get_data_code", db=8, codes=["FXERD01", 5])

    assert answer["error"]["code"] == "INVALID_INPUT"
    places = {tuple(place["path"]): (place["keyword"], place["value"]) for place in answer["places"]}
    assert places[("db",)] == ("type", "8")
    assert places["codes", 1] == ("type", "5")
    failed = step(answer, "input contract")
    assert (failed["status"], failed["place"], failed["keyword"], failed["value"]) == ("failed", "db", "type", "8")
    skipped = {name for name, status in statuses(answer).items() if status == "skipped"}
    assert skipped == {"tool", "upstream", "output contract"}
    assert statuses(answer)["journal"] == "passed"


def test_a_misspelt_argument_is_the_place(house: House) -> None:
    answer = house.call("get_problem", sorce="leetcode", id="1")

    failed = step(answer, "input contract")
    assert (failed["place"], failed["keyword"], failed["value"]) == ("sorce", "additionalProperties", '"leetcode"')


def test_a_result_that_breaks_its_promise_is_told_with_its_place(house: House) -> None:
    answer = house.call("lie", value="no number")

    assert answer["error"]["code"] == "INVALID_OUTPUT"
    failed = step(answer, "output contract")
    assert failed["status"] == "failed"
    assert failed["place"].endswith("numbers[1]")
    assert (failed["keyword"], failed["value"]) == ("type", '"no number"')
    assert statuses(answer)["tool"] == "passed"


def test_a_value_is_cut_and_has_no_secret_of_the_server(house: House) -> None:
    long, secret = house.call("lie", value="x" * 5000), house.call("lie", value=f"the {SECRET} of it")

    assert len(step(long, "output contract")["value"]) == 201
    assert SECRET not in str(secret["places"])
    assert SECRET not in str(secret["road"])
    assert "[redacted]" in step(secret, "output contract")["value"]


def test_a_tool_that_fails_is_told_without_the_text_of_its_exception(house: House) -> None:
    answer = house.call("fail")

    assert statuses(answer)["tool"] == "failed"
    assert statuses(answer)["output contract"] == "skipped"
    assert "the text of an exception" not in str(answer)


def test_each_attempt_to_reach_a_service_is_told(house: House) -> None:
    house.boj.order("status", status=503, times=1)
    house.boj.order("close", times=1)

    answer = house.call("boj_get_data_code", **SPOT)

    attempts = [step for step in answer["road"] if step["name"] == "upstream"]
    assert answer["ok"]
    assert [attempt["status"] for attempt in attempts] == ["failed", "failed", "passed"]
    assert [attempt["detail"].rpartition(", ")[2] for attempt in attempts] == ["503", "failed", "200"]
    assert statuses(answer)["tool"] == "passed"


def test_a_service_that_fails_fails_the_tool(house: House) -> None:
    house.oj.order("status", status=500)

    answer = house.call("get_problem", source="leetcode", id="2")

    assert statuses(answer)["tool"] == "failed"
    assert step(answer, "upstream")["detail"].endswith(", 500")
    assert answer["error"]["code"] == "INTERNAL_ERROR"


def test_a_tool_that_is_not_there_fails_at_the_envelope(house: House) -> None:
    answer = house.call("nobody")

    assert statuses(answer)["envelope"] == "failed"
    assert statuses(answer)["input contract"] == "skipped"


def test_requests_are_counted_and_many_are_folded(visit: Open, house: House) -> None:
    visitor = visit(house.server)
    page = visitor.go("clients")
    page.evaluate(
        """async () => {
            const step = (name, status, detail) =>
                ({ name, status, detail, startMs: 0, tookMs: 1, place: null, keyword: null, value: null });
            const asked = ["a", "b", "b", "b", "c", "d", "e", "f"].map((host, at) =>
                step("upstream", at === 1 ? "failed" : "passed", `boj: GET http://${host}, ${at === 1 ? 503 : 200}`));
            const { drawRoad } = await import("/-/files/road.js");
            drawRoad(document.querySelector("main"), [step("tool", "passed", ""), ...asked]);
        }"""
    )

    names = page.get_by_role("list", name="Requests to upstreams", exact=True).locator(".name").all_inner_texts()
    assert names == ["request 1", "request 2", "request 2, attempt 2", "request 3", "request 4"]
    further = page.get_by_role("list", name="Further requests to upstreams")
    expect(further).to_be_hidden()
    page.get_by_text("3 more requests").click()
    assert further.locator(".name").all_inner_texts() == ["request 5", "request 6", "request 7"]
