"""`signet call`: a result in a file, the traceback of an own tool, and a pipe that no argument reads."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S, ROOT, SIGNET, clean_env, run, serving
from signet.commands.call_output import ResultPart, part_of_blocks

OWN = '''
import signet


@signet.tool
def shout(text: str) -> str:
    """Return a text in capital letters."""
    return text.upper()


@signet.tool
def two(first: str, second: str) -> dict[str, str]:
    """Return two texts."""
    return {"first": first, "second": second}


@signet.tool
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(f"no such text: {text}")
'''
WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
DIAGRAM = "@startuml\nA -> B\n@enduml\n"
PNG = b"\x89PNG\r\n\x1a\n"


def called(folder: Path, *words: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Call a tool in a folder, with a pipe or nothing on standard input."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run(
        [SIGNET, "call", *words],
        cwd=folder,
        env=clean_env(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **given,
    )


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path


def test_a_picture_is_written_decoded(tmp_path: Path) -> None:
    out = tmp_path / "a.png"

    done = run("call", "renderPlantUML", f"plantumlCode={DIAGRAM}", "format=png", "--out", str(out))

    data = out.read_bytes()
    assert (done.returncode, done.stdout) == (0, b"")
    assert data.startswith(PNG)
    assert done.stderr.decode() == f"signet: wrote {out}: image/png, {len(data):,} bytes\n"


def test_a_picture_of_a_running_server_is_written_decoded(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    with serving() as server:
        flags = ("--url", server.url, "--out", str(out))
        done = run("call", "renderPlantUML", f"plantumlCode={DIAGRAM}", "format=svg", *flags)

    assert (done.returncode, done.stdout) == (0, b"")
    assert out.read_text(encoding="utf-8").startswith("<svg")


def test_a_text_is_written_as_text_and_other_results_as_json(own: Path) -> None:
    flags = ("--toolsets", "own.py")
    text = called(own, "shout", "text=grün", *flags, "--out", "text")
    pair = called(own, "two", "first=a", "second=b", *flags, "--out", "pair")
    printed = called(own, "shout", "text=a", *flags, "--out", "-")

    assert (own / "text").read_text(encoding="utf-8") == "GRÜN"
    assert json.loads((own / "pair").read_bytes()) == {"first": "a", "second": "b"}
    assert (printed.stdout, printed.stderr) == (b"A", b"")
    assert [one.stderr.decode() for one in (text, pair)] == [
        "signet: wrote text: text, 5 bytes\n",
        "signet: wrote pair: application/json, 27 bytes\n",
    ]


def test_a_result_of_a_wrapped_server_is_written(tmp_path: Path) -> None:
    done = [called(tmp_path, tool, "city=Oslo", "--out", tool, "--", *WEATHER, "seen") for tool in ("weather", "say")]

    assert [one.returncode for one in done] == [0, 0], done
    assert json.loads((tmp_path / "weather").read_bytes()) == {"celsius": 21.5, "sky": "clear"}
    assert "Oslo" in (tmp_path / "say").read_text(encoding="utf-8")


def test_a_file_is_replaced_and_an_error_leaves_it_as_it_was(own: Path) -> None:
    flags = ("--toolsets", "own.py", "--out", "out")
    (own / "out").write_text("old", encoding="utf-8")

    failed = called(own, "fail", "text=a", *flags)
    before = (own / "out").read_text(encoding="utf-8")
    good = called(own, "shout", "text=a", *flags)

    assert (failed.returncode, before) == (1, "old")
    assert json.loads(failed.stdout)["error"]["code"] == "INTERNAL_ERROR"
    assert (good.returncode, (own / "out").read_text(encoding="utf-8")) == (0, "A")


def test_a_result_that_cannot_be_written_is_printed(own: Path) -> None:
    done = called(own, "shout", "text=a", "--toolsets", "own.py", "--out", "missing/out")

    assert done.returncode == 1
    assert json.loads(done.stdout) == {"result": "A"}
    assert b"cannot write missing/out (No such file or directory)" in done.stderr


def test_a_standard_output_that_is_closed_is_no_file(own: Path) -> None:
    words = shlex.join([SIGNET, "call", "shout", "text=a", "--toolsets", "own.py", "--out", "-"])
    done = subprocess.run(["sh", "-c", f"{words} >&-"], cwd=own, env=clean_env(), capture_output=True, check=False)

    assert done.returncode == 1
    assert done.stderr == b"signet: cannot write to standard output (it is closed)\n"
    assert not (own / "-").exists()


@pytest.mark.parametrize(
    ("blocks", "part"),
    [
        ([{"type": "audio", "data": "YQ==", "mimeType": "audio/wav"}], ResultPart("audio/wav", b"a")),
        ([{"type": "resource", "resource": {"blob": "YQ=="}}], ResultPart("application/octet-stream", b"a")),
        ([{"type": "resource", "resource": {"uri": "x:", "text": "a"}}], ResultPart("text", b"a")),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ResultPart("text", b"a\nb")),
        ([{"type": "text", "text": "a"}, *[{"type": "image", "data": "YQ=="}] * 3],
         ResultPart("application/octet-stream", b"a", 2)),
        ([{"type": "image", "data": "?"}, {"type": "text"}, 5, None], ResultPart("application/json", b"{}\n")),
        ([], ResultPart("application/json", b"{}\n")),
    ],
)  # fmt: skip
def test_the_part_of_a_result_that_a_file_gets(blocks: list[Any], part: ResultPart) -> None:
    assert part_of_blocks(blocks, b"{}") == part


def test_development_mode_shows_the_message_and_the_traceback_of_an_own_tool(own: Path) -> None:
    quiet = called(own, "fail", "text=a", "--toolsets", "own.py")
    loud = called(own, "fail", "text=a", "--toolsets", "own.py", "--dev")

    assert (quiet.returncode, loud.returncode) == (1, 1)
    assert b"no such text" not in quiet.stderr + quiet.stdout
    assert f'File "{own / "own.py"}", line 20, in fail' in loud.stderr.decode()
    assert b"Traceback (most recent call last)" in loud.stderr
    assert json.loads(loud.stdout)["error"]["message"] == "fail failed: ValueError: no such text: a"


def test_a_pipe_that_no_argument_reads_is_told_with_the_command_that_reads_it(own: Path) -> None:
    done = called(own, "shout", "--toolsets", "own.py", stdin=b"from the pipe")

    advice = advised(done, "standard input is read where an argument asks for it: ")
    again = pasted(advice, own, b"from the pipe")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "INVALID_INPUT")
    assert advice[1:] == ["call", "shout", "text=-", "--toolsets", "own.py"]
    assert json.loads(again.stdout) == {"result": "FROM THE PIPE"}


def test_a_pipe_to_a_tool_of_several_arguments_can_be_read_as_their_object(own: Path) -> None:
    done = called(own, "two", "--toolsets", "own.py", stdin=b"{}")

    advice = advised(done, "standard input is read where an argument asks for it: ")
    again = pasted(advice, own, b'{"first": "a", "second": "b"}')
    assert advice[1:] == ["call", "two", "--json", "-", "--toolsets", "own.py"]
    assert json.loads(again.stdout) == {"first": "a", "second": "b"}


def test_a_pipe_to_a_running_server_is_told_too(tmp_path: Path) -> None:
    with serving() as server:
        done = called(tmp_path, "encodePlantUML", "--url", server.url, stdin=b"A -> B")
        advice = advised(done, "standard input is read where an argument asks for it: ")
        again = pasted(advice, tmp_path, b"A -> B")

    assert done.returncode == 1
    assert advice[1:] == ["call", "encodePlantUML", "plantumlCode=-", "--url", f"{server.url}/mcp"]
    assert json.loads(again.stdout)["encoded"]


def advised(done: subprocess.CompletedProcess[bytes], words: str) -> list[str]:
    """Return the command behind some words at the end of standard error."""
    told, _, advice = done.stderr.decode().rstrip("\n").rpartition(words)
    assert told, done.stderr
    return shlex.split(advice)


def pasted(words: list[str], folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command that was advised."""
    return subprocess.run(words, cwd=folder, env=clean_env(), input=stdin, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("shout",), None),
        (("shout", "txt=a"), b"x"),
        (("shout", "--json", "{}"), b"x"),
        (("shout", "text=a"), b"x"),
    ],
)
def test_other_calls_say_nothing_of_standard_input(own: Path, words: tuple[str, ...], stdin: bytes | None) -> None:
    done = called(own, *words, "--toolsets", "own.py", stdin=stdin)

    assert b"standard input" not in done.stderr


def test_a_recording_without_servers_is_named_with_the_command_that_plays_it(tmp_path: Path) -> None:
    recording = str(tmp_path / "rec")
    assert run("call", "--sandbox", "encodePlantUML", "plantumlCode=A", "--record", recording).returncode == 0

    done = run("wrap", "--replay", recording)

    assert done.returncode == 2
    assert b"is a recording without wrapped servers" in done.stderr
    advice = advised(done, "; play it with: ")
    assert advice[1:] == ["stdio", "--replay", recording]
    pasted(advice, tmp_path)
