"""The `[limits]` table of a file: read, shown, and refused by line and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from signet.settings.model import Settings
from signet.settings.reading import read_configuration
from signet.settings.usage import UsageError

WHOLE = """\
[limits]
rate = "60/min"
burst = 10
on_store_error = "deny"

[limits.tools."plantuml.encode"]
quota = 5
concurrency = 4

[limits.principals.alice]
rate = "600/min"
"""
TABLE = {
    "rate": "60/min", "burst": 10, "on_store_error": "deny",
    "tools": {"plantuml.encode": {"quota": 5, "concurrency": 4}}, "principals": {"alice": {"rate": "600/min"}},
}  # fmt: skip


def read(folder: Path, text: str, **flags: Any) -> Settings:
    (folder / "signet.toml").write_text(text, encoding="utf-8")
    return read_configuration({}, {"config": str(folder / "signet.toml"), **flags}).settings


def refused(folder: Path, text: str, **flags: Any) -> str:
    with pytest.raises(UsageError) as caught:
        read(folder, text, **flags)
    return str(caught.value).replace(str(folder / "signet.toml"), "FILE")


def test_the_table_is_read_as_it_is_written(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE).limits == TABLE
    assert read(tmp_path, "port = 1").limits == {}


@pytest.mark.parametrize(("text", "told"), [
    ("limits = 5", "FILE:limits (line 1): write a table: [limits]"),
    ("[limits]\nrat = 1", "FILE:limits.rat (line 2): there is no such limit; did you mean rate?"),
    ("[limits]\ntool = 1", "FILE:limits.tool (line 2): there is no such limit; did you mean tools?"),
    ("[limits]\nrate = '60/week'", "FILE:limits.rate (line 2): '60/week' cannot be used; write a rate such as 60/min"),
    ("[limits.principals.al]\nquota = -1", "FILE:limits.principals.al.quota (line 2): write a whole number from 1 to"),
    ('[limits.tools."plantuml.encode"]\nconcurrent = 1',
     'FILE:limits.tools."plantuml.encode".concurrent (line 2): there is no such limit; did you mean concurrency?'),
    ("\n[limits.tools.'plantuml.encod']\nrate = '1/s'",
     "FILE:limits.tools.'plantuml.encod' (line 2): there is no such tool; did you mean plantuml.encode?"),
    ("[limits.tools.'plantuml.encode']\n[limits.tools.encodePlantUML]",
     "FILE:limits.tools.encodePlantUML (line 2): the table of the tool is there twice, also as plantuml.encode"),
    ("rate_limit = '5/s'\n[limits]\nrate = '5/s'", "FILE:limits.rate (line 3): the file has a rate_limit too"),
])  # fmt: skip
def test_what_cannot_be_used_is_told_by_line_and_key(text: str, told: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text).startswith(told)


@pytest.mark.parametrize("tool", ["plantuml.encode", "encodePlantUML", "boj.get_metadata", "oj.get_problem"])
def test_any_tool_of_signet_may_be_named_whatever_is_served(tool: str, tmp_path: Path) -> None:
    text = f'[limits.tools."{tool}"]\nrate = "1/s"\n'

    assert read(tmp_path, text, toolsets="plantuml").limits == {"tools": {tool: {"rate": "1/s"}}}


def test_a_tool_of_ones_own_is_known_where_its_toolset_is_served(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        'import signet\n\n\n@signet.tool\ndef sell() -> int:\n    """Sell one."""\n    return 1\n'
    )
    known = 'toolsets = ["shop.py"]\n[limits.tools.sell]\nrate = "1/s"\n'

    assert read(tmp_path, known, toolsets="plantuml").limits["tools"] == {"sell": {"rate": "1/s"}}
    assert read(tmp_path, known).limits["tools"] == {"sell": {"rate": "1/s"}}
    assert "there is no such tool" in refused(tmp_path, known.replace("sell]", "bell]"))


def test_it_is_shown_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text(WHOLE)
    file = str(tmp_path / "signet.toml")

    done = run_here("config", "--json", "--config", file)
    found = {one["name"]: (one["value"], one["origin"]) for one in json.loads(done.stdout)["settings"]}

    assert {name: one for name, one in found.items() if name.startswith("limits")} == {
        name: (value, f"{file}:{name}")
        for name, value in {
            "limits.rate": "60/min",
            "limits.burst": 10,
            "limits.on_store_error": "deny",
            'limits.tools."plantuml.encode".quota': 5,
            'limits.tools."plantuml.encode".concurrency': 4,
            "limits.principals.alice.rate": "600/min",
        }.items()
    }


def test_no_variable_sets_the_table(tmp_path: Path) -> None:
    settings = read_configuration({"SIGNET_LIMITS": "60/min"}, {"config": "/dev/null"})

    assert settings.settings.limits == {}
    assert settings.warnings["variables.ignored"].startswith("SIGNET_LIMITS is not a setting of Signet")
