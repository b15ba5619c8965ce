"""JSON with comments, edited as text: the entry goes in and out, every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.clients.json_edit import drop_entry, find_entry, put_entry

PATH = ("mcpServers", "signet")
ENTRY = {"command": "/opt/signet", "args": ["stdio", "/päth/tools.py"]}
ONE_LINE = '"signet": {"command": "/opt/signet", "args": ["stdio", "/päth/tools.py"]}'


def plain(text: str) -> str:
    """Strip comments, then commas before a closing bracket: character by character, as slowly as it is simple."""
    out: list[str] = []
    place = 0
    while place < len(text):
        if text[place] == '"':
            end = place + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[place : end + 1])
            place = end + 1
        elif text.startswith("//", place):
            while place < len(text) and text[place] not in "\r\n":
                place += 1
        elif text.startswith("/*", place):
            place = text.index("*/", place + 2) + 2
        elif text[place].isspace():
            place += 1
        else:
            if text[place] in "}]" and out[-1] == ",":
                out.pop()
            out.append(text[place])
            place += 1
    return "".join(out)


def read(text: str) -> Any:
    return json.loads(plain(text) or "{}")


LINES = '"signet": {\n      "command": "/opt/signet",\n      "args": ["stdio", "/päth/tools.py"]\n    }'
"""The entry below an object of servers that is indented by two."""
WRITTEN = {
    "a missing or empty file": ("", f'{{\n  "mcpServers": {{\n    {LINES}\n  }}\n}}\n'),
    "an object on one line": ('{"a": 1}', f'{{"a": 1, "mcpServers": {{{ONE_LINE}}}}}'),
    "no servers, on one line": ('{"mcpServers": {}}', f'{{"mcpServers": {{{ONE_LINE}}}}}'),
    "servers on one line": ('{"mcpServers":{"a":{}}}\n', f'{{"mcpServers":{{"a":{{}}, {ONE_LINE}}}}}\n'),
    "no servers, over lines": (
        '{\n\t"mcpServers": {}\n}',
        '{\n\t"mcpServers": {\n\t\t' + LINES.replace("      ", "\t\t\t").replace("    }", "\t\t}") + "\n\t}\n}",
    ),
    "a comment behind the last server": (
        '{\n  "mcpServers": {\n    "a": {} // mine\n    // the end\n  }\n}',
        f'{{\n  "mcpServers": {{\n    "a": {{}}, // mine\n    // the end\n    {LINES}\n  }}\n}}',
    ),
    "a trailing comma, and Windows line ends": (
        '{\r\n  "mcpServers": {\r\n    "a": {},\r\n  },\r\n}\r\n',
        f'{{\n  "mcpServers": {{\n    "a": {{}},\n    {LINES},\n  }},\n}}\n'.replace("\n", "\r\n"),
    ),
    "a file of comments": ("// settings", f'// settings\n{{\n  "mcpServers": {{\n    {LINES}\n  }}\n}}\n'),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_an_entry_is_written_in_the_style_of_the_file(case: str) -> None:
    before, after = WRITTEN[case]

    assert put_entry(before, PATH, ENTRY) == after
    assert find_entry(before, PATH) is None
    assert find_entry(after, PATH) == ENTRY


DROPPED = {
    "the first of two": ('{"mcpServers": {"signet": {}, "a": 1}}', '{"mcpServers": {"a": 1}}'),
    "the middle one": (
        '{"mcpServers": {\n  "a": 1, // a\n  "signet": {/* x */},\n  "b": 2\n}}',
        '{"mcpServers": {\n  "a": 1, // a\n  "b": 2\n}}',
    ),
    "the last, behind a comment on the line of the closing brace": (
        '{"mcpServers": {"a": 1, // a\n  "signet": {}}}',
        '{"mcpServers": {"a": 1 // a\n}}',
    ),
    "the only one, beside a comment": (
        '{"mcpServers": {\n  // mine\n  "signet": {}\n}}',
        '{"mcpServers": {\n  // mine\n}}',
    ),
    "the only one": ('{\n  "mcpServers": {\n    "signet": {},\n  }\n}', '{\n  "mcpServers": {}\n}'),
}


@pytest.mark.parametrize("case", DROPPED)
def test_an_entry_is_cut_with_its_comma_and_comments_around_it_stay(case: str) -> None:
    before, after = DROPPED[case]

    assert drop_entry(before, PATH) == after


def test_a_replaced_entry_stands_where_the_old_one_stood() -> None:
    before = '{\n  "mcpServers": {\n    "signet": {"command": "old"}, // keep\n    "b": {}\n  }\n}'

    after = put_entry(before, PATH, {"command": "new"})

    assert after == '{\n  "mcpServers": {\n    "signet": {\n      "command": "new"\n    }, // keep\n    "b": {}\n  }\n}'


REFUSED = {
    '{"a": 1': "line 1: Expecting ',' delimiter",
    '{\n"a": "x\n"}': "line 2: a string that does not end",
    '{\n\n"a": tru}': "line 3: Expecting value",
    '{"a": NaN}': "line 1: NaN, which is not JSON",
    "[/* x */,]": "line 1: Expecting value",
    "{ // x\n,}": "line 2: Expecting property name enclosed in double quotes",
    "{,}": "line 1: Expecting property name enclosed in double quotes",
    '{"a": 1,,}': "line 1: Expecting property name enclosed in double quotes",
    "[1]\n": "line 1: the file holds no object",
    "{}\n{}": "line 2: Extra data",
    "{ /* no end": "line 1: /, which is not JSON",
    '{"mcpServers": null}': 'line 1: "mcpServers" holds no object',
    '{"mcpServers": {},\n"mcpServers": {}}': 'line 2: the key "mcpServers" stands on the lines 1 and 2',
    '{"mcpServers": {"signet": 1,\n"signet": 2}}': 'line 2: the key "signet" stands on the lines 1 and 2',
    '{"a": ' + "[" * 300 + "]" * 300 + "}": "line 1: objects and lists in each other, deeper than 200",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_a_file_that_cannot_be_read_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        put_entry(text, PATH, ENTRY)

    assert str(caught.value) == REFUSED[text]


def test_a_duplicate_elsewhere_and_a_number_of_any_length_stay() -> None:
    before = '{"a": 1, "a": ' + "9" * 5000 + ', "mcpServers": {"b": {}}}'

    assert drop_entry(put_entry(before, PATH, ENTRY), PATH) == before


def test_a_large_file_is_edited() -> None:
    before = '{"mcpServers": {"a": {}}, "list": [' + "1," * 50_000 + "]}"

    after = put_entry(before, PATH, ENTRY)

    assert after == before.replace('{"a": {}}', f'{{"a": {{}}, {ONE_LINE}}}')


# --- any file -----------------------------------------------------------------------------------

NASTY = ["//", "/*", "*/", '"', "\\", ",}", "{", "signet", "mcpServers", "é", "\u2028", "\U0001f600", "\x7f", "\ud800"]
strings = st.lists(st.sampled_from([*NASTY, "a", "b"]), max_size=4).map("".join)
keys = strings.filter(lambda key: key not in {"mcpServers", "signet"})
comments = st.sampled_from(["/**/", "/* a // b */", "/*\n*/", "// }\n", '// "x": 1,\r\n', "//\n"])
trivia = st.lists(st.one_of(st.sampled_from(["", " ", "\n", "\r\n", "\t", "  "]), comments), max_size=3).map("".join)


@st.composite
def scalars(draw: st.DrawFn) -> str:
    value = draw(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), strings)
    )
    return json.dumps(value, ensure_ascii=isinstance(value, str) and "\ud800" in value)


@st.composite
def collections(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """An object or a list, with trivia in every place."""
    if draw(st.booleans()):
        names = draw(st.lists(keys, max_size=3, unique=True))
        return draw(written_object([(name, draw(inner)) for name in names]))
    items = [draw(trivia) + draw(inner) + draw(trivia) for _ in range(draw(st.integers(0, 3)))]
    trailing = "," + draw(trivia) if items and draw(st.booleans()) else ""
    return "[" + ",".join(items) + trailing + ("" if items else draw(trivia)) + "]"


@st.composite
def written_object(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    parts = [
        draw(trivia)
        + json.dumps(key, ensure_ascii="\ud800" in key)
        + draw(trivia)
        + ":"
        + draw(trivia)
        + value
        + draw(trivia)
        for key, value in members
    ]
    trailing = "," + draw(trivia) if parts and draw(st.booleans()) else ""
    return "{" + ",".join(parts) + trailing + ("" if parts else draw(trivia)) + "}"


values = st.recursive(scalars(), collections, max_leaves=6)


@st.composite
def files(draw: st.DrawFn, least_servers: int = 0) -> str:
    """A file, with or without the object of servers; its members in any order."""
    members = [(key, draw(values)) for key in draw(st.lists(keys, max_size=3, unique=True))]
    if least_servers or draw(st.booleans()):
        names = draw(st.lists(keys, min_size=least_servers, max_size=3, unique=True))
        servers = draw(written_object([(name, draw(values)) for name in names]))
        members.insert(draw(st.integers(0, len(members))), ("mcpServers", servers))
    return draw(trivia) + draw(written_object(members)) + draw(trivia)


@given(files())
def test_whatever_the_file_the_entry_is_added_and_nothing_else_changes(text: str) -> None:
    expected = read(text)
    expected.setdefault("mcpServers", {})["signet"] = ENTRY

    after = put_entry(text, PATH, ENTRY)

    assert read(after) == expected
    assert list(read(after)) == list(expected)


@given(files(least_servers=1))
def test_what_was_put_beside_other_servers_can_be_taken_out_to_the_last_byte(text: str) -> None:
    assert drop_entry(put_entry(text, PATH, ENTRY), PATH) == text


@given(files(), st.data())
def test_any_entry_can_be_taken_out(text: str, data: st.DataObject) -> None:
    expected = read(text)
    servers = expected.get("mcpServers") or {"signet": {}}
    name = data.draw(st.sampled_from(list(servers)))
    path = ("mcpServers", name)
    before = text if name in expected.get("mcpServers", {}) else put_entry(text, path, {})
    expected.setdefault("mcpServers", {}).pop(name, None)

    assert read(drop_entry(before, path)) == expected


@given(files(), st.data())
def test_a_replaced_entry_changes_nothing_else(text: str, data: st.DataObject) -> None:
    expected = read(text)
    expected.setdefault("mcpServers", {})["signet"] = ENTRY
    before = put_entry(text, PATH, data.draw(values.map(read_value)))

    assert read(put_entry(before, PATH, ENTRY)) == expected


def read_value(text: str) -> Any:
    """A value that is not null, which stands for no entry."""
    return {"x": read('{"v": ' + text + "}")["v"]}
