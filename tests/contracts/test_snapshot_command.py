"""`signet contract snapshot` of any server, and `contract diff` of snapshots and locks in every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from commands_in_process import signet_here
from processes import BIN, ROOT, clean_env

SERVER = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
ACTION = yaml.safe_load((ROOT / "deploy/github-action/action.yml").read_text(encoding="utf-8"))


def run(folder: Path, *args: str) -> tuple[int, str]:
    done = signet_here(folder, *args)
    assert done.stderr == b"", done.stderr
    return done.returncode, done.stdout.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with snapshots of the server as it was and as it is, and a lock of both."""
    folder = tmp_path_factory.mktemp("snapshots")
    for name, words in {"old": [], "wider": ["optional"], "new": ["field", "removed", "added", "hidden"]}.items():
        status, text = run(folder, "contract", "snapshot", "--", *SERVER, *words)
        assert status == 0
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    run(folder, "lock", "--", *SERVER)
    return folder


def diff(folder: Path, old: str, new: str, *flags: str) -> tuple[int, str]:
    return run(folder, "contract", "diff", old, new, *flags)


def test_a_snapshot_has_everything_as_the_server_wrote_it(folder: Path) -> None:
    text = (folder / "old.json").read_text(encoding="utf-8")

    value = json.loads(text)
    assert (value["snapshot"], value["name"], value["server"]["era"]) == (1, "changing_server", "handshake")
    assert [tool["name"] for tool in value["server"]["tools"]] == ["weather", "time"]
    assert list(value["server"]["tools"][0])[:3] == ["name", "title", "description"]
    assert '"maxLength": 15.0' in text
    assert value["server"]["instructions"] == "Ask for one city at a time."


@pytest.mark.parametrize("old", ["old.json", "signet.lock", "signet.lock#changing_server"])
def test_snapshots_and_locks_are_contract_sets(folder: Path, old: str) -> None:
    same, wider, new = (diff(folder, old, name, "--json") for name in ("old.json", "wider.json", "new.json"))

    assert (same[0], wider[0], new[0]) == (0, 0, 1)
    assert [
        (finding["tool"], finding["side"], finding["verdict"])
        for finding in json.loads(new[1])["findings"]
        if finding["why"] != "unchanged"
    ] == [("weather", "output", "breaking"), ("time", "both", "removed"), ("tides", "both", "added")]


def test_a_file_that_is_no_set_is_refused(folder: Path) -> None:
    (folder / "other.json").write_text('{"a":1}')

    for name in ("other.json", "signet.lock#nosuch", "missing.json"):
        assert signet_here(folder, "contract", "diff", name, "old.json").returncode == 2


def test_a_server_that_cannot_be_read_has_no_snapshot(tmp_path: Path) -> None:
    done = signet_here(tmp_path, "contract", "snapshot", "--", *SERVER, "loop")

    assert (done.returncode, done.stdout, b"does not end" in done.stderr) == (12, b"", True)


def test_sarif_has_what_version_2_1_0_requires(folder: Path) -> None:
    status, text = diff(folder, "old.json", "new.json", "--format", "sarif")

    log = json.loads(text)
    [one] = log["runs"]
    driver = one["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    lines = (folder / "old.json").read_text(encoding="utf-8").splitlines()
    assert (status, log["version"], driver["name"]) == (1, "2.1.0", "signet contract diff")
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    assert [(result["ruleId"], result["level"]) for result in one["results"]] == [
        ("output", "error"),
        ("both", "error"),
    ]
    for result, tool in zip(one["results"], ("weather", "time"), strict=True):
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"].startswith(f"{tool}: ")
        assert place["artifactLocation"] == {"uri": "old.json", "uriBaseId": "%SRCROOT%"}
        assert lines[place["region"]["startLine"] - 1].strip() == f'"name": "{tool}",'
    assert '{"celsius":0}' in one["results"][0]["message"]["text"]


def test_junit_has_a_case_for_each_side_of_each_tool(folder: Path) -> None:
    status, text = diff(folder, "old.json", "new.json", "--format", "junit")

    root = ET.fromstring(text)
    [suite] = root
    assert (status, root.tag, root.get("name")) == (1, "testsuites", "signet contract diff")
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert [(case.get("classname"), case.get("name"), [part.tag for part in case]) for case in suite] == [
        ("weather", "input", ["system-out"]),
        ("weather", "output", ["failure"]),
        ("time", "both", ["failure"]),
        ("tides", "both", ["system-out"]),
    ]


def test_markdown_is_a_table_of_what_changed(folder: Path) -> None:
    broken, compatible = (diff(folder, "old.json", name, "--format", "markdown") for name in ("new.json", "wider.json"))

    assert broken[0] == 1
    assert broken[1] == (
        "### Contracts: a change breaks clients\n\n"
        "`old.json` → `new.json`: tools: 3, breaking: 2, compatible: 0, added: 1\n\n"
        "| tool | side | verdict | why | example |\n|---|---|---|---|---|\n"
        '| `weather` | output | breaking | "sky" is a required property | `{"celsius":0}` |\n'
        "| `time` | both | removed | it is gone |  |\n"
        "| `tides` | both | added | it is new |  |\n"
    )
    assert (compatible[0], compatible[1].splitlines()[0]) == (0, "### Contracts: no change breaks clients")


def test_markdown_shows_the_texts_of_a_server_as_they_are(tmp_path: Path) -> None:
    name = "a|b`<img src=x>\u200b\n[x](y)@user"
    tool = {"name": name, "inputSchema": {"type": "object"}}
    server = {"era": "modern", "version": "1", "server_info": {}, "capabilities": {}}
    for file, tools in (("a.json", [tool]), ("b.json", [{**tool, "name": "b"}])):
        (tmp_path / file).write_text(json.dumps({"snapshot": 1, "name": "s", "server": {**server, "tools": tools}}))

    row = diff(tmp_path, "a.json", "b.json", "--format", "markdown")[1].splitlines()[6]

    assert row == "| ``a\\|b`<img src=x>⟨U+200B⟩⟨U+000A⟩[x](y)@user`` | both | removed | it is gone |  |"


def steps() -> list[dict[str, Any]]:
    return [step for step in ACTION["runs"]["steps"] if "run" in step]


def filled(value: str, inputs: dict[str, str], outputs: dict[str, str]) -> str:
    """Return a value of the action as GitHub would fill it in."""
    for name, given in inputs.items():
        value = value.replace(f"${{{{ inputs.{name} }}}}", given)
    for name, given in outputs.items():
        value = value.replace(f"${{{{ steps.compare.outputs.{name} }}}}", given)
    assert "${{" not in value
    return value


def act(folder: Path, **given: str) -> tuple[list[int], dict[str, str]]:
    """Run the commands of the action one after another, as its runner would; the installation is left out."""
    inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | given
    outputs: dict[str, str] = {}
    statuses: list[int] = []
    files = {
        "RUNNER_TEMP": str(folder),
        **{name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")},
    }
    for step in steps()[1:]:
        own = {name: filled(value, inputs, outputs) for name, value in step["env"].items()}
        env = clean_env({**files, **own, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"})
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        statuses.append(subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False).returncode)
        if (folder / "GITHUB_OUTPUT").exists():
            outputs = dict(line.split("=") for line in (folder / "GITHUB_OUTPUT").read_text().splitlines())
    return statuses, outputs


@pytest.mark.parametrize(
    ("word", "statuses", "breaking"), [("optional", [0, 0, 0], "false"), ("field", [0, 0, 1], "true")]
)
def test_the_github_action_fails_where_a_change_breaks_clients(
    folder: Path, tmp_path: Path, word: str, statuses: list[int], breaking: str
) -> None:
    (tmp_path / "base.json").write_bytes((folder / "old.json").read_bytes())
    command = " ".join(f"'{part}'" for part in (*SERVER, word))

    ran, outputs = act(tmp_path, baseline="base.json", command=command)

    assert (ran, outputs) == (statuses, {"breaking": breaking})
    assert json.loads((tmp_path / "signet.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("### Contracts: ")


def test_the_github_action_puts_no_input_into_a_script() -> None:
    """What an input says is data: it comes by the environment."""
    assert ACTION["runs"]["using"] == "composite"
    assert all("${{" not in step["run"] and step["shell"] == "bash" for step in steps())
    assert steps()[0]["name"] == "Install"
    assert [step["uses"].partition("@")[0] for step in ACTION["runs"]["steps"] if "uses" in step] == [
        "github/codeql-action/upload-sarif"
    ]
