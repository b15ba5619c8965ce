"""A request to a service as an author writes it: pure functions."""

from __future__ import annotations

import pytest

from signet.authoring.requests import fixed_headers, secrets_of, target_of


@pytest.mark.parametrize(
    ("path", "params", "target"),
    [
        ("/a", None, "//api/a"),
        ("a", {}, "//api/a"),
        ("", None, "//api/"),
        ("/a?b=1", [("c", "ü"), ("c", 2.5)], "//api/a?b=1&c=%C3%BC&c=2.5"),
        ("/100%25", {"x": False}, "//api/100%25?x=false"),
        ("/a b/.hidden/...", None, "//api/a%20b/.hidden/..."),
    ],
)
def test_a_target_has_the_name_of_its_service(path: str, params: object, target: str) -> None:
    assert target_of("api", path, params) == target  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("Authorization", "Bearer token-of-the-user", ("Bearer token-of-the-user", "token-of-the-user")),
        ("authorization", "Basic dXNlcjpwYXNz", ("Basic dXNlcjpwYXNz", "dXNlcjpwYXNz")),
        ("X-Api-Key", "key", ("key",)),
        ("X-Auth", "word-of-the-user", ("word-of-the-user",)),
        ("Cookie", "a=1; id=one-long-value", ("a=1; id=one-long-value", "one-long-value")),
        ("X-Team", "seven", ()),
        ("Accept", "application/json", ()),
    ],
)
def test_what_a_header_carries_is_secret_by_its_name(name: str, value: str, secrets: tuple[str, ...]) -> None:
    assert secrets_of([(name, value)]) == secrets


@pytest.mark.parametrize("token", [None, "", "  "])
def test_a_blank_token_is_none(token: str | None) -> None:
    assert fixed_headers((), token) == ()


def test_a_token_is_sent_as_a_bearer() -> None:
    headers = fixed_headers((("X-Team", "seven"),), " token ")

    assert headers == (("X-Team", "seven"), ("Authorization", "Bearer token"))
