"""Who calls: a principal's scopes, and a caller's name."""

from __future__ import annotations

import pytest

from signet.kernel.caller import NOBODY, Caller, Principal


@pytest.mark.parametrize(
    ("scopes", "may"),
    [
        (None, True),
        (frozenset(), False),
        (frozenset({"tools:call"}), True),
        (frozenset({"tools:call:plantuml.encode"}), True),
        (frozenset({"tools:call:plantuml.decode"}), False),
        (frozenset({"tools:read"}), False),
        (frozenset({"tools:call:"}), False),
    ],
)
def test_a_scope_allows_all_tools_or_one(scopes: frozenset[str] | None, may: bool) -> None:
    assert Principal("alice", scopes).may_call("plantuml.encode") is may


def test_a_caller_has_the_name_of_its_principal_or_none() -> None:
    assert Caller(Principal("alice")).name == "alice"
    assert NOBODY.name == ""
