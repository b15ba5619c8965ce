"""The settings of one toolset: made from what is given, or told what is missing; secrets known by their texts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from signet.settings.fields import setting
from signet.settings.model import IncompleteSettings, build_settings, change_settings, secret_texts


class Own(msgspec.Struct):
    city: str
    api_key: Annotated[str, setting("the key", secret=True)]
    limit: int = 5


class Checked(msgspec.Struct):
    limit: int = 5

    def __post_init__(self) -> None:
        if self.limit > 9:
            raise ValueError("limit is at most 9")


def variable_of(name: str) -> str:
    return f"OWN_{name.upper()}"


def test_settings_are_made_from_what_is_given() -> None:
    assert build_settings(Own, {"city": "Oslo", "api_key": "k"}) == Own("Oslo", "k", 5)


def test_what_is_missing_is_told_with_its_variables() -> None:
    own = build_settings(Own, {"limit": 3, "api_key": None})

    assert isinstance(own, IncompleteSettings)
    assert own.told("own", variable_of) == (
        "the own toolset needs a setting that has no value: set OWN_CITY and OWN_API_KEY (the key)"
    )


def test_what_the_structs_own_check_refuses_is_told_in_its_words() -> None:
    own = build_settings(Checked, {"limit": 10})

    assert isinstance(own, IncompleteSettings)
    assert own.told("own", variable_of) == "the settings of the own toolset cannot be used: limit is at most 9"


def test_a_replay_changes_what_was_recorded_and_needs_no_secret() -> None:
    own = build_settings(Own, {})

    changed = change_settings(Own, own, {"city": "Oslo", "unknown": 1})

    assert (changed.city, changed.limit) == ("Oslo", 5)
    assert changed.api_key
    assert change_settings(Own, Own("Oslo", "k"), {"limit": 7}) == Own("Oslo", "k", 7)
    with pytest.raises(ValueError, match=r"."):
        change_settings(Own, Own("Oslo", "k"), {"limit": "many"})


class Keys(msgspec.Struct):
    tokens: Annotated[list[str], setting("tokens", secret=True)]
    named: Annotated[dict[str, str], setting("by name", secret=True)]
    open: str = "not secret"


@pytest.mark.parametrize(
    ("own", "texts"),
    [
        (Keys(["aaa", "bbb"], {"x": "ccc"}), {"aaa", "bbb", "ccc"}),
        (Own("Oslo", "the-key"), {"the-key"}),
        (build_settings(Own, {"api_key": "the-key"}), {"the-key"}),
    ],
)
def test_the_texts_of_secrets(own: Any, texts: set[str]) -> None:
    assert set(secret_texts(own)) >= texts
    assert "not secret" not in set(secret_texts(own))
