"""Secrets in recordings: texts are removed, all else keeps its bytes, and page tokens and counters are left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signet.system.recording_redactor import RecordingRedactor

VALUE: dict[str, Any] = {
    "access_token": "hidden-1",
    "cookies": ["hidden-2", 3, None, [True, "hidden-3"]],
    "password": {"text": "hidden-4", "length": 8, "expires": None, "parts": ["hidden-5"]},
    "secret": None,
    "api_key": 17,
    "token": False,
    "authorization": "",
    "refresh_token": [],
    "client_secret": {},
    "next_page_token": "t1",
    "total_tokens": "123",
}
KEPT: dict[str, Any] = {
    **VALUE,
    "access_token": "[redacted]",
    "cookies": ["[redacted]", 3, None, [True, "[redacted]"]],
    "password": {"text": "[redacted]", "length": 8, "expires": None, "parts": ["[redacted]"]},
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_body_keeps_the_kind_of_every_value(indent: int | None) -> None:
    body = json.dumps(VALUE, indent=indent).encode()

    redacted = RecordingRedactor().body(body)

    assert json.loads(redacted) == KEPT
    assert RecordingRedactor().body(redacted) == redacted


def test_lines_of_json_keep_the_kind_of_every_value() -> None:
    """A body of several values is not one JSON value, and is searched as text."""
    body = "".join(f"data: {json.dumps({'n': number, **VALUE})}\n\n" for number in range(2))

    redacted = RecordingRedactor().body(body.encode()).decode()

    values = [json.loads(line.removeprefix("data: ")) for line in redacted.splitlines() if line]
    assert values == [{"n": number, **KEPT} for number in range(2)]


@pytest.mark.parametrize("end", range(20, 300, 7))
def test_a_body_that_is_cut_anywhere_has_no_secret(end: int) -> None:
    body = json.dumps(VALUE).encode()[:end]

    redacted = RecordingRedactor().body(body)

    assert b"hidden" not in redacted
    assert b"[redacted]" in redacted


def test_bytes_that_are_not_utf_8_are_kept() -> None:
    body = b'\xff\xa0 "password": "hidden \xa0 too", "page_token": "\xe9"'

    assert RecordingRedactor().body(body) == b'\xff\xa0 "password": "[redacted]", "page_token": "\xe9"'


def test_a_body_that_would_be_json_but_for_its_encoding_is_searched_as_text() -> None:
    body = b'{"x": "\xff \\n a token", "password": "hidden"}'

    assert RecordingRedactor().body(body) == body.replace(b"hidden", b"[redacted]")


def test_parameters_of_pages_are_kept_in_targets_and_in_links() -> None:
    link = "/items?page_token=t1&max_tokens=5&access_token=hidden&nextPageToken=t2"
    redactor = RecordingRedactor()

    body = redactor.body(json.dumps({"next": link}).encode())

    assert redactor.target(link) == link.replace("hidden", "%5Bredacted%5D")
    assert json.loads(body) == {"next": link.replace("hidden", "[redacted]")}


def test_json_in_a_text_keeps_the_kind_of_every_value() -> None:
    value = {"params": {"arguments": VALUE, "text": json.dumps(VALUE), "_meta": {"progressToken": "p1"}}}

    params = json.loads(RecordingRedactor().body(json.dumps(value).encode()))["params"]

    assert (params["arguments"], json.loads(params["text"])) == (KEPT, KEPT)
    assert params["_meta"] == {"progressToken": "p1"}


def test_all_bytes_beside_a_secret_are_kept() -> None:
    """Numbers that no float holds, spaces, escapes, and a name that is there twice."""
    body = b'{"n": [1.10, 12345678901234567890123, 1e400], "s":"\\u00e9 \\/", "tok\\u0065n": "%s",  "s" : null }\n'

    assert RecordingRedactor().body(body % b"hidden") == body % b"[redacted]"


def test_the_schema_of_an_argument_is_kept_and_a_value_of_the_same_form_is_not() -> None:
    schema = {"type": "string", "description": "the token"}
    value = {
        "schema": {"type": "object", "properties": {"token": schema, "tokens": {"$ref": "#/$defs/Tokens"}}},
        "properties": {"password": {"type": "bearer", "value": "hidden"}, "secret": {"value": "hidden"}},
        "token": {"type": "string", "value": "hidden"},
    }
    kept = {
        "schema": value["schema"],
        "properties": {"password": {"type": "[redacted]", "value": "[redacted]"}, "secret": {"value": "[redacted]"}},
        "token": {"type": "[redacted]", "value": "[redacted]"},
    }

    assert json.loads(RecordingRedactor().body(json.dumps(value).encode())) == kept


def test_a_known_secret_of_digits_leaves_a_number_where_it_is_one() -> None:
    redactor = RecordingRedactor(("12345678",))

    redacted = redactor.body(b'{"id": 12345678, "ids": [-12345678, 112345678], "text": "id 12345678"}')

    assert redacted == b'{"id": 0, "ids": [-12345678, 112345678], "text": "id [redacted]"}'


def test_a_definition_loses_known_secrets_only() -> None:
    body = b'{"tools": [{"name": "a", "description": "known-secret-1", "default": {"password": "shown"}}]}'

    redacted = RecordingRedactor(("known-secret-1",)).body(body, is_definition=True)

    assert redacted == body.replace(b"known-secret-1", b"[redacted]")


def test_each_name_under_which_a_text_is_removed_is_reported_once() -> None:
    reported: list[str] = []
    redactor = RecordingRedactor(("known-secret-1",), reported.append)

    for _ in range(3):
        redactor.body(b'{"access_token": "a", "link": "/?api_key=b", "text": "known-secret-1", "total_tokens": "1"}')
        redactor.body(b'{"secret": null, "tokens": 3, "cookies": [], "password": "", "page_token": "t"}')
        redactor.body(b'{"client_secret": "cut')

    assert sorted(reported) == ["a secret of the settings", "access_token", "api_key", "client_secret"]


def test_the_number_of_reported_names_is_bounded() -> None:
    reported: list[str] = []
    redactor = RecordingRedactor((), reported.append)

    redactor.body(json.dumps({f"{'x' * 200}_{number}_token": "a" for number in range(500)}).encode())
    redactor.body(json.dumps({f"n{number}_token": "a" for number in range(500)}).encode())

    assert len(reported) == 100
    assert max(map(len, reported)) == 60


@pytest.mark.parametrize("before", range(16_340, 16_420, 3))
def test_a_text_of_any_length_loses_whole_secrets(before: int) -> None:
    """A text is searched in parts, and a secret may lie in two of them."""
    redactor = RecordingRedactor()
    start = "." * before

    parameter = redactor.text(f"{start}?token={'v' * 40_000}&page=2 {start}?api_key=w end")
    header = redactor.text(f"{start}\nAuthorization: Bearer abc\n{start}\nAuthorization: Bearer def")

    assert parameter == f"{start}?token=[redacted]&page=2 {start}?api_key=[redacted] end"
    assert header == f"{start}\nAuthorization: Bearer [redacted]\n{start}\nAuthorization: Bearer [redacted]"
    assert redactor.text(parameter) == parameter
    assert redactor.text(header) == header
