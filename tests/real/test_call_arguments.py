"""`signet call` with arguments out of files, out of standard input, and in the types of the tool's contract."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from processes import PATIENCE_S, SIGNET, clean_env
from real.witness import TOOL, source_of
from terminals import run_on_terminal

DIAGRAM = "@startuml\nA -> B: ä日\n@enduml\n"
SERIES = ("call", "boj_get_data_code", "--sandbox", "db=FM08", "lang=en")


def drawn(*args: str, stdin: bytes = b"") -> str:
    """Return the diagram that a call has encoded."""
    done = run_here("call", TOOL, *args, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return source_of(json.loads(done.stdout)["url"])


def refused(*args: str, stdin: bytes = b"") -> str:
    done = run_here("call", *args, stdin=stdin)
    told = done.stderr.decode()
    assert (done.returncode, done.stdout, len(told.splitlines())) == (2, b"", 1), told
    return told


def codes_of(*args: str, stdin: bytes = b"") -> list[str]:
    """Return the codes of the series that a call has read."""
    done = run_here(*SERIES, *args, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return [series["series_code"] for series in json.loads(done.stdout)["series"]]


def test_a_value_comes_out_of_a_file_out_of_a_pipe_or_as_it_is(tmp_path: Path) -> None:
    """The whole text, also where the value itself begins with an at sign and has several lines."""
    file = tmp_path / "diagram.puml"
    file.write_text(DIAGRAM, encoding="utf-8")

    found = [
        drawn(f"plantumlCode=@{file}"),
        drawn("plantumlCode=-", stdin=DIAGRAM.encode()),
        drawn("plantumlCode=@-", stdin=DIAGRAM.encode()),
        drawn(f"plantumlCode={DIAGRAM}"),
        drawn("--json", "-", stdin=json.dumps({"plantumlCode": DIAGRAM}).encode()),
    ]

    assert found == [DIAGRAM] * 5


def test_a_file_may_be_a_pipe_of_the_shell() -> None:
    script = f"{SIGNET} call {TOOL} plantumlCode=@<(printf 'A\\nB\\n')"
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 0, done.stderr
    assert source_of(json.loads(done.stdout)["url"]) == "A\nB\n"


def test_the_line_end_of_a_single_line_is_left_out(tmp_path: Path) -> None:
    """As a word that echo writes."""
    file = tmp_path / "line"
    file.write_bytes(b"A -> B\r\n")

    assert drawn(f"plantumlCode=@{file}") == "A -> B"
    assert drawn("plantumlCode=-", stdin=b"A -> B\n") == "A -> B"


def test_two_at_signs_are_one() -> None:
    assert drawn("plantumlCode=@@startuml") == "@startuml"


def test_a_list_is_one_code_or_several_or_a_file_of_them(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("FXERD01\nFXERD02\n", encoding="utf-8")
    both = ["FXERD01", "FXERD02"]

    found = [
        codes_of("codes=FXERD01"),
        codes_of("codes=FXERD01,FXERD02"),
        codes_of("codes=FXERD01", "codes=FXERD02"),
        codes_of('codes=["FXERD01","FXERD02"]'),
        codes_of(f"codes=@{tmp_path / 'codes'}"),
        codes_of("codes=-", stdin=b"FXERD01,FXERD02\n"),
    ]

    assert found == [["FXERD01"], both, both, both, both, both]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("id=1",), "problem not found"),
        (("--json", '{"source": "codeforces", "id": 1}'), "problem not found"),
    ],
    ids=["pair", "json"],
)
def test_a_number_for_a_string_is_taken(arguments: tuple[str, ...], message: str) -> None:
    """The backend is asked for it, and has none: the contract did not refuse it."""
    given = arguments if "--json" in arguments else ("source=codeforces", *arguments)

    done = run_here("call", "get_problem", "--sandbox", *given)

    error: Any = json.loads(done.stdout)["error"]
    assert (done.returncode, error["canonical_code"]) == (1, "NOT_FOUND")
    assert message in error["message"]


def test_a_switch_and_a_number_have_the_types_of_the_contract() -> None:
    done = run_here(*SERIES, "codes=FXERD01", "include_raw=yes", "start_position=1")

    assert done.returncode == 0, done.stderr
    assert "raw" in json.loads(done.stdout)


def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(4_194_305)

    missing = refused(TOOL, f"plantumlCode=@{tmp_path}/none")
    binary = refused(TOOL, f"plantumlCode=@{tmp_path}/binary")

    assert f"cannot read {tmp_path}/none (No such file or directory)" in missing
    assert "plantumlCode=@@… for a text that begins with @" in missing
    assert f"{tmp_path}/binary is not UTF-8 text" in binary
    assert f"cannot read {tmp_path}" in refused(TOOL, f"plantumlCode=@{tmp_path}")
    for huge in (f"plantumlCode=@{tmp_path}/huge", "--json"):
        words = (huge,) if huge != "--json" else ("--json", f"@{tmp_path}/huge")
        assert f"{tmp_path}/huge has more than 4,194,304 bytes" in refused(TOOL, *words)
    assert "standard input has more than 4,194,304 bytes" in refused(TOOL, "plantumlCode=-", stdin=b"x" * 4_194_305)


def test_standard_input_is_read_once() -> None:
    told = refused("get_problem", "--sandbox", "source=-", "id=-", stdin=b"x")

    assert "standard input can be read once: it is asked for by source and by id" in told


def test_a_person_at_a_terminal_is_told_what_is_read() -> None:
    status, shown = run_on_terminal("call", TOOL, "plantumlCode=-", typed=b"A -> B\n\x04", columns=200)

    assert status == 0, shown
    assert "reading plantumlCode from the terminal; Ctrl-D on a line of its own ends it" in shown
