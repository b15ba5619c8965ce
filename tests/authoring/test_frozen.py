"""Frozen contracts: files beside the code that are the truth, and a start that any drift stops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import signet_here
from processes import clean_env
from signet.app import open_toolbox
from signet.authoring.claims import unclaimed
from signet.authoring.json_lines import line_of
from signet.settings.catalogue import find_toolset, load
from signet.settings.model import EnabledToolset

ADD = '''
import signet

@signet.tool(example={"a": 1, "b": 2})
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b
'''
SUB = '''
@signet.tool(example={"a": 1})
def sub(a: int) -> int:
    """Return the number, less one."""
    return a - 1
'''
VERSIONED = """
toolset = signet.Toolset(name="tools", tools=[add], version="{version}")
"""
FROZEN_ADD = """\
{
  "tool": "tools.add",
  "input": {
    "type": "object",
    "properties": {
      "a": {
        "type": "integer"
      },
      "b": {
        "type": "integer",
        "default": 0
      }
    },
    "required": [
      "a"
    ]
  },
  "output": {
    "type": "object",
    "properties": {
      "result": {
        "type": "integer"
      }
    },
    "required": [
      "result"
    ]
  }
}
"""
START = "the contracts of tools have changed since they were frozen: "
END = "; 'signet contract freeze tools.py' keeps what the types say\n"
HIGHER = "; mend it, or 'signet contract freeze tools.py --version 0.2.0'\n"
"""The end where callers break: the version must be raised."""


def signet(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    done = signet_here(folder, *args)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def freeze(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return signet(folder, "contract", "freeze", *(args or ("tools.py",)))


def write(folder: Path, code: str, name: str = "tools.py") -> None:
    (folder / name).write_text(code, encoding="utf-8")


def frozen(folder: Path, code: str) -> Path:
    """Freeze a file of tools and return the folder of its contracts."""
    write(folder, code)
    done = freeze(folder)
    assert done.returncode == 0, done.stderr
    return folder / "contracts"


def files(folder: Path) -> dict[str, Any]:
    contracts = folder / "contracts"
    return {str(path.relative_to(contracts)): path.read_text() for path in sorted(contracts.rglob("*.json"))}


def refusal(folder: Path, *args: str) -> str:
    done = signet(folder, *(args or ("tools", "tools.py")))
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.removeprefix("signet: ")


def test_freezing_writes_a_file_for_each_tool_and_one_for_the_toolset(tmp_path: Path) -> None:
    write(tmp_path, ADD)

    done = freeze(tmp_path)

    words = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert words == "tool change why example tools.add new it is new tools 0.1.0: 1 tool is frozen in contracts"
    assert files(tmp_path) == {
        "tools/tools.add.json": FROZEN_ADD,
        "toolset.json": '{\n  "toolset": "tools",\n  "version": "0.1.0",\n  "tools": [\n    "tools.add"\n  ]\n}\n',
    }


def test_freezing_tells_what_clients_refuse(tmp_path: Path) -> None:
    write(tmp_path, ADD)

    done = freeze(tmp_path)

    place = "tools.add/inputSchema/properties/a"
    assert [line for line in done.stderr.splitlines() if line.startswith(f"signet: warning: {place}: ")] != []


def test_what_is_frozen_is_served_and_freezing_again_changes_nothing(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    before = files(tmp_path)

    done = freeze(tmp_path)

    assert (done.returncode, "unchanged" in done.stdout) == (0, True)
    assert files(tmp_path) == before
    assert json.loads(signet(tmp_path, "call", "--toolsets", "tools.py", "add", "a=1", "b=2").stdout) == {"result": 3}


def test_the_files_are_published_in_their_own_order(tmp_path: Path) -> None:
    """An author may edit a description's place; equal values in another order are no drift."""
    contracts = frozen(tmp_path, ADD)
    path = contracts / "tools/tools.add.json"
    bundle = json.loads(path.read_text())
    bundle["input"] = dict(reversed(bundle["input"].items()))
    path.write_text(json.dumps(bundle))

    listed = json.loads(signet(tmp_path, "tools", "tools.py", "--json").stdout)

    assert '"required":["a"],"properties"' in json.dumps(listed, separators=(",", ":"))


BREAKING = ADD.replace("b: int = 0", "b: int")
CHANGES = {
    "breaking": (
        BREAKING,
        'the input of tools.add breaks callers ("b" is a required property; {"a":0} is refused now)',
    ),
    "compatible": (
        ADD.replace("a: int,", "a: int | None,"),
        "the input of tools.add changed and breaks nobody (takes more: a changed)",
    ),
    "a new parameter": (
        ADD.replace("b: int = 0", "b: int = 0, c: int = 0"),
        "the input of tools.add changed and breaks nobody (takes more: c is new)",
    ),
    "an optional parameter": (
        ADD.replace("a: int,", "a: int = 1,"),
        "the input of tools.add changed and breaks nobody (takes more: a is optional now)",
    ),
    "words": (
        ADD.replace("integers.", "integers.\n\n    Args:\n        a: the first"),
        "the input of tools.add changed and breaks nobody (only words changed: a changed)",
    ),
    "default": (
        ADD.replace("b: int = 0", "b: int = 10"),
        "the input of tools.add changed and breaks nobody (the default of b is another: 0 → 10)",
    ),
    "default and more": (
        ADD.replace("a: int, b: int = 0", "a: int | None, b: int = 10"),
        "the input of tools.add changed and breaks nobody (takes more: a changed; the default of b is another: 0 → 10)",
    ),
    "output": (
        ADD.replace("-> int", "-> int | str"),
        'the output of tools.add breaks callers (result: "a" is not of type "integer"; {"result":"a"} may come now)',
    ),
    "new": (ADD + SUB, "tools.sub is new, which breaks nobody"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_drift_stops_the_start_and_says_what_it_breaks(tmp_path: Path, change: str) -> None:
    code, told = CHANGES[change]
    frozen(tmp_path, ADD)
    write(tmp_path, code)

    assert refusal(tmp_path) == START + told + (HIGHER if "breaks callers" in told else END)


@pytest.mark.parametrize(
    "command",
    [
        ("stdio", "tools.py"),
        ("serve", "tools.py", "--port", "0"),
        ("call", "--toolsets", "tools.py", "add", "a=1"),
    ],
    ids=lambda command: command[0],
)
def test_a_drift_stops_each_start(tmp_path: Path, command: tuple[str, ...]) -> None:
    code, told = CHANGES["breaking"]
    frozen(tmp_path, ADD)
    write(tmp_path, code)

    assert refusal(tmp_path, *command) == START + told + HIGHER


def test_a_tool_that_is_gone_is_a_drift_that_breaks(tmp_path: Path) -> None:
    frozen(tmp_path, ADD + SUB)
    write(tmp_path, ADD)

    assert refusal(tmp_path) == f"{START}tools.sub is gone, which breaks its callers{HIGHER}"


def test_many_changes_are_counted(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    more = "".join(SUB.replace("def sub", f"def sub{number}") for number in range(9))
    write(tmp_path, ADD + more)

    told = refusal(tmp_path)

    assert told.count("is new") == 5
    assert "; and 4 more changes; 'signet contract freeze tools.py'" in told


def test_a_script_that_serves_itself_is_stopped_too(tmp_path: Path) -> None:
    frozen(tmp_path, ADD + "signet.run()\n")
    write(tmp_path, BREAKING + "signet.run()\n")
    python = [sys.executable, "tools.py"]

    done = subprocess.run(python, cwd=tmp_path, env=clean_env(), input=b"", capture_output=True, check=False)

    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"signet: {START}the input of tools.add breaks callers")
    assert done.stderr.decode().endswith(HIGHER), "the advice names the script's file"


def test_with_a_callback_a_drift_is_told_and_the_types_are_the_contract(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    (tmp_path / "lenient").mkdir()
    write(tmp_path, BREAKING.replace("import signet", "import signet  # another file"), "lenient_tools.py")
    mark = tmp_path / "contracts/toolset.json"
    mark.write_text(mark.read_text().replace('"toolset": "tools"', '"toolset": "lenient_tools"'))
    toolset = find_toolset(load(str(tmp_path / "lenient_tools.py"))[0])
    told: list[str] = []

    _, registry = open_toolbox([EnabledToolset(toolset, toolset.settings())], on_drift=told.append)

    assert len(told) == 1
    assert "lenient_tools.add is new" in told[0]
    assert json.loads(bytes(registry.load_bundle("lenient_tools.add").input))["required"] == ["a", "b"]


def test_a_part_of_a_frozen_file_is_served_and_cannot_be_frozen(tmp_path: Path) -> None:
    frozen(tmp_path, ADD + SUB)
    before = files(tmp_path)

    listed = signet(tmp_path, "tools", "tools:add", "--json")

    assert [tool["name"] for tool in json.loads(listed.stdout)] == ["add"]
    assert refusal(tmp_path, "contract", "freeze", "tools:add") == (
        "tools:add is a part of a toolset: name its file, or a signet.Toolset in it\n"
    )
    assert files(tmp_path) == before


def test_a_part_is_held_to_the_contract_of_its_toolset(tmp_path: Path) -> None:
    frozen(tmp_path, ADD + VERSIONED.format(version="1.0.0").replace('"tools"', '"third"'))
    write(tmp_path, BREAKING + VERSIONED.format(version="1.0.0").replace('"tools"', '"third"'))
    write(tmp_path, "from tools import add\n", "elsewhere.py")

    for target in ("tools:toolset", "tools:add", "elsewhere:add"):
        told = refusal(tmp_path, "tools", target)
        assert "the input of third.add breaks callers" in told
        assert target == "tools:toolset" or told.endswith("and then 'signet contract freeze tools.py'\n")


BROKEN = {
    "no JSON": ("tools/tools.add.json", '{\n  "tool": "tools.add",\n  "input": {,\n', "tools/tools.add.json, line 3,"),
    "cut off": ("tools/tools.add.json", '{\n  "tool"', "tools/tools.add.json, line 2,"),
    "another tool": (
        "tools/tools.add.json",
        FROZEN_ADD.replace('"tools.add"', '"tools.sub"'),
        "tools/tools.add.json, line 2, is not usable: it describes 'tools.sub', and its name says 'tools.add'",
    ),
    "a schema that does not compile": (
        "tools/tools.add.json",
        FROZEN_ADD.replace('"default": 0', '"minimum": "0"'),
        'tools/tools.add.json, line 11, is not usable: input is no usable schema ("0" is not of type "number")',
    ),
    "no bundle": ("tools/tools.add.json", "[]", "tools/tools.add.json, line 1, is not usable: it is no contract"),
    "not UTF-8": ("tools/tools.add.json", "\udcff", "tools/tools.add.json, line 1, is not usable: it is no JSON"),
    "nested": (
        "tools/tools.add.json",
        "[" * 3000,
        "tools/tools.add.json, line 1, is not usable: it is nested too deeply",
    ),
    "an empty version": (
        "toolset.json",
        '{"toolset": "tools",\n"version": ""}',
        "toolset.json, line 2, is not usable: version is empty; mend it, or take it from the history of the code\n",
    ),
    "no mark": ("toolset.json", "{}", "toolset.json, line 1, is not usable: "),
    "a mark that is no JSON": ("toolset.json", '{\n"toolset": tools}', "toolset.json, line 2, is not usable: "),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, how: str) -> None:
    name, text, told = BROKEN[how]
    contracts = frozen(tmp_path, ADD)
    (contracts / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    said = refusal(tmp_path)

    assert said.startswith(f"the contract contracts/{told}")
    assert len(said.splitlines()) == 1
    assert refusal(tmp_path, "contract", "freeze", "tools.py").startswith(f"the contract contracts/{told}")


def test_files_without_a_mark_are_told(tmp_path: Path) -> None:
    contracts = frozen(tmp_path, ADD)
    (contracts / "toolset.json").unlink()

    assert refusal(tmp_path).startswith("contracts has no toolset.json: write ")


def test_a_mark_that_is_missing_is_told_with_one_advice(tmp_path: Path) -> None:
    contracts = frozen(tmp_path, ADD)
    (contracts / "toolset.json").unlink()

    told = refusal(tmp_path, "contract", "freeze", "tools.py")

    assert told.endswith("or remove the folder\n")


def test_a_contract_that_is_listed_and_missing_is_told(tmp_path: Path) -> None:
    """Else a breaking change would be a new tool."""
    contracts = frozen(tmp_path, ADD)
    (contracts / "tools/tools.add.json").unlink()
    write(tmp_path, BREAKING)
    told = (
        "contracts/toolset.json names tools.add, and contracts/tools/tools.add.json is missing: take it from the "
        "history of the code\n"
    )

    assert refusal(tmp_path) == told
    assert refusal(tmp_path, "contract", "freeze", "tools.py") == told


NAMED = (
    ADD.replace("tool(example", 'tool(name="{name}", slug="tools.add", example').replace("{", "{{").replace("}", "}}")
)
NAMED = NAMED.replace('"{{name}}"', '"{name}"')


@pytest.mark.parametrize("before", ["add", "plus"])
def test_another_name_breaks_the_clients_of_mcp(tmp_path: Path, before: str) -> None:
    frozen(tmp_path, NAMED.format(name=before))
    assert signet(tmp_path, "tools", "tools.py").returncode == 0
    write(tmp_path, NAMED.format(name="total"))

    told = f"{START}tools.add breaks callers (its name was {before} and is total){HIGHER}"

    assert refusal(tmp_path) == told
    assert freeze(tmp_path).returncode == 1
    assert freeze(tmp_path, "tools.py", "--version", "0.2.0").returncode == 0
    assert json.loads(files(tmp_path)["toolset.json"])["names"] == {"tools.add": "total"}


RENAMED = {
    "a file": (ADD, ADD, "other.py", "tools.add", "--version 0.2.0"),
    "a toolset": (
        ADD + VERSIONED.format(version="1.0.0"),
        ADD + VERSIONED.format(version="1.0.0").replace('"tools"', '"premier"'),
        "shop.py",
        "tools.add",
        'version="2.0.0"',
    ),
}


@pytest.mark.parametrize("how", RENAMED)
def test_a_new_name_of_the_whole_does_not_end_the_freeze(tmp_path: Path, how: str) -> None:
    before, after, name, slug, higher = RENAMED[how]
    write(tmp_path, before, "tools.py" if how == "a file" else name)
    assert freeze(tmp_path, "tools.py" if how == "a file" else name).returncode == 0
    (tmp_path / "tools.py").unlink(missing_ok=True)
    write(tmp_path, after, name)

    told = refusal(tmp_path, "tools", name)
    refused = freeze(tmp_path, name)

    assert f"{slug} is gone, which breaks its callers" in told
    assert higher in told
    assert refused.returncode == 1
    assert higher in refused.stderr
    write(tmp_path, after.replace("1.0.0", "2.0.0"), name)
    assert freeze(tmp_path, name, *(("--version", "0.2.0") if how == "a file" else ())).returncode == 0
    assert not (tmp_path / "contracts/tools/tools.add.json").exists()
    assert signet(tmp_path, "tools", name).returncode == 0


def test_a_toolset_that_is_gone_breaks_its_callers(tmp_path: Path) -> None:
    second = '\nsecond = signet.Toolset(name="second", tools=[sub], version="1.0.0")\n'
    first = VERSIONED.format(version="1.0.0")
    frozen(tmp_path, ADD + SUB + first + second)
    write(tmp_path, ADD + first)

    served = signet(tmp_path, "tools", "tools.py")
    refused = freeze(tmp_path)

    assert served.returncode == 0, "a neighbour that is gone does not stop the others"
    assert refused.returncode == 1
    assert refused.stderr.startswith("signet: second.sub: the callers of tools 1.0.0 would break")
    write(tmp_path, ADD + first.replace("1.0.0", "2.0.0"))
    assert freeze(tmp_path).returncode == 0
    assert sorted(files(tmp_path)) == ["tools/tools.add.json", "toolset.json"]


def test_the_contract_of_another_toolset_is_not_overwritten(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    write(tmp_path, NAMED.format(name="add"), "other.py")

    assert refusal(tmp_path, "contract", "freeze", "other.py") == (
        "tools.add is frozen as a tool of tools beside it: give the tool another slug=\n"
    )


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("", ["first"]),
        ("signet.Toolset(name='first', tools=[])", []),
        ("signet.tool(name='first')", ["first"]),
        ("signet.Toolset(name=NAME, tools=[])", []),
        ("Toolset(**FACTS)", []),
        ("def f(:", []),
    ],
)
def test_only_what_no_file_can_declare_is_unclaimed(tmp_path: Path, code: str, left: list[str]) -> None:
    write(tmp_path, code)

    assert unclaimed(str(tmp_path), ["tools", "first"]) == left


def test_a_file_whose_toolsets_are_known_claims_no_other_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "x = signet.Toolset(name='first', tools=[])")

    assert unclaimed(str(tmp_path), ["tools", "first"], {str(tmp_path / "tools.py")}) == ["tools"]


def test_a_breaking_change_of_a_bare_file_needs_a_version(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    before = files(tmp_path)
    write(tmp_path, BREAKING)

    refused = freeze(tmp_path)

    assert refused.returncode == 1
    assert refused.stdout.splitlines()[1].split()[:2] == ["tools.add", "breaking"]
    assert '{"a":0}' in refused.stdout
    assert refused.stderr.splitlines()[0] == (
        "signet: tools.add: the callers of tools 0.1.0 would break, so nothing was written; write --version 0.2.0, or "
        "mend it"
    )
    assert files(tmp_path) == before
    assert freeze(tmp_path, "tools.py", "--version", "0.1.1").returncode == 1
    assert freeze(tmp_path, "tools.py", "--version", "0.2.0").returncode == 0
    assert json.loads(files(tmp_path)["toolset.json"]) == {
        "toolset": "tools",
        "version": "0.2.0",
        "tools": ["tools.add"],
    }
    assert signet(tmp_path, "tools", "tools.py").returncode == 0


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [("0.3.0", "0.3.1", 1), ("0.3.0", "0.4.0", 0), ("0.3.0", "1.0.0", 0), ("1.2.0", "1.3.0", 1), ("1.2.0", "2.0.0", 0)],
)
def test_the_version_of_a_toolset_says_that_callers_may_break(
    tmp_path: Path, before: str, after: str, status: int
) -> None:
    frozen(tmp_path, ADD + VERSIONED.format(version=before))
    write(tmp_path, BREAKING + VERSIONED.format(version=after))

    done = freeze(tmp_path)

    assert done.returncode == status
    assert json.loads(files(tmp_path)["toolset.json"])["version"] == (before if status else after)


@pytest.mark.parametrize(
    ("code", "args", "told"),
    [
        (ADD + VERSIONED.format(version="0.1.0"), (), "tools 0.1.0 is below 0.2.0, which is frozen"),
        (ADD + VERSIONED.format(version="one"), (), "'one' is no version of tools"),
        (ADD, ("--version", "2"), "'2' is no version of tools"),
        (
            ADD + VERSIONED.format(version="0.2.0"),
            ("--version", "0.3.0"),
            "the version of tools is written in its code",
        ),
    ],
)
def test_a_version_that_cannot_be_is_refused(tmp_path: Path, code: str, args: tuple[str, ...], told: str) -> None:
    frozen(tmp_path, ADD + VERSIONED.format(version="0.2.0"))
    write(tmp_path, code)

    assert refusal(tmp_path, "contract", "freeze", "tools.py", *args).startswith(told)


def test_the_file_of_a_tool_that_is_gone_is_removed_with_a_higher_version(tmp_path: Path) -> None:
    frozen(tmp_path, ADD + SUB)
    write(tmp_path, ADD)

    assert freeze(tmp_path).returncode == 1
    assert freeze(tmp_path, "tools.py", "--version", "0.2.0").returncode == 0
    assert sorted(files(tmp_path)) == ["tools/tools.add.json", "toolset.json"]


def test_several_toolsets_share_a_folder(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    write(tmp_path, "import signet\n" + SUB, "other.py")

    alone = signet(tmp_path, "tools", "other.py")
    done = freeze(tmp_path, "other.py")

    assert alone.returncode == 0, "what never was frozen has not drifted because its neighbour is"
    assert done.returncode == 0, done.stderr
    assert json.loads(files(tmp_path)["toolset.json"]) == {
        "toolsets": [
            {"toolset": "other", "version": "0.1.0", "tools": ["other.sub"]},
            {"toolset": "tools", "version": "0.1.0", "tools": ["tools.add"]},
        ]
    }
    for target in ("tools.py", "other.py", "."):
        assert signet(tmp_path, "tools", target).returncode == 0
    write(tmp_path, BREAKING)
    assert freeze(tmp_path, ".").returncode == 1
    assert signet(tmp_path, "tools", "other.py").returncode == 0
    write(tmp_path, "import signet\n" + SUB + ADD.replace("import signet", ""), "other.py")
    assert "other.add is new" in refusal(tmp_path, "tools", "other.py")


def test_the_report_of_freezing_can_be_read_by_a_program(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    write(tmp_path, BREAKING + SUB)

    done = freeze(tmp_path, "tools.py", "--json")

    assert (done.returncode, json.loads(done.stdout)) == (
        1,
        {
            "written": False,
            "toolsets": [
                {
                    "toolset": "tools",
                    "version": "0.1.0",
                    "folder": str(tmp_path / "contracts"),
                    "tools": [
                        {
                            "tool": "tools.add",
                            "state": "breaking",
                            "why": 'input: "b" is a required property',
                            "example": {"a": 0},
                        },
                        {"tool": "tools.sub", "state": "new", "why": "it is new"},
                    ],
                }
            ],
        },
    )


def test_a_toolset_of_signet_itself_cannot_be_frozen(tmp_path: Path) -> None:
    assert refusal(tmp_path, "contract", "freeze", "boj") == (
        "the contracts of boj are files already: nothing is derived from types\n"
    )


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ([], 1),
        (["tool"], 2),
        (["input", "properties", "b", "default"], 11),
        (["input", "required", 0], 15),
        (["output", "nothing"], 18),
    ],
)
def test_the_line_of_a_place_in_json(path: list[str | int], line: int) -> None:
    assert line_of(FROZEN_ADD, path) == line


def test_the_comparison_is_loaded_for_a_drift_alone(tmp_path: Path) -> None:
    frozen(tmp_path, ADD)
    probe = """
import sys
from signet.app import build_server
from signet.settings.model import Settings
build_server(Settings(toolsets="tools.py"))
print([name for name in sys.modules if "compatibility" in name or "jsonschema" in name or name == "json"])
"""

    python = sys.executable
    env = {name: value for name, value in clean_env().items() if not name.startswith("COVERAGE_")}
    done = subprocess.run([python, "-c", probe], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
