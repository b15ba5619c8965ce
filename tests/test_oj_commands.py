"""`signet oj` as a person types it, against a played judge in this process."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands_in_process import signet_here
from oj_harness import OjHarness, oj_sandbox
from processes import PATIENCE_S, ROOT, SIGNET, clean_env
from signet.commands.oj.new import STUBS
from signet.commands.oj.show import LIMIT_LINE
from signet.commands.oj.verdict import difference, is_right
from signet.system.piped_process import run_to_end
from upstream_harness import DIRECT

BELLS = "atcoder:abc901_a"
"""A problem with one sample: 3 5, whose answer is 12."""


@pytest.fixture(scope="module")
def judge() -> Iterator[OjHarness]:
    with oj_sandbox() as harness:
        yield harness


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def oj(judge: OjHarness, home: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `signet oj` in this process, with a home of its own."""
    env = clean_env({**DIRECT, "OJ_BASE_URL": judge.url, "XDG_CACHE_HOME": str(home)})
    done = signet_here(cwd or ROOT, "oj", *words, environ=env)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def program(tmp_path: Path, text: str) -> list[str]:
    """Write a program in Python and return the words that run it."""
    path = tmp_path / "solution.py"
    path.write_text(text)
    return ["--", sys.executable, str(path)]


def test_a_right_program_is_right(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    words = program(tmp_path, "a, b = map(int, input().split())\nprint(sum(range(a, b + 1)))\n")

    done = oj(judge, home, "test", BELLS, *words)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("sample 1: right (")
    assert done.stdout.splitlines()[-1] == "1 of 1 right"


def test_a_wrong_program_is_shown_what_differs(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    done = oj(judge, home, "test", BELLS, *program(tmp_path, "print(13)\n"))

    assert done.returncode == 1
    first, *rest = done.stdout.splitlines()
    assert first.startswith("sample 1: wrong (")
    assert rest == [
        "  input    3 5",
        "  --- expected",
        "  +++ printed",
        "  @@ -1 +1 @@",
        "  -12",
        "  +13",
        "0 of 1 right",
    ]


def test_a_slow_program_is_ended_with_all_that_it_started(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    """The program holds a pipe; when its whole group has ended, the pipe is at its end."""
    read, write = os.pipe()
    script = f"import subprocess, time\nsubprocess.Popen(['sleep', '1000'], pass_fds=({write},))\ntime.sleep(1000)\n"
    env = clean_env({**DIRECT, "OJ_BASE_URL": judge.url, "XDG_CACHE_HOME": str(home)})
    runner = (
        "import sys\nfrom signet.system import processes as p\n"
        "start = p.subprocess.Popen\n"
        f"p.subprocess.Popen = lambda *a, **k: start(*a, **{{**k, 'pass_fds': ({write},)}})\n"
        "from signet.commands.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    words = ["oj", "test", BELLS, "--time-limit", "0.5", *program(tmp_path, script)]

    done = subprocess.run(
        [sys.executable, "-c", runner, *words],
        capture_output=True,
        text=True,
        env=env,
        pass_fds=(write,),
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(write)

    assert done.returncode == 1
    assert done.stdout.startswith("sample 1: too slow: ended after 0.5 s (")
    with open(read, "rb") as pipe:
        assert pipe.read() == b""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("raise SystemExit(3)\n", "it fails: exit status 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "it fails: ended by SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), 40)\n", "it fails: ended by signal 40"),
    ],
)
def test_a_crashing_program_fails(judge: OjHarness, home: Path, tmp_path: Path, text: str, verdict: str) -> None:
    done = oj(judge, home, "test", BELLS, *program(tmp_path, text))

    assert done.returncode == 1
    assert done.stdout.startswith(f"sample 1: {verdict} (")


def test_what_a_failing_program_wrote_about_it_is_shown_without_its_controls(
    judge: OjHarness, home: Path, tmp_path: Path
) -> None:
    done = oj(judge, home, "test", BELLS, *program(tmp_path, "import sys\nsys.exit('sad\\x1b[31m story')\n"))

    assert "  | sad\\u001b[31m story" in done.stdout.splitlines()


def test_a_program_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    words = program(tmp_path, "while True: print('x' * 1000)\n")[1:]

    run = run_to_end(words, limit_s=PATIENCE_S, max_output_bytes=100_000)

    assert (run.is_endless, run.is_late, len(run.output)) == (True, False, 100_000)


def test_a_program_need_not_read_its_input(tmp_path: Path) -> None:
    run = run_to_end(program(tmp_path, "print(1)\n")[1:], b"x" * 5_000_000, limit_s=PATIENCE_S)

    assert (run.output, run.status) == (b"1\n", 0)


def test_a_program_that_cannot_be_started_is_named(judge: OjHarness, home: Path) -> None:
    done = oj(judge, home, "test", BELLS, "--", "/no/such/program")

    sentence = "/no/such/program cannot be started (No such file or directory); write the program behind --"
    assert (done.returncode, done.stderr) == (2, f"signet: {sentence}\n")


@pytest.mark.parametrize(
    ("flag", "value", "sentence"),
    [
        ("--tolerance", "-1", "argument --tolerance: '-1' cannot be used; write a number from 0 to 1, such as 1e-6"),
        ("--tolerance", "nan", "argument --tolerance: 'nan' cannot be used; write a number from 0 to 1, such as 1e-6"),
        ("--time-limit", "abc", "argument --time-limit: 'abc' cannot be used; write seconds from 0.001 to 3600"),
        ("--time-limit", "0", "argument --time-limit: '0' cannot be used; write seconds from 0.001 to 3600"),
    ],
)
def test_a_number_that_cannot_be_used_is_refused(
    judge: OjHarness, home: Path, flag: str, value: str, sentence: str
) -> None:
    done = oj(judge, home, "test", BELLS, f"{flag}={value}", "--", "true")

    assert (done.returncode, done.stderr.partition(";")[0]) == (2, f"signet: {sentence.partition(';')[0]}")


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ("leetcode:9001", "LeetCode calls a function: its samples are arguments, which no program can read"),
        ("atcoder:agc901_a", "there is nothing to test with: the backend has no statement of this problem"),
        (
            "codeforces:0",
            "[404] Not Found: problem not found. The judges and the shapes of their ids are: leetcode (1)",
        ),
        ("no-such-problem", "'no-such-problem' was not found; it names no judge, and the guess that LeetCode is meant"),
        (
            "abc999_z",
            "'abc999_z' was not found: the backend has no problem 'abc999_z' of atcoder. The judges",
        ),
    ],
)
def test_where_there_is_nothing_to_test_it_says_why(judge: OjHarness, home: Path, problem: str, sentence: str) -> None:
    done = oj(judge, home, "test", problem, "--", "true")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"signet: {sentence}")


def test_without_a_backend_it_says_what_to_set() -> None:
    done = subprocess.run(
        [SIGNET, "oj", "show", "x"], capture_output=True, text=True, env=clean_env(), timeout=PATIENCE_S, check=False
    )

    assert done.returncode == 2
    assert done.stderr == "signet: the oj toolset has no backend: write --oj-base-url or set OJ_BASE_URL\n"


@pytest.mark.parametrize("name", ["https://leetcode.com/problems/lantern-pairs/", "leetcode:9001", "leetcode/9001"])
def test_a_statement_is_shown_by_url_and_by_id(judge: OjHarness, home: Path, name: str) -> None:
    done = oj(judge, home, "show", name)

    assert done.returncode == 0
    assert done.stdout.startswith("# Lantern Pairs\n\n- Source: leetcode | ID: 9001 ")


def test_on_a_terminal_the_statement_is_rendered(judge: OjHarness, home: Path) -> None:
    env = clean_env({**DIRECT, "OJ_BASE_URL": judge.url, "XDG_CACHE_HOME": str(home), "TERM": "xterm", "COLUMNS": "80"})
    main, side = pty.openpty()
    with subprocess.Popen([SIGNET, "oj", "show", BELLS], stdout=side, stderr=side, env=env) as process:
        os.close(side)
        shown = b""
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait(PATIENCE_S) == 0
    os.close(main)

    assert b"## Problem Statement" not in shown
    assert "Problem Statement" in shown.decode()
    assert b"\x1b[" in shown


def test_lines_that_begin_in_bold_type_are_not_joined_on_a_terminal() -> None:
    page = "x\n\n**time limit per test:** 1 second\n**memory limit per test:** 256 megabytes\n\n**a** b\nc\n"

    assert LIMIT_LINE.sub(r"\1  \n", page) == page.replace("1 second\n", "1 second  \n")


def test_statements_are_kept_and_read_offline(judge: OjHarness, home: Path) -> None:
    first = oj(judge, home, "show", BELLS)
    asked = len(judge.requests())

    again = oj(judge, home, "show", BELLS)
    offline = oj(judge, home, "show", BELLS, "--offline")
    other = oj(judge, home, "show", "atcoder:abc901_b", "--offline")

    nowhere = signet_here(ROOT, "oj", "show", BELLS, "--offline", environ=clean_env({"XDG_CACHE_HOME": str(home)}))

    assert first.stdout == again.stdout == offline.stdout == nowhere.stdout.decode() != ""
    assert len(judge.requests()) == asked
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr.startswith("signet: it is not among the statements in ")


def test_without_the_cache_nothing_is_kept(judge: OjHarness, home: Path) -> None:
    done = oj(judge, home, "show", BELLS, "--no-cache")
    both = oj(judge, home, "show", BELLS, "--no-cache", "--offline")

    assert done.returncode == 0
    assert not home.exists()
    assert (both.returncode, both.stderr[:8]) == (2, "signet: ")


@pytest.mark.parametrize(("lang", "stub"), [("py", "main.py"), ("cpp", "main.cpp"), ("rs", "main.rs")])
def test_a_folder_is_made_with_statement_samples_and_stub(
    judge: OjHarness, home: Path, tmp_path: Path, lang: str, stub: str
) -> None:
    done = oj(judge, home, "new", BELLS, "--lang", lang, cwd=tmp_path)

    folder = tmp_path / "atcoder-abc901_a"
    assert done.returncode == 0
    assert (folder / "statement.md").read_text("utf-8").startswith("# A. Bell Count\n")
    assert (folder / "samples/1.in").read_text() == "3 5\n"
    assert (folder / "samples/1.out").read_text() == "12\n"
    assert (folder / stub).is_file()


def test_the_stub_in_python_runs_and_is_judged(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    oj(judge, home, "new", BELLS, "--out", str(tmp_path / "bells"))

    done = oj(judge, home, "test", BELLS, "--", sys.executable, str(tmp_path / "bells/main.py"))

    assert done.stdout.startswith("sample 1: wrong (")


@pytest.mark.parametrize("lang", ["py", "cpp", "rs"])
def test_a_stub_prints_nothing_that_could_be_taken_for_an_answer(lang: str) -> None:
    assert not any(word in STUBS[lang][1] for word in ("print", "cout <<"))


def test_the_printed_command_asks_the_same_backend_from_the_new_folder(
    judge: OjHarness, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "signet.toml").write_text(f'[settings.oj]\nbase_url = "{judge.url}"\n')
    environ = clean_env({**DIRECT, "XDG_CACHE_HOME": str(home)})
    made = {
        "sandbox": ["--sandbox"],
        "flag": ["--oj-base-url", judge.url, "--oj-cache", "kept here", "--config", os.devnull],
        "file": [],
    }

    for name, flags in made.items():
        done = signet_here(tmp_path, "oj", "new", "codeforces:9001A", "--out", name, *flags, environ=environ)
        printed = done.stdout.decode().splitlines()[-1].removeprefix("Test it there: ")
        again = signet_here(tmp_path / name, *shlex.split(printed)[1:], environ=environ)
        assert re.match(r"sample 1: (right|wrong) \(", again.stdout.decode()), (name, printed, again.stderr)


def test_without_a_statement_none_is_written_and_none_is_claimed(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    done = oj(judge, home, "new", "atcoder:agc901_a", "--out", str(tmp_path / "x"))

    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'x'}: main.py\n")
    assert done.stderr.startswith("signet: the backend has no statement of this problem")
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["main.py"]


def test_files_that_are_there_stay_as_they_are(judge: OjHarness, home: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("mine")

    done = oj(judge, home, "new", BELLS, "--out", str(tmp_path))

    assert (tmp_path / "main.py").read_text() == "mine"
    assert done.stderr == "signet: left as they were: main.py\n"


@pytest.mark.parametrize(
    ("expected", "output", "right"),
    [
        ("1 2\n3", "1  2 3\n\n", True),
        ("Yes", "YES", False),
        ("0.333333", "0.3333335", True),
        ("0.333333", "0.34", False),
        ("1e9", "1000000000", True),
        ("1000000", "1000001", False),
        ("10", "10.0", False),
        ("0.5", "nan", False),
        ("0.5", "half", False),
        ("1", "", False),
        ("", "", True),
        ("1", "1 2", False),
    ],
)
def test_tokens_are_compared_as_judges_do(expected: str, output: str, right: bool) -> None:
    assert is_right(expected, output) is right


def test_without_a_tolerance_fractions_are_exact() -> None:
    assert not is_right("0.5", "0.50000001", 0)
    assert is_right("0.5", "0.50", 0)


def test_a_long_difference_is_cut() -> None:
    lines = difference("\n".join(map(str, range(1000))), "x")

    assert len(lines) == 21
    assert lines[-1].endswith(" more lines")
