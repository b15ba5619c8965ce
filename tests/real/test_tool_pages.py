"""`signet tools` and `signet call NAME --help`: a short table, and all that is needed to call one tool."""

from __future__ import annotations

import json
import subprocess

import pytest

from commands_in_process import run_here
from processes import BIN, PATIENCE_S, clean_env, serving
from real.witness import JUDGE_TOOLS, READY_TOOLS, TOOL
from terminals import run_on_terminal

NEEDS_OJ = "needs --oj-base-url URL (or SIGNET_OJ_BASE_URL); --sandbox tries it on sample data"


def page(*args: str, **env: str) -> str:
    done = run_here("tools", *args, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def section(text: str, heading: str) -> str:
    """Return the line below a heading."""
    lines = text.splitlines()
    return lines[lines.index(f"{heading}:") + 1].strip()


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_table_has_a_line_for_each_tool_that_fits_the_terminal(columns: int) -> None:
    status, shown = run_on_terminal("tools", "--sandbox", columns=columns)

    lines = shown.split("\n\n")[0].splitlines()
    assert status == 0
    assert max(map(len, shown.splitlines())) <= columns
    assert [line.split()[0] for line in lines] == ["tool", *READY_TOOLS, *JUDGE_TOOLS]
    assert "…" in shown


def test_a_wide_terminal_shows_slugs_and_a_pipe_whole_sentences() -> None:
    _, wide = run_on_terminal("tools", columns=130)

    piped = page()

    assert "slug" in wide.splitlines()[0]
    assert "…" not in piped
    assert [line.split()[0] for line in piped.splitlines()] == ["tool", *READY_TOOLS]


def test_the_table_says_what_is_not_enabled_to_a_person() -> None:
    _, shown = run_on_terminal("tools", columns=200)

    words = " ".join(shown.split())
    assert f"Not enabled: the toolset oj {NEEDS_OJ}." in words
    assert f"Not enabled: the toolset oj-practice {NEEDS_OJ}." in words
    assert "Not enabled" not in page()


def test_a_page_has_everything_about_the_tool() -> None:
    text = page("boj_get_data_code")

    title, rest = text.split("\n", 1)
    assert title == "boj_get_data_code: Read Bank of Japan series by code"
    assert "slug boj.get_data_code, canonical id mcp.tool:boj.get_data_code" in rest
    assert "  db (required): string" in rest
    assert "  codes (required): list of string" in rest
    assert "  include_raw: boolean" in rest
    assert "default: false" in rest
    assert json.loads(section(text, "example")) == {"db": "FM08", "codes": ["FXERD01"], "lang": "en"}


@pytest.mark.parametrize(
    ("tool", "token"),
    [(TOOL, "tok-5f1d"), ("boj_get_data_code", ""), ("boj_get_data_layer", "")],
)
def test_each_doors_line_can_be_pasted(tool: str, token: str) -> None:
    """Into a shell, beside a server with the same settings; all four answer alike."""
    env = {"SIGNET_TOKEN": token} if token else {}
    with serving("--sandbox", env=env) as server:
        text = page(tool, "--sandbox", SIGNET_PORT=str(server.port), **env)
        lines = {door: section(text, door) for door in ("command line", "MCP over HTTP", "REST", "envelope")}
        shown = {door: _pasted(line, env) for door, line in lines.items()}

    result = shown["command line"]
    assert shown["REST"]["result"].keys() == result.keys()
    assert shown["MCP over HTTP"]["result"]["isError"] is False
    assert shown["envelope"]["result"].keys() == result.keys()
    assert token not in "".join(lines.values()) or not token


def _pasted(line: str, env: dict[str, str]) -> dict[str, dict[str, object]]:
    path = {"PATH": f"{BIN}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, env={**clean_env(env), **path}, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, (line, done.stderr)
    answer: dict[str, dict[str, object]] = json.loads(done.stdout)
    return answer


def test_several_tools_are_shown_and_found_by_slug_and_id() -> None:
    text = page("plantuml.encode", "mcp.tool:boj.get_metadata")

    assert [line.partition(":")[0] for line in text.splitlines() if line.endswith(("diagram", "database"))] == [
        TOOL,
        "boj_get_metadata",
    ]


def test_json_of_one_tool_is_its_entry_in_the_list() -> None:
    one, all_of_them = json.loads(page("--json", TOOL)), json.loads(page("--json"))

    assert one == [entry for entry in all_of_them if entry["name"] == TOOL]
    assert [entry["name"] for entry in all_of_them] == list(READY_TOOLS)


def test_a_tool_that_is_not_enabled_has_a_page_that_says_what_to_set() -> None:
    text = " ".join(page("get_problem").split())

    assert f"Not enabled: the toolset oj {NEEDS_OJ}." in text
    assert "signet call get_problem --sandbox source=" in text


def test_a_tool_of_a_toolset_that_extends_another_needs_the_setting_of_that_one() -> None:
    text = " ".join(page("get_samples").split())

    assert f"Not enabled: the toolset oj-practice {NEEDS_OJ}." in text


def test_json_of_a_tool_that_is_not_enabled_is_refused_with_what_to_set() -> None:
    done = run_here("tools", "get_problem", "--json")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"signet: get_problem belongs to the toolset oj, which {NEEDS_OJ}\n"


def test_a_server_on_a_path_is_asked_through_its_socket() -> None:
    text = page(TOOL, SIGNET_HOST="unix:/run/my signet")

    assert section(text, "REST").startswith(
        f"curl -s --unix-socket '/run/my signet' http://localhost/api/tools/{TOOL} "
    )


def test_a_call_of_a_tool_that_is_not_enabled_says_what_to_set() -> None:
    done = run_here("call", "get_problem", "source=leetcode", "id=1")

    sentence = f"get_problem belongs to the toolset oj, which {NEEDS_OJ}"
    assert (done.returncode, done.stderr.decode()) == (1, f"signet: {sentence}\n")
    assert json.loads(done.stdout) == {
        "error": {"code": "TOOL_NOT_FOUND", "canonical_code": "NOT_FOUND", "message": sentence}
    }


def test_a_tool_that_toolsets_leave_out_says_so() -> None:
    left_out = run_here("call", "boj_get_metadata", "--toolsets", "plantuml").stderr.decode()
    sandbox = run_here("call", "get_problem", "--toolsets", "plantuml", "--sandbox").stderr.decode()
    neither = run_here("call", "oj.get_problem", env={"SIGNET_TOOLSETS": "plantuml"}).stderr.decode()

    end = "is not among --toolsets plantuml (or SIGNET_TOOLSETS): add"
    assert left_out == f"signet: boj_get_metadata belongs to the toolset boj, which {end} boj\n"
    assert sandbox == f"signet: get_problem belongs to the toolset oj, which {end} oj\n"
    assert neither.endswith("add oj, and set --oj-base-url URL (or SIGNET_OJ_BASE_URL)\n")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("encodePlantUm", "did you mean encodePlantUML? "),
        ("ENCODEPLANTUML", "did you mean encodePlantUML? "),
        ("metadata", "did you mean boj_get_metadata? "),
        ("frobnicate", ""),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, near: str) -> None:
    sentence = f"signet: there is no tool '{name}'; {near}'signet tools' lists what there is\n"

    called, shown = run_here("call", name), run_here("tools", name)

    assert (called.returncode, called.stderr.decode()) == (1, sentence)
    assert (shown.returncode, shown.stderr.decode()) == (2, sentence)


@pytest.mark.parametrize("words", [(TOOL, "--help"), ("-h", TOOL), (TOOL, "plantumlCode=A", "--sandbox", "-h")])
def test_call_help_has_the_tools_own_arguments_and_the_flags(words: tuple[str, ...]) -> None:
    done = run_here("call", *words)

    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert text.startswith(f"usage: signet call {TOOL} [key=value ...] [options]\n")
    assert "  plantumlCode (required): string" in text
    assert f"  signet call {TOOL}" in text
    assert "--url URL" in text
    assert "--sandbox" in text


def test_call_help_of_an_unknown_tool_names_the_nearest() -> None:
    done = run_here("call", "encodePlantUm", "--help")

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"did you mean encodePlantUML?" in done.stderr


@pytest.mark.parametrize("columns", [60, 80])
def test_pages_and_help_fit_the_terminal_except_for_what_is_pasted(columns: int) -> None:
    for words in (("tools", "boj_get_data_layer"), ("call", "boj_get_data_layer", "--help")):
        status, shown = run_on_terminal(*words, columns=columns)

        wide = [line for line in shown.splitlines() if len(line) > columns]
        assert status == 0
        assert all(line.startswith(("usage: ", "  curl ", "  signet call ", "  {")) for line in wide), wide
