"""YAML edited as text: an entry goes in and out, every other byte stays, what is uncertain is refused.

PyYAML, which Signet itself does not need, says what the files mean.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from signet.clients.yaml_edit import drop_entry, find_entry, put_entry

PATH = ("extensions", "signet")
ENTRY = {
    "name": "signet",
    "type": "stdio",
    "cmd": "/opt/a b/signet",
    "args": ["stdio", "/x: #y", "--no", "no", "1", 'q"\\\t\u2028\x85é'],
    "envs": {"A": "true", "B": ""},
    "enabled": True,
    "timeout": 300,
}
LINES = """\
  signet:
    name: signet
    type: stdio
    cmd: "/opt/a b/signet"
    args:
      - stdio
      - "/x: #y"
      - "--no"
      - "no"
      - "1"
      - "q\\"\\\\\\u0009\\u2028\\u0085é"
    envs:
      A: "true"
      B: ""
    enabled: true
    timeout: 300
"""
GOOSE = """\
---
# Goose
GOOSE_PROVIDER: openai   # the provider
GOOSE_HINT: |
  extensions:
    signet: not here

extensions:  # the tools
  # built in
  developer:
    bundled: true
    args:
    - a
    - "b: c"
    text: don't stop
      at the line's end
    note: 'it''s'
    flow: {a: [1, 2], "b}": '['}
  "other one":
    items:
      - key: |-
          literal
        more: 1
      - last
  kept:
    text: |+
      with blank lines

GOOSE_MODEL: gpt
list:
- a
- b: 1
  c: "2"
"""


def expected(text: str) -> Any:
    """What a file should mean with the entry."""
    value = yaml.safe_load(text) or {}
    value["extensions"] = {**(value.get("extensions") or {}), "signet": ENTRY}
    return value


@pytest.mark.parametrize("before", [GOOSE, GOOSE.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_an_entry_is_put_in_and_taken_out_to_the_last_byte(before: str) -> None:
    newline = "\r\n" if "\r" in before else "\n"
    head = f"extensions:  # the tools{newline}"

    after = put_entry(before, PATH, ENTRY)

    assert after == before.replace(head, head + LINES.replace("\n", newline))
    assert yaml.safe_load(after) == expected(before)
    assert find_entry(before, PATH) is None
    assert find_entry(after, PATH) == ENTRY
    assert drop_entry(after, PATH) == before


WRITTEN = {
    "": f"extensions:\n{LINES}",
    "# mine\nA: 1": f"# mine\nA: 1\nextensions:\n{LINES}",
    "extensions: {}  # none\nA: 1\n": f"extensions:  # none\n{LINES}A: 1\n",
    "extensions:\n# none\nA: 1\n": f"extensions:\n{LINES}# none\nA: 1\n",
    "extensions: null\n": f"extensions:\n{LINES}",
}


@pytest.mark.parametrize("before", WRITTEN)
def test_an_entry_is_written_where_there_is_none(before: str) -> None:
    after = put_entry(before, PATH, ENTRY)

    assert after == WRITTEN[before]
    assert yaml.safe_load(after) == expected(before)


def test_an_entry_has_the_indentation_of_its_neighbours() -> None:
    before = '"extensions":\n    a:\n        b: 1\n'

    after = put_entry(before, PATH, {"cmd": "x", "args": ["z"]})

    assert after == '"extensions":\n    signet:\n      cmd: x\n      args:\n        - z\n    a:\n        b: 1\n'


def test_an_entry_that_the_client_has_written_anew_is_the_same_entry() -> None:
    """Goose sorts the keys and adds its defaults."""
    text = (
        "extensions:\n  signet:\n    args:\n    - stdio\n    available_tools: []\n    bundled: null\n"
        "    cmd: /opt/signet\n    description: ''\n    enabled: true\n    env_keys: []\n    envs: {}\n"
        "    name: signet\n    timeout: 300\n    type: stdio\n"
    )
    entry = {
        "name": "signet",
        "type": "stdio",
        "cmd": "/opt/signet",
        "args": ["stdio"],
        "enabled": True,
        "timeout": 300,
    }

    assert find_entry(text, PATH) == entry
    assert drop_entry(text, PATH) == "extensions: {}\n"


def test_a_replaced_entry_stands_where_the_old_one_stood() -> None:
    before = "extensions:\n  a: {}\n  signet:\n    cmd: old\n    text: >\n      folded\n\n  # next\n  b: {}\n"

    assert put_entry(before, PATH, {"cmd": "new"}) == (
        "extensions:\n  a: {}\n  signet:\n    cmd: new\n\n  # next\n  b: {}\n"
    )


REFUSED = [
    ("extensions: {a: {b: 1}}\n", 1),
    ("- a\n", 1),
    ("{}\n", 1),
    ("extensions: &all\n  a: {}\n", 1),
    ("extensions:\n  a: &one\n    b: 1\n", 2),
    ("extensions:\n  <<: {}\n", 2),
    ("extensions:\n\ta: 1\n", 2),
    ("extensions:\n- a\n", 2),
    ("extensions: some text\n  over lines\n", 1),
    ("extensions: 3\n", 1),
    ("extensions:\n  over lines\n", 2),
    ('a: "b\nextensions:\n  c"\n', 1),
    ("a: 'b\nextensions:\n  c'\n", 1),
    ("a: {b: 1,\nextensions: 2}\n", 1),
    ("a: [b,\n 2]\n", 1),
    ("a: 1\n---\nb: 2\n", 2),
    ("a: 1\n...\n", 2),
    ("%YAML 1.2\n---\na: 1\n", 1),
    ("extensions:\n  a: 1\nextensions:\n  b: 1\n", 3),
    ("extensions:\n  a: {}\n  a: {}\n", 3),
    ("extensions:\n    a: {}\n  b: {}\n", 3),
    ("? a\n: b\n", 1),
    ("  a: 1\n", 1),
    ("a: b\u2028c\n", 1),
    ("a: 1\rextensions:\r", 1),
    ("a:\n- - b\n", 2),
    ("!!map\na: 1\n", 1),
    ("a:\n- b: |\n    text\n  c: &d\n", 4),
]


@pytest.mark.parametrize(("text", "line"), REFUSED)
def test_what_cannot_be_edited_with_certainty_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"^line {line}: "):
        put_entry(text, PATH, ENTRY)


words = st.text(st.sampled_from("ab:#-'\"{}[],&*!|>%@ \n\té?~0"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(words, values, max_size=3),
    st.dictionaries(words, values, min_size=1, max_size=3),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_whatever_a_program_has_written_is_edited_rightly_or_refused(
    top: dict[str, Any], extensions: dict[str, Any], indent: int, sort: bool
) -> None:
    text = yaml.safe_dump({**top, "extensions": extensions}, indent=indent, sort_keys=sort, allow_unicode=True)
    try:
        after = put_entry(text, PATH, ENTRY)
    except ValueError:
        return

    assert yaml.safe_load(after) == expected(text)
    assert drop_entry(after, PATH) == text


@given(st.dictionaries(words, words, max_size=3), st.dictionaries(words, words, min_size=1, max_size=3))
def test_values_on_one_line_are_never_refused(top: dict[str, str], below: dict[str, str]) -> None:
    """Each text as JSON writes it, which is YAML too."""
    lines = [f"{json.dumps('k' + key)}: {json.dumps(value)}\n" for key, value in top.items()]
    lines += ["extensions:\n", *(f"  {json.dumps('k' + key)}: {json.dumps(value)}\n" for key, value in below.items())]
    text = "".join(lines)

    after = put_entry(text, PATH, ENTRY)

    assert yaml.safe_load(after) == expected(text)
    assert drop_entry(after, PATH) == text
