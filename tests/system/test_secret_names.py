"""Names that mean a secret: by the place in which they stand, and never those of pages and counters."""

from __future__ import annotations

import pytest

from signet.system.secret_patterns import NamePlace, is_open_header, names_identity, names_secret

SECRET_NAMES = [
    *("token", "tokens", "access_token", "accessToken", "ACCESS_TOKEN", "refresh_tokens", "id_tokens", "authtokens"),
    *("password", "client_secret", "api_key", "Api-Key", "cookie", "set-cookies", "x.authorization", "token_value"),
    *("homepage_token", "nextAccessToken", "context_token", "bot_tokens", "deployTokens", "webhooktokens"),
]
KEPT_NAMES = [
    *("next_page_token", "nextPageToken", "page_token", "pageToken", "NEXT_PAGE_TOKEN", "nextpagetoken", "pagetoken"),
    *("continuation_token", "continuationToken", "NextContinuationToken", "next_token", "nextToken", "prev_token"),
    *("pagination_token", "nextSyncToken", "cursor_token", "skip-token", "progressToken", "cursor", "key"),
    *("total_tokens", "prompt_tokens", "maxTokens", "maxtokens", "usage.completion_tokens", "tokenizer"),
]
PLACES: dict[str, set[NamePlace]] = {
    "db_password": {"field", "setting", "header", "flag", "variable", "parameter"},
    "page_token": {"setting", "header", "flag", "variable", "parameter"},
    "x-tenant-key": {"setting", "header", "flag", "variable", "parameter"},
    "tenant-key": {"header", "parameter"},
    "sort_key": {"header", "variable", "parameter"},
    "KEY_OF_MAPS": {"variable", "parameter"},
    "bearer": {"flag"},
    "github-pat": {"flag", "parameter"},
    "signature": {"parameter"},
    "monkey": {"parameter"},
    "city": set(),
    "tokenizer": set(),
}


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_name_of_a_credential_names_a_secret(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", KEPT_NAMES)
def test_the_name_of_a_page_token_or_of_a_counter_names_none(name: str) -> None:
    assert not names_secret(name)


@pytest.mark.parametrize("name", PLACES)
def test_a_name_means_a_secret_by_its_place(name: str) -> None:
    places: tuple[NamePlace, ...] = ("field", "setting", "header", "flag", "variable", "parameter")

    assert {place for place in places if names_secret(name, place)} == PLACES[name]


def test_what_identifies_something_and_what_every_client_sends_is_open() -> None:
    assert [name for name in ("customerId", "ref", "username", "key") if names_identity(name)] == [
        "customerId",
        "ref",
        "username",
    ]
    assert [name for name in ("User-Agent", "origin", "x-any", "authorization") if is_open_header(name)] == [
        "User-Agent",
        "origin",
    ]
