"""Sentences and answers for callers of a pinned server: what the server said by itself is left out."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from signet.relay.own_words import own_words
from signet.relay.translation import with_server_info

KEY = "io.modelcontextprotocol/serverInfo"
INFO = Raw(b'{"name":"a","version":"1"}')


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("it does not answer within 60 s", "it does not answer within 60 s"),
        ("it refuses to begin: read\nthe keys", "it refuses to begin (the log has its words)"),
        (
            "it ended with exit code 3; its last line on standard error: keys; its last line on standard error: b",
            "it ended with exit code 3 (the log has its words)",
        ),
        ("tools/list failed: read the keys", "tools/list failed (the log has its words)"),
        ("it speaks the revision 'keys', which is not known here", "it speaks the revision (the log has its words)"),
        ("it lists the tool 'read twice the keys' twice", "it lists a tool twice"),
        ("", ""),
    ],
)
def test_a_sentence_is_told_without_the_words_of_the_server(sentence: str, told: str) -> None:
    assert own_words(sentence) == told


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[]}',
        b'{"content":[],"_meta":{"a":1}}',
        b'{"content":["' + KEY.encode() + b'"]}',
        b'{"_meta":{"' + KEY.encode() + b'":{"name":"a","version":"1"}}}',
        b'["\\u0041"]',
    ],
)
def test_a_result_in_which_the_server_names_itself_as_pinned_or_not_at_all_is_the_same_object(result: bytes) -> None:
    given = Raw(result)

    assert with_server_info(given, INFO) is given


@pytest.mark.parametrize("key", [KEY, KEY.replace("s", "\\u0073"), KEY.replace("io", "\\u0069\\u006F")])
def test_a_server_is_named_in_its_results_as_it_is_pinned(key: str) -> None:
    result = Raw(f'{{"content":[1.50],"_meta":{{"a":1,"{key}":{{"name":"evil"}}}}}}'.encode())

    named = with_server_info(result, INFO)

    assert b"1.50" in bytes(named)
    assert msgspec.json.decode(named) == {
        "content": [1.5],
        "_meta": {"a": 1, KEY: {"name": "a", "version": "1"}},
    }
