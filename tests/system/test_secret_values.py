"""Secrets in the values of settings: found by name and by place, hidden, and known by their texts."""

from __future__ import annotations

import base64
import dataclasses
import enum
from typing import Any

import msgspec
import pytest

from signet.system.redaction import REDACTED
from signet.system.secret_patterns import names_secret
from signet.system.secret_values import hide_secrets, plain, secrets_inside, texts_of


@dataclasses.dataclass
class Login:
    user: str
    password: str


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value


class Hidden:
    """A value that does not show itself, as pydantic's SecretStr."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __str__(self) -> str:
        return "****"


class Key(enum.Enum):
    ONE = "key-of-one"


@pytest.mark.parametrize("name", ["api_key", "token", "Authorization", "x-tenant-key", "db_password", "COOKIE"])
def test_a_name_that_means_a_secret(name: str) -> None:
    assert names_secret(name, "setting")


@pytest.mark.parametrize("name", ["city", "base_url", "limit", "tokenizer_path"])
def test_a_name_that_means_none(name: str) -> None:
    assert not names_secret(name, "setting")


@pytest.mark.parametrize(
    ("value", "hidden", "inside"),
    [
        ("https://user:pw@host/", "https://…@host/", {"user:pw", "pw"}),
        ({"Authorization": "Bearer abc", "Accept": "x"}, {"Authorization": REDACTED, "Accept": "x"}, {"Bearer abc"}),
        ({"servers": [{"token": "t1"}]}, {"servers": [{"token": REDACTED}]}, {"t1"}),
        ({"token": {"a": "t1", "n": 5}}, {"token": {"a": REDACTED, "n": 5}}, {"t1"}),
        (["plain", 1, True, None], ["plain", 1, True, None], set()),
    ],
)
def test_what_is_inside_of_a_value_is_hidden_and_known(value: Any, hidden: Any, inside: set[str]) -> None:
    assert hide_secrets(value) == hidden
    assert set(secrets_inside(value)) == inside


def test_a_secret_as_a_whole_is_hidden_in_all_its_parts() -> None:
    assert hide_secrets(["a", {"b": "c"}, ""], is_secret=True) == [REDACTED, {"b": REDACTED}, ""]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("abc", {"abc"}),
        (b"abc", {"abc", base64.b64encode(b"abc").decode()}),
        (["a", ("b",), {"c"}, {"k": "d"}], {"a", "b", "c", "d"}),
        (Login("me", "pw"), {"me", "pw"}),
        (Slotted("abc"), {"abc"}),
        (Hidden("abc"), {"abc"}),
        (Key.ONE, {"key-of-one"}),
        (12345, {"12345"}),
        (None, set()),
        (True, set()),
    ],
)
def test_the_texts_of_a_secret_of_any_type(value: Any, texts: set[str]) -> None:
    assert set(texts_of(value)) >= texts


def test_a_value_that_contains_itself_has_an_end() -> None:
    value: list[Any] = ["abc"]
    value.append(value)

    assert set(texts_of(value)) == {"abc"}


def test_a_value_as_json_has_it() -> None:
    class Point(msgspec.Struct):
        x: int

    assert plain([Point(1), Key.ONE]) == [{"x": 1}, "key-of-one"]
    assert plain({"a": Hidden("abc")}) == {"a": "****"}
