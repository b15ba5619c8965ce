"""Secrets in the texts of a tool: found by their shapes, named by their kind, and never repeated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secret_texts import RANDOM, SECRETS
from signet.commands.check.client_rules import lint_tool
from signet.system.secret_patterns import find_secrets


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
def test_a_secret_is_found_and_named(secret: str) -> None:
    for text in (secret, f"Use {secret}, please", f"e.g. '{secret}'."):
        assert SECRETS[secret] in find_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "Send `Authorization: Bearer <token>`.",
        "The token: a bearer token for the API, at least 20 characters long.",
        "password=<your password>",
        "api_key=YOUR_API_KEY",
        "token=xxxxxxxxxxxx",
        "password=********",
        "secret: optional",
        "token=$GITHUB_TOKEN or token={token}",
        "cookie: the LeetCode session, as a browser sends it",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:password@host is refused: put no password into an address",
        "postgres://USER:<password>@host",
        "sk-learn and sk-estimator-of-the-next-generation",
        "a task-1234567890abcdefghijk",
        "eyJhbGciOiJIUzI1NiJ9",
        "-----BEGIN CERTIFICATE-----",
        "SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_only_speaks_of_secrets_is_none(text: str) -> None:
    assert find_secrets(text) == []


def places(secret: str) -> dict[str, Any]:
    """A tool with the secret in each text that a client is shown."""
    part = {
        "type": "string",
        "description": f"like {secret}",
        "default": secret,
        "examples": [["a", secret]],
        "enum": ["a", secret],
    }
    return {
        "title": secret,
        "description": f"Adds two integers with {secret}.",
        "input_schema": {"type": "object", "properties": {"a": part}, "examples": [{"a": secret}]},
        "output_schema": {"type": "object", "properties": {"b": {"type": "string", "const": secret}}},
    }


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
def test_a_secret_is_an_error_wherever_a_client_is_shown_it_and_never_repeated(secret: str) -> None:
    found = [finding for finding in lint_tool("add", **places(secret)) if finding.rule == "secret-in-description"]

    assert {finding.place for finding in found} == {
        "/title",
        "/description",
        "/inputSchema/examples/0/a",
        *(f"/inputSchema/properties/a/{part}" for part in ("description", "default", "examples/0/1", "enum/1")),
        "/outputSchema/properties/b/const",
    }
    assert {(finding.severity, finding.client) for finding in found} == {("error", "all models")}
    assert [finding for finding in found if secret in finding.message or RANDOM in finding.message] == []


def test_other_findings_do_not_repeat_a_secret_either() -> None:
    for secret in SECRETS:
        found = lint_tool("add", **places(secret))

        assert [finding for finding in found if secret in repr(finding)] == []


def test_a_secret_is_found_at_any_depth() -> None:
    (secret, *_) = SECRETS
    value: Any = secret
    for _ in range(5_000):
        value = [value]

    found = lint_tool("add", "", "Adds two integers.", {"type": "object", "default": value}, None)

    assert [(finding.rule, finding.place) for finding in found] == [
        ("secret-in-description", "/inputSchema/default" + "/0" * 99)
    ]


@given(st.text())
def test_any_text_is_searched(text: str) -> None:
    find_secrets(text)


RUNS = [
    "sk-", "-sk-", "eyJ", "-eyJ", "eyJaaaaaaaa.", "a://b:", "://", "token=", "token: ", "Bearer a1", "-----BEGIN ",
    "A1 ", "xoxb-", "ghp_",
]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_a_long_text_of_beginnings_is_searched_once(run: str) -> None:
    """A pattern that began anew inside of its own run would not come to an end here."""
    find_secrets(run * (500_000 // len(run)))
