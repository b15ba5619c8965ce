"""The policy: what may be written for limits, and what is said of all else."""

from __future__ import annotations

from typing import Any

import pytest

from signet.operations.limits.policy import Limit, LimitError, PlaceLimit, Policy, Rate, parse_rate, read_policy


@pytest.mark.parametrize(("text", "rate"), [
    ("5/s", Rate(5, 1.0, "second")),
    ("60/min", Rate(60, 60.0, "minute")),
    ("60 / min", Rate(60, 60.0, "minute")),
    ("1000/h", Rate(1000, 3600.0, "hour")),
    ("1/day", Rate(1, 86_400.0, "day")),
])  # fmt: skip
def test_a_rate_is_a_number_of_calls_in_a_period(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", [
    "", "60", "60/", "/min", "0/min", "-1/min", "1.5/s", "60/minute", "60/week", "1000001/s", "٦/min", "6/min\n6",
    60, True, None, ["60/min"],
])  # fmt: skip
def test_anything_else_is_no_rate(text: Any) -> None:
    with pytest.raises(ValueError, match="cannot be used; write a rate such as 60/min"):
        parse_rate(text)


def test_a_whole_table_is_read() -> None:
    table = {
        "rate": "60/min", "burst": 10, "quota": 1000, "on-store-error": "deny", "concurrency": 8, "breaker": 5,
        "tools": {"a.b": {"quota": 5, "queue": 2, "on_store_error": "allow"}, "c.d": {"rate": "1/s"}},
        "principals": {"ci": {"rate": "600/min"}, "boss": {"rate": "off", "quota": "off"}},
    }  # fmt: skip
    minute = Rate(60, 60.0, "minute")

    assert read_policy(table) == Policy(
        default=Limit(minute, 10, 1000, denies=True),
        tools={"a.b": Limit(quota=5), "c.d": Limit(Rate(1, 1.0, "second"), denies=True)},
        principals={
            "ci": Limit(Rate(600, 60.0, "minute"), 0, 1000, denies=True),
            "boss": Limit(None, 0, 0, denies=True),
        },
        default_places=PlaceLimit(8, 16),
        places={"a.b": PlaceLimit(8, 2)},
        breaker=5,
    )
    assert read_policy({}) == Policy()
    assert read_policy({"burst": 5}, "60/min").default == Limit(minute, 5)
    assert read_policy({"queue": 5, "tools": {"a.b": {"concurrency": 1}}}).places == {"a.b": PlaceLimit(1, 5)}


@pytest.mark.parametrize(("table", "path", "why"), [
    ({"rat": 1}, ("limits", "rat"), "there is no such limit"),
    ({"rate": 60}, ("limits", "rate"),
     "this cannot be used; write a rate such as 60/min (a number per s, min, h or day)"),
    ({"rate": "off"}, ("limits", "rate"),
     "'off' cannot be used; write a rate such as 60/min (a number per s, min, h or day)"),
    ({"burst": 0}, ("limits", "burst"), "write a whole number from 1 to 1000000"),
    ({"burst": True}, ("limits", "burst"), "write a whole number from 1 to 1000000"),
    ({"quota": "9"}, ("limits", "quota"), "write a whole number from 1 to 1000000000"),
    ({"queue": -1, "concurrency": 1}, ("limits", "queue"), "write a whole number from 0 to 100000"),
    ({"on_store_error": "open"}, ("limits", "on_store_error"),
     'write "allow" or "deny": whether calls are let in while the store is away'),
    ({"on_store_error": "deny", "on-store-error": "deny"}, ("limits", "on-store-error"),
     "it is there twice, with a hyphen and with an underscore; write it once"),
    ({"shared": True}, ("limits", "shared"), "there is no such limit"),
    ({"tools": 5}, ("limits", "tools"), 'write a table for each, such as [limits.tools."plantuml.encode"]'),
    ({"tools": {"a.b": 5}}, ("limits", "tools", "a.b"), 'write a table, such as [limits.tools."plantuml.encode"]'),
    ({"tools": {"a.b": {"shared": 1}}}, ("limits", "tools", "a.b", "shared"), "write true or false"),
    ({"tools": {"a.b": {"breaker": 1}}}, ("limits", "tools", "a.b", "breaker"), "there is no such limit"),
    ({"tools": {"a.b": {"burst": 1}}}, ("limits", "tools", "a.b", "burst"),
     'a burst needs a rate; write it too, such as rate = "60/min"'),
    ({"tools": {"a.b": {"queue": 1}}}, ("limits", "tools", "a.b", "queue"),
     "a queue needs a concurrency; write it too, such as concurrency = 4"),
    ({"burst": 1, "quota": 5}, ("limits", "burst"), 'a burst needs a rate; write it too, such as rate = "60/min"'),
    ({"queue": 1, "tools": {"a.b": {"rate": "1/s"}}}, ("limits", "queue"),
     "a queue needs a concurrency; write it too, such as concurrency = 4"),
    ({"tools": {"a.b": {"shared": True, "concurrency": 1}}}, ("limits", "tools", "a.b", "shared"),
     'there is nothing to share; write a rate or a quota too, such as rate = "5/s"'),
    ({"principals": {"ci": {"concurrency": 1}}}, ("limits", "principals", "ci", "concurrency"),
     "there is no such limit"),
    ({"principals": {"": {}}}, ("limits", "principals", ""), "write a table, such as [limits.principals.alice]"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused_with_its_place(table: dict[str, Any], path: tuple[str, ...], why: str) -> None:
    with pytest.raises(LimitError) as caught:
        read_policy(table)

    assert (caught.value.path, str(caught.value)) == (path, why)


def test_a_rate_that_was_not_in_the_table_is_refused_as_what_it_is() -> None:
    with pytest.raises(LimitError) as caught:
        read_policy({}, "often")

    assert caught.value.path == ("rate_limit",)


RATES, PLACES = {"rate", "burst", "quota", "on_store_error"}, {"concurrency", "queue"}


@pytest.mark.parametrize(
    ("table", "known"),
    [
        ({"odd": 1}, RATES | PLACES | {"breaker", "tools", "principals"}),
        ({"tools": {"a.b": {"odd": 1}}}, RATES | PLACES | {"shared"}),
        ({"principals": {"ci": {"odd": 1}}}, RATES),
    ],
)
def test_a_key_that_is_none_is_refused_with_those_there_are(table: dict[str, Any], known: set[str]) -> None:
    with pytest.raises(LimitError) as caught:
        read_policy(table)

    assert set(caught.value.known) == known


@pytest.mark.parametrize(
    ("key", "least", "most"),
    [("burst", 1, 1_000_000), ("quota", 1, 1_000_000_000), ("concurrency", 1, 100_000), ("queue", 0, 100_000),
     ("breaker", 1, 100_000)],
)  # fmt: skip
def test_a_number_is_taken_up_to_its_limits(key: str, least: int, most: int) -> None:
    rest = {"rate": "60/min", "concurrency": 1}
    for number in (least, most):
        read_policy({**rest, key: number})
    for number in (least - 1, most + 1):
        with pytest.raises(
            LimitError, match=f"^write a whole number from {least} to {most}(?:: a limit is no switch; .*)?$"
        ):
            read_policy({**rest, key: number})


@pytest.mark.parametrize(
    "table", [{"quota": 0}, {"tools": {"a.b": {"quota": 0}}}, {"principals": {"al": {"quota": 0}}}]
)
def test_a_quota_of_nothing_is_refused_with_what_keeps_callers_from_a_tool(table: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match=r"a limit is no switch; .* tokens whose scopes leave it out"):
        read_policy(table)
