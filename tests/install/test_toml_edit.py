"""TOML edited as text: a table goes in and out, every other byte stays, other forms are refused."""

from __future__ import annotations

import tomllib

import pytest

from signet.clients.toml_edit import drop_entry, find_entry, put_entry

PATH = ("mcp_servers", "signet")
ENTRY = {"command": "/opt/signet", "args": ["stdio", 'C:\\a "b"\x7f'], "env": {"A": "é", "b.c": "\n"}}
TABLE = (
    '[mcp_servers.signet]\ncommand = "/opt/signet"\nargs = ["stdio", "C:\\\\a \\"b\\"\\u007f"]\n'
    'env = { A = "é", "b.c" = "\\n" }\n'
)
CODEX = """\
# Codex
model = "o9" # the model
notify = [
  "[mcp_servers.signet]", # no header
]

[mcp_servers.docs]   # a server
command = "docs-server"
text = '''
[mcp_servers.signet]
x = "'''

[projects."/home/a b"]
trust_level = "trusted"
odd = nan
# the end
"""


@pytest.mark.parametrize("before", ["", "model = 1\n", CODEX, CODEX.replace("\n", "\r\n"), "# only\n", "a = 1\n\n\n"])
def test_a_table_is_put_at_the_end_and_can_be_taken_out_to_the_last_byte(before: str) -> None:
    newline = "\r\n" if "\r" in before else "\n"
    gap = "" if not before or before.endswith("\n\n") else newline

    after = put_entry(before, PATH, ENTRY)

    assert after == before + gap + TABLE.replace("\n", newline)
    assert tomllib.loads(after)["mcp_servers"]["signet"] == ENTRY
    assert find_entry(after, PATH) == ENTRY
    assert drop_entry(after, PATH) == before.removesuffix("\n\n\n") + ("\n\n" if before == "a = 1\n\n\n" else "")


def test_a_table_is_replaced_with_the_tables_below_it_wherever_they_stand() -> None:
    before = (
        '[mcp_servers."signet"]\ncommand = "old" # old\n# a note\n\n[other]\na = 1\n\n'
        '[ mcp_servers . signet . env ]\nX = "y"\n# kept\n[last]\n'
    )

    after = put_entry(before, PATH, {"command": "new"})

    assert after == '[mcp_servers.signet]\ncommand = "new"\n# a note\n\n[other]\na = 1\n\n# kept\n[last]\n'
    assert drop_entry(before, PATH) == "# a note\n\n[other]\na = 1\n# kept\n[last]\n"


def test_a_last_line_without_an_end_gets_one() -> None:
    assert put_entry("a = 1", PATH, {"command": "x"}) == 'a = 1\n\n[mcp_servers.signet]\ncommand = "x"\n'


REFUSED = {
    "mcp_servers = { docs = {} }\n": "mcp_servers is written as one value, to which no table can be added",
    'mcp_servers.signet.command = "x"\n': "mcp_servers.signet is not written as a table of its own",
    '[mcp_servers]\nsignet = { command = "x" }\n': "mcp_servers.signet is not written as a table of its own",
    "mcp_servers = 3\n": "mcp_servers is no table",
    "a = 1\nb = \n": "line 2: Invalid value",
    "[a\n": "line 1: Expected ']' at the end of a table declaration",
    'a = "': "line 1: Unterminated string",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_edited_as_a_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        put_entry(text, PATH, {"command": "new"})

    assert str(caught.value) == REFUSED[text]


def test_values_deeper_than_python_reads_are_refused() -> None:
    with pytest.raises(ValueError, match="deeper than can be read"):
        put_entry("a = " + "[" * 20_000 + "]" * 20_000, PATH, ENTRY)
