"""Shapes of secrets: every text that is written is searched for all of them, wherever they stand in it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secret_texts import CORES, SECRETS
from signet.lock.address import shown_command, shown_url
from signet.system.recording_redactor import RecordingRedactor
from signet.system.redaction import redact_secrets, redact_shapes
from signet.system.secret_patterns import OVERLAP_CHARS, WINDOW_CHARS, is_token, may_hold_secret, secret_spans
from signet.system.secret_values import hide_secrets, secrets_inside


def leaks(text: str) -> list[str]:
    return [core for core in CORES if core in text]


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
def test_a_secret_is_removed_wherever_it_is_written(secret: str) -> None:
    words = f"use {secret}\nplease"
    # As JSON, as a text with JSON in it, and as a body that was cut off.
    body = msgspec.json.encode({"a": [words], "b": msgspec.json.encode({"c": secret}).decode()})

    written = [
        redact_secrets(words),
        redact_shapes(words),
        " ".join(shown_command(["run", secret, f"--with={secret}", f"X:{secret}"])),
        RecordingRedactor().body(body).decode(),
        RecordingRedactor().body(body[:-1]).decode(),
        RecordingRedactor().text(words),
        str(hide_secrets([words])),
    ]

    assert [text for text in written if leaks(text)] == []
    assert any(leaks(one) for one in secrets_inside([words])), "the process knows it as a secret"


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
def test_a_secret_is_removed_from_the_name_of_a_member(secret: str) -> None:
    body = msgspec.json.encode({secret: 1, "b": [{f"use {secret}": None}], "c": 2})

    written = RecordingRedactor().body(body)

    assert leaks(written.decode()) == []
    assert msgspec.json.decode(written)["c"] == 2


ENDS = ["\\n", "\\t", "\\\\n", "\\u000a", "\\x0a", "%20", "%3D", "\x1b[m", "\x1b[0m", "\x1b[1;31m", "\\u001b[31m"]
"""What ends in a letter or a digit and is no part of the word behind it: escapes and colours of terminals."""


@pytest.mark.parametrize("end", ENDS)
def test_a_secret_is_removed_behind_an_escape_or_a_colour(end: str) -> None:
    assert [secret for secret in SECRETS if leaks(redact_shapes(f"said: 'a{end}{secret}'"))] == []


def test_a_token_in_the_path_of_a_url_is_not_shown() -> None:
    tokens = [secret for secret in SECRETS if is_token(secret)]

    assert len(tokens) > 10
    assert {shown_url(f"https://host/mcp/{token}/x") for token in tokens} == {"https://host/mcp/[redacted]/x"}


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
@pytest.mark.parametrize("before", [WINDOW_CHARS - 8, WINDOW_CHARS, WINDOW_CHARS + OVERLAP_CHARS - 8])
def test_a_secret_is_found_at_the_edge_of_the_parts_that_are_searched(secret: str, before: int) -> None:
    text = "." * (before - 1) + " " + secret + " " + "." * WINDOW_CHARS

    assert leaks(redact_shapes(text)) == []
    assert len(redact_shapes(text)) >= len(text) - len(secret) or "BEGIN" in secret


def test_a_value_that_is_longer_than_a_part_is_removed_to_its_end() -> None:
    assert redact_shapes("password=" + "a1" * WINDOW_CHARS + ", b") == "password=[redacted], b"


@given(st.text(), st.sampled_from(sorted(SECRETS)), st.text())
def test_what_the_quick_check_passes_over_holds_no_secret(before: str, secret: str, after: str) -> None:
    text = f"{before} {secret}{after}"

    assert may_hold_secret(text)
    assert may_hold_secret(text.encode(errors="surrogatepass"))
    assert secret_spans(text) == sorted(secret_spans(text))


RUNS = [
    "sk-",
    "\\nsk-",
    "[1msk-",
    "%3Dsk-",
    "eyJaaaaaaaa.",
    "a://b:",
    "token=",
    "Bearer a1",
    "-----BEGIN PRIVATE KEY-----",
    "ghp_",
    "-----END ",
]


@pytest.mark.parametrize("run", RUNS)
def test_a_long_text_of_beginnings_is_searched_once(run: str) -> None:
    """A search that began anew for each beginning would not come to an end here."""
    redact_shapes(run * (500_000 // len(run)))
