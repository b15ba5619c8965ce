"""Secrets are taken out of what is said, in whatever spelling, and by whatever name they call themselves."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.system.redaction import MAX_ECHOES, SecretRedactor, redact_labelled

SECRET = 'tok/en+"1\\2 é😀=345'
SPELLINGS = {
    "as it is": SECRET,
    "JSON": 'tok/en+\\"1\\\\2 é😀=345',
    "JSON in ASCII": 'tok/en+\\"1\\\\2 \\u00e9\\ud83d\\ude00=345',
    "JSON by others": "tok\\/en\\u002B\\u00221\\u005C2 \\u00E9\\uD83D\\uDE00\\u003d345",
    "a request line": "tok%2Fen%2B%221%5C2%20%C3%A9%F0%9F%98%80%3D345",
    "a form": "tok%2fen%2b%221%5c2+%c3%a9%f0%9f%98%80%3d345",
    "HTML": "tok/en+&quot;1\\2 é😀=345",
    "HTML in numbers": "tok&#47;en&#x2b;&#034;1&#92;2&#32;&eacute;&#128512;&#x3D;345",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_taken_out_in_every_spelling(spelling: str) -> None:
    veil = SecretRedactor([SECRET])
    text = f"<{SPELLINGS[spelling]}> and <{SPELLINGS[spelling]}>"

    assert veil.text(text) == "<[redacted]> and <[redacted]>"
    assert veil.data(text.encode()) == b"<[redacted]> and <[redacted]>"


@given(st.text(min_size=1).filter(str.strip), st.text(), st.text())
def test_any_secret_is_taken_out_of_any_text(secret: str, before: str, after: str) -> None:
    assert secret not in SecretRedactor([secret]).text(f"{before}{secret}{after}", "")


@given(st.text(alphabet="ab/+ %&#;\\u002f"))
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    veil = SecretRedactor(["hunter/two"])

    assert (veil.text(text), veil.data(text.encode())) == (text, text.encode())


def test_a_secret_that_is_no_unicode_is_taken_out_all_the_same() -> None:
    secret = b"hunter\xfftwo".decode(errors="surrogateescape")

    assert SecretRedactor([secret]).text(f"<{secret}>") == "<[redacted]>"
    assert SecretRedactor([secret]).data(b"<hunter\xfftwo>") == b"<[redacted]>"


def test_a_secret_within_another_leaves_nothing_behind() -> None:
    assert SecretRedactor(["abc", "abc-def"]).text("abc-def abc") == "[redacted] [redacted]"


def test_what_is_blank_or_too_short_is_no_secret() -> None:
    assert SecretRedactor(["", " ", "short"], min_chars=8).text("a short text") == "a short text"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"authorization":"Basic dXNlcjpwYXNz"}', '{"authorization":[redacted]}'),
        ("Authorization: Bearer abc.def, more", "Authorization: [redacted]"),
        ('{"cookie":"sid=abc; auth=SECRET"}', '{"cookie":[redacted]}'),
        ('{"password":"correct horse battery"}', '{"password":[redacted]}'),
        ("'token': 'a b' x", "'token': [redacted] x"),
        ('{"api key":"sk-12345"}', '{"api key":[redacted]}'),
        ("x.api.key: abc", "x.api.key: [redacted]"),
        ("tokenValue=abc next", "tokenValue=[redacted] next"),
        ("/api/tools/token=SECRET/x", "/api/tools/token=[redacted]"),
        ('passwd = "a\\"b" next', "passwd = [redacted] next"),
        ("a token is a word, and so is secretary: x", "a token is a word, and so is secretary: x"),
    ],
)
def test_what_calls_itself_a_secret_is_taken_out(text: str, said: str) -> None:
    assert redact_labelled(text) == said


@pytest.mark.parametrize(
    "text", ["token" * 200_000, "token:" * 150_000, '"token":"' * 100_000, "cookie" + " " * 1_000_000]
)
def test_a_long_text_is_looked_through_once(text: str) -> None:
    assert len(redact_labelled(text)) <= 2 * len(text)


def test_the_beginning_of_a_text_is_what_redaction_of_the_whole_begins_with() -> None:
    veil = SecretRedactor(["hunter-two"])
    text = "a hunter%2Dtwo, token=abc " * 10

    assert veil.beginning(text, 60) == "a [redacted], token=[redacted] a [redacted], token=[redacted] "[:60]
    assert veil.beginning("a hunter-two", 60) == "a [redacted]"


def test_of_a_long_text_the_beginning_alone_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    veil = SecretRedactor(["hunter-two"])
    text = SecretRedactor.text
    monkeypatch.setattr(SecretRedactor, "text", lambda veil, given: searched.append(len(given)) or text(veil, given))

    assert veil.beginning("x" * 4_194_304, 250) == "x" * 250
    assert len(searched) == 1
    assert searched[0] < 10_000


@pytest.mark.parametrize("spelling", ["hunter-two", "hunter%2dtwo", "hunter&#0000045;two"])
def test_a_secret_at_the_end_of_what_is_searched_is_not_cut_in_two(spelling: str) -> None:
    """What goes before it is made short by redaction, so that all of the searched part would be kept."""
    veil = SecretRedactor(["hunter-two"])

    for at in range(8_100, 8_400):
        found = veil.beginning("token=" + "x" * at + " " + spelling + " " * 20_000, 250)

        assert "token=[redacted] [redacted]".startswith(found.strip())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(alphabet='ab"\\/é😀 hunter-two1'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='k"\\'), inner, max_size=4),
    max_leaves=12,
)


def strings_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(one for inner in value.values() for one in strings_in(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in strings_in(inner)]
    return [value] if isinstance(value, str) else []


def with_secret(value: object, secret: str) -> object:
    """Return a value with a secret in each of its strings."""
    if isinstance(value, dict):
        return {f"{key}{secret}{number}": with_secret(one, secret) for number, (key, one) in enumerate(value.items())}
    if isinstance(value, list):
        return [with_secret(one, secret) for one in value]
    return f"\\{value}{secret}\\" if isinstance(value, str) else value


@given(
    VALUES,
    st.sampled_from(["hunter-two1", '"q\\uote"/1', "12345678", "!!!!!!!!", "пароль-пароль", SECRET]),
    st.booleans(),
)
def test_a_message_keeps_all_but_its_secrets(value: object, secret: str, is_ascii: bool) -> None:
    veil = SecretRedactor([secret])
    held = with_secret(value, secret)
    text = json.dumps(held, ensure_ascii=is_ascii).encode()

    redacted = veil.message(text)

    assert [one for one in strings_in(json.loads(redacted)) if secret in one] == []
    assert re.sub(rb'"(?:[^"\\]|\\.)*"', b"", redacted) == re.sub(rb'"(?:[^"\\]|\\.)*"', b"", text)


@given(VALUES)
def test_a_message_without_a_secret_is_the_same_object(value: object) -> None:
    text = json.dumps(value).encode()

    assert SecretRedactor(["correct horse", "battery_staple9"]).message(text) is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"n":12345678,"s":"12345678"}', b'{"n":12345678,"s":"[redacted]"}'),
        (b'["a\\\\/b1c2d3e4", 1.50]', b'["a[redacted]", 1.50]'),
        (b'{"\\u0068unter2two": "\\u0068\\u0075nter2tw\\u006f"}', b'{"[redacted]": "[redacted]"}'),
        (b'{"text":"{\\"a\\":\\"\\\\/b1c2d3e4\\"}"}', b'{"text":"{\\"a\\":\\"[redacted]\\"}"}'),
        (b'"\\ud800hunter2two"', b'"\\ud800[redacted]"'),
        (b'"hunter2two', b'"[redacted]'),
        (b"hunter2two", b"hunter2two"),
    ],
)
def test_a_message_stays_json(text: bytes, expected: bytes) -> None:
    veil = SecretRedactor(["12345678", "/b1c2d3e4", "hunter2two"])

    assert veil.message(text) == expected


def test_a_message_of_nothing_but_secrets_is_redacted_with_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    veil = SecretRedactor(["hunter2two"])
    count = 0
    plain = SecretRedactor._string

    def counted(self: SecretRedactor, string: bytes) -> bytes:
        nonlocal count
        count += 1
        return plain(self, string)

    monkeypatch.setattr(SecretRedactor, "_string", counted)

    redacted = veil.message(json.dumps(["hunter2two"] * 100_000).encode())

    assert json.loads(redacted) == ["[redacted]"] * 100_000
    assert count == MAX_ECHOES
