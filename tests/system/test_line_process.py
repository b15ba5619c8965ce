"""Child processes of an event loop: lines without waiting, bounded, and an end for all that they started."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from processes import PATIENCE_S, ROOT
from signet.system import line_process, processes
from signet.system.line_process import LineProcess

ENV = {"PATH": os.environ["PATH"]}
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
HEED = "import sys; sys.stdin.read()"
"""The end of a child that ends with its input."""
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
"""The beginning of a child that heeds neither SIGTERM nor the end of its input."""
FAMILY = """
import subprocess, sys
script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
grandchild = subprocess.Popen([sys.executable, "-I", "-S", "-c", script])
print(grandchild.pid, flush=True)
"""
"""The beginning of a child with a grandchild that ignores SIGTERM and holds the pipes."""


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine on each kind of event loop."""
    factory = asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop

    def to_end(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(work, PATIENCE_S * 2))

    return to_end


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_process, "GRACE_S", 0.3)


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = our_children()
    yield
    assert our_children() == before


class Seen:
    """What a child said, and a child that says it."""

    def __init__(self, script: str, *command: str, env: Mapping[str, str] = ENV, cwd: str | None = None) -> None:
        self.lines: list[bytes] = []
        self.stderr: list[str] = []
        self.exits: list[str] = []
        self.edges: list[tuple[bytes, bytes]] = []
        self.child = LineProcess(
            command or (sys.executable, "-I", "-S", "-c", script),
            environ=env,
            cwd=cwd,
            on_line=self.lines.append,
            on_stderr=self.stderr.append,
            on_exit=self.exits.append,
            on_long_line=lambda head, tail: self.edges.append((head, tail)),
        )

    async def start(self) -> LineProcess:
        await self.child.start()
        return self.child

    async def until(self, is_so: Callable[[], object]) -> None:
        while not is_so():  # noqa: ASYNC110 - a process has no event here
            await asyncio.sleep(0.005)


LAST = "; its last line on standard error: "


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def our_children() -> list[int]:
    """Return the processes whose parent we are, zombies among them."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- lines


def test_lines_go_in_and_come_out_whole_and_in_order(run: Any) -> None:
    sent = [b"x" * size for size in (1, 5, 300_000, 70_000, 2)] * 3

    async def talk() -> list[bytes]:
        seen = Seen(ECHO)
        child = await seen.start()
        for line in sent:
            child.write(line)
        await seen.until(lambda: len(seen.lines) == len(sent))
        await child.close()
        assert seen.exits == []
        return seen.lines

    assert run(talk()) == sent


def test_lines_of_one_turn_of_the_loop_are_one_write(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write
    monkeypatch.setattr(line_process.os, "write", lambda fd, data: written.append(bytes(data)) or write(fd, data))

    async def talk() -> None:
        seen = Seen(ECHO)
        child = await seen.start()
        for number in range(100):
            child.write(b"%d" % number)
        await seen.until(lambda: len(seen.lines) == 100)
        await child.close()

    run(talk())

    assert [data for data in written if data.startswith(b"0\n")] == [b"".join(b"%d\n" % n for n in range(100))]


@pytest.mark.parametrize(("last", "kept"), [("{1: 2}", [b"{1: 2}"]), ("{1: ", [])])
def test_empty_lines_are_no_messages_and_a_last_line_needs_no_end_if_it_is_whole(
    run: Any, last: str, kept: list[bytes]
) -> None:
    async def talk() -> Seen:
        seen = Seen(f"import sys; sys.stdout.write('\\n\\none\\n\\n{last}')")
        child = await seen.start()
        await seen.until(lambda: seen.exits)
        await child.close()
        return seen

    seen = run(talk())

    assert (seen.lines, seen.exits) == ([b"one", *kept], ["it ended with exit code 0"])


def test_a_reader_that_fails_on_one_line_gets_the_others(run: Any) -> None:
    async def talk() -> tuple[list[bytes], list[str]]:
        seen = Seen(f"print('1\\n2\\n3\\n4', flush=True)\n{HEED}")
        failures: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: failures.append(str(told["exception"])))

        def read(line: bytes) -> None:
            seen.lines.append(line)
            if line == b"2":
                raise ValueError("a line that nobody can bear")

        seen.child._on_line = read
        child = await seen.start()
        await seen.until(lambda: len(seen.lines) == 4)
        await child.close()
        return seen.lines, failures

    assert run(talk()) == ([b"1", b"2", b"3", b"4"], ["a line that nobody can bear"])


def test_a_line_that_is_too_long_is_told_and_skipped(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_process, "MAX_LINE_BYTES", 300_000)

    async def talk() -> Seen:
        long = """print('{"id":7' + 'x' * 900_000 + 'end}')"""
        seen = Seen(f"print('first')\n{long}\nprint('next', flush=True)\n{HEED}")
        child = await seen.start()
        await seen.until(lambda: len(seen.lines) == 2)
        await child.close()
        return seen

    seen = run(talk())

    assert seen.lines == [b"first", b"next"]
    assert seen.stderr == ["(a line of more than 300000 bytes on standard output was skipped)"]
    assert [(head[:7], tail[-4:]) for head, tail in seen.edges] == [(b'{"id":7', b"end}")]


def test_the_environment_is_what_is_given_and_no_more(run: Any, tmp_path: Path) -> None:
    async def talk() -> list[bytes]:
        script = "import os; print(sorted(os.environ), os.getcwd())"
        seen = Seen(script, env={**ENV, "KEY": "1", "LC_CTYPE": "C.UTF-8"}, cwd=str(tmp_path))
        child = await seen.start()
        await seen.until(lambda: seen.exits)
        await child.close()
        return seen.lines

    assert run(talk()) == [f"['CHILD_OF_SIGNET', 'KEY', 'LC_CTYPE', 'PATH'] {tmp_path}".encode()]


# --- a start that fails


@pytest.mark.parametrize(
    ("command", "cwd", "sentence"),
    [
        (("no-such-command-here",), None, "no such command 'no-such-command-here'"),
        (("{folder}/plain",), None, "'{folder}/plain' is not an executable file"),
        (("{folder}/odd",), None, "it names an interpreter that does not exist: '{folder}/odd'"),
        (("true",), "{folder}/none", "there is no folder '{folder}/none' to run 'true' in"),
        (("{folder}/binary",), None, "'{folder}/binary' cannot be started: Exec format error"),
        (("a\0b",), None, "'a\\x00b' cannot be started: embedded null byte"),
    ],
)
def test_a_command_that_cannot_be_started_is_told_in_a_sentence(
    run: Any, tmp_path: Path, command: tuple[str, ...], cwd: str | None, sentence: str
) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "odd").write_text("#!/no/such/interpreter\n")
    (tmp_path / "binary").write_bytes(b"\x7fELF none")
    for name in ("odd", "binary"):
        (tmp_path / name).chmod(0o755)
    words = [word.format(folder=tmp_path) for word in command]
    before = open_files()

    async def fail() -> str:
        seen = Seen("", *words, cwd=cwd and cwd.format(folder=tmp_path))
        with pytest.raises(OSError) as caught:  # noqa: PT011 - its text is compared below
            await seen.start()
        await seen.child.close()
        assert seen.exits == []
        return str(caught.value)

    assert run(fail()) == sentence.format(folder=tmp_path)
    assert open_files() == before


@pytest.mark.parametrize(("name", "said"), [("no-such-command-here", "no such command"), ("ls", "not an executable")])
def test_a_folder_of_path_that_may_not_be_searched_does_not_hide_that_there_is_no_command(name: str, said: str) -> None:
    """The system says EACCES for both; root may search every folder, so the error is made here."""
    assert said in str(line_process._explained(PermissionError(errno.EACCES, "Permission denied"), [name], None))


def test_without_words_there_is_no_command(run: Any) -> None:
    async def fail() -> None:
        child = LineProcess((), environ=ENV, on_line=print, on_stderr=print, on_exit=print)
        with pytest.raises(OSError, match=r"^no command is given$"):
            await child.start()

    run(fail())


def test_a_child_that_was_not_started_or_is_closed_takes_lines_in_silence(run: Any) -> None:
    async def talk() -> None:
        seen = Seen(ECHO)
        seen.child.write(b"early")
        await seen.child.close()
        child = await Seen(ECHO).start()
        await child.close()
        child.write(b"late")
        await child.close()

    run(talk())


# --- how it ends by itself


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("raise SystemExit(3)", "it ended with exit code 3"),
        ("pass", "it ended with exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it was killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", "it was killed by signal 40"),
        (
            "import sys; sys.exit('cannot log in with token=abcdefgh1234 at http://me:pw@host/')",
            f"it ended with exit code 1{LAST}cannot log in with token=[redacted] at http://…@host/",
        ),
    ],
)
def test_the_end_of_a_child_is_told_once_with_its_last_words(run: Any, script: str, sentence: str) -> None:
    async def talk() -> list[str]:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.exits)
        child.write(b"into the void")
        await child.close()
        return seen.exits

    assert run(talk()) == [sentence]


def test_what_it_wrote_before_it_died_arrives_before_its_end_is_told(run: Any) -> None:
    async def talk() -> None:
        seen = Seen("import os\nfor n in range(900): print(n, 'x' * 60)\nos.kill(os.getpid(), 9)")
        counts: list[int] = []
        seen.child._on_exit = lambda _: counts.append(len(seen.lines))
        child = await seen.start()
        await seen.until(lambda: counts)
        await child.close()
        # Python had not written the rest of its buffer.
        assert counts[0] > 700

    run(talk())


def test_on_a_system_that_tells_nothing_of_processes_the_end_is_seen_too(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(processes.os, "pidfd_open")

    async def talk() -> list[str]:
        seen = Seen("import time; time.sleep(0.05); raise SystemExit(4)")
        child = await seen.start()
        await seen.until(lambda: seen.exits)
        await child.close()
        return seen.exits

    assert run(talk()) == ["it ended with exit code 4"]


@pytest.mark.parametrize(("fd", "name"), [(1, "output"), (0, "input")])
def test_a_child_that_closes_a_pipe_and_lives_is_lost_and_ended(run: Any, fd: int, name: str) -> None:
    script = f"{DEAF}\nimport os\nos.close({fd})\nos.write(2, b'closed\\n')\ntime.sleep(600)"

    async def talk() -> tuple[list[str], int]:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.stderr)
        child.write(b"hello")
        await seen.until(lambda: seen.exits)
        await child.close()
        return seen.exits, child.pid

    exits, pid = run(talk())

    assert exits == [f"it closed its standard {name}; its last line on standard error: closed"]
    assert not is_running(pid)


# --- how it is ended


def test_closing_its_input_is_enough_for_a_child_that_heeds_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = f"open({str(tmp_path / 'end')!r}, 'w').write('by itself')"
    script = f"print('up', flush=True)\n{HEED}\n{note}"

    async def talk() -> list[str]:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.lines)
        await child.close()
        return seen.exits

    monkeypatch.setattr(line_process, "GRACE_S", PATIENCE_S)

    assert run(talk()) == []
    assert (tmp_path / "end").read_text() == "by itself"


@pytest.mark.parametrize(
    "script",
    [
        "import time\nprint('up', flush=True)\ntime.sleep(600)",
        f"{DEAF}\nprint('up', flush=True)\nwhile True: time.sleep(600)",
        f"{DEAF}\nprint('up', flush=True)\nwhile True: print('x' * 10_000)",
    ],
    ids=["heeds SIGTERM", "heeds nothing", "heeds nothing and writes on"],
)
def test_a_child_that_does_not_heed_the_end_of_its_input_is_ended(run: Any, script: str) -> None:
    async def talk() -> int:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.lines)
        await child.close()
        assert seen.exits == []
        return child.pid

    assert not is_running(run(talk()))


@pytest.mark.parametrize(
    "rest", ["raise SystemExit(5)", HEED, "import time; time.sleep(600)"], ids=["dies", "heeds", "hangs"]
)
def test_no_grandchild_of_the_group_is_left(run: Any, rest: str) -> None:
    async def talk() -> tuple[int, list[str]]:
        seen = Seen(FAMILY + "import time; time.sleep(0.2)\n" + rest)
        child = await seen.start()
        await seen.until(lambda: len(seen.lines) == 2)
        if rest.startswith("raise"):
            await seen.until(lambda: seen.exits)
        await child.close()
        return int(min(seen.lines)), seen.exits

    pid, exits = run(talk())

    assert not is_running(pid)
    assert exits == (["it ended with exit code 5"] if rest.startswith("raise") else [])


@pytest.mark.parametrize("environ", ["None", "{}"], ids=["with the mark", "without a variable"])
def test_a_daemon_that_left_the_group_ends_with_the_child(run: Any, environ: str) -> None:
    command = f"d = subprocess.Popen(['/bin/sleep', '600'], start_new_session=True, env={environ})"
    daemon = f"import subprocess\n{command}\n"
    script = f"{daemon}print(d.pid, flush=True)\n{HEED}"

    async def talk() -> int:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.lines)
        await child.close()
        return int(seen.lines[0])

    daemon = run(talk())

    assert not is_running(daemon)


def test_a_daemon_that_is_as_deaf_as_its_parent_ends_with_it(run: Any) -> None:
    deaf = f"{DEAF}\nprint(os.getpid(), flush=True)\nwhile True: time.sleep(600)"
    script = f"""
import os
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
{deaf}
"""

    async def talk() -> list[int]:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: len(seen.lines) == 2)
        await child.close()
        return [int(line) for line in seen.lines]

    assert [pid for pid in run(talk()) if is_running(pid)] == []


def test_a_close_that_is_cancelled_ends_the_child_nevertheless(run: Any) -> None:
    async def talk() -> int:
        seen = Seen(f"{DEAF}\nprint('up', flush=True)\nwhile True: time.sleep(600)")
        child = await seen.start()
        await seen.until(lambda: seen.lines)
        closing = asyncio.create_task(child.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        await seen.until(lambda: not is_running(child.pid))
        await child.close()
        return child.pid

    assert not is_running(run(talk()))


def test_a_loop_that_ends_in_the_middle_of_a_close_leaves_nothing(run: Any) -> None:
    async def talk() -> int:
        seen = Seen(FAMILY + f"{DEAF}\nwhile True: time.sleep(600)")
        child = await seen.start()
        await seen.until(lambda: len(seen.lines) == 2)
        closing = asyncio.create_task(child.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        return int(min(seen.lines))

    run(asyncio.sleep(0))  # the first loop of a process opens a pipe for good
    before = open_files()

    grandchild = run(talk())

    assert open_files() == before
    # It is killed; whoever reaps orphans here does that in his own time.
    deadline = time.monotonic() + PATIENCE_S
    while is_running(grandchild) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(grandchild)


def test_whoever_is_killed_takes_the_children_of_his_children_along() -> None:
    """The wrapper gets SIGKILL: nothing of ours runs any more, and a grandchild heeds nothing."""
    wrapper = f"""
    import asyncio, os
    from signet.system.line_process import LineProcess

    async def main():
        child = LineProcess(
            ({sys.executable!r}, "-I", "-S", "-c", {FAMILY + DEAF + "while True: time.sleep(600)"!r}),
            environ={{}}, on_line=lambda line: print(line.decode(), flush=True), on_stderr=print, on_exit=print)
        await child.start()
        print("child", child.pid, flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
    """
    script = textwrap.dedent(wrapper)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        lines = sorted(process.stdout.readline() for _ in range(3))
        process.kill()

    pids = [int(lines[0]), int(lines[1].split()[1])]

    deadline = time.monotonic() + PATIENCE_S
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = [*filter(is_running, pids)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


# --- a child that does not read


def test_a_burst_of_large_lines_is_no_reason_to_end_a_child_that_reads_on(run: Any) -> None:
    async def talk() -> tuple[list[str], list[str]]:
        source, sink = os.pipe()
        broken: list[str] = []
        with os.fdopen(sink, "wb", buffering=0) as stream:
            child = line_process.LineInput(stream, asyncio.get_running_loop(), broken.append)
            for _ in range(20):
                child.write(b"x" * ((1 << 20) - 1))
            assert child.unsent_bytes == 20 << 20
            before = child._taken
            await asyncio.sleep(0.01)
            assert child._taken > before
            child._look(before)
            while_it_reads = [*broken]
            child._look(child._taken)
            child.close()
        os.close(source)
        return while_it_reads, broken

    while_it_reads, after = run(talk())

    assert while_it_reads == []
    assert [text.partition(":")[0] for text in after] == ["it does not read its standard input"]


@pytest.mark.parametrize(("size", "stuck_s"), [(9 << 20, 0.05), (65 << 20, 600)])
def test_a_child_that_does_not_read_counts_as_stuck(
    run: Any, monkeypatch: pytest.MonkeyPatch, size: int, stuck_s: float
) -> None:
    monkeypatch.setattr(line_process, "STUCK_S", stuck_s)

    async def talk() -> Seen:
        seen = Seen("import time; time.sleep(600)")
        child = await seen.start()
        for _ in range(size >> 20):
            child.write(b"x" * ((1 << 20) - 1))
        await seen.until(lambda: seen.exits)
        assert child.unsent_bytes == 0
        await child.close()
        return seen

    [exit_] = run(talk()).exits

    assert exit_.startswith("it does not read its standard input: ")


# --- standard error


def test_a_flood_on_standard_error_is_bounded_and_does_not_hold_up_the_child(run: Any) -> None:
    flood = "for n in range(200_000): print(n, 'x' * 40, file=sys.stderr)"
    script = f"import sys\n{flood}\nprint('done', flush=True)\n{HEED}"

    async def talk() -> Seen:
        seen = Seen(script)
        child = await seen.start()
        await seen.until(lambda: seen.lines)
        await child.close()
        return seen

    seen = run(talk())
    told = [int(line.split()[0][1:]) for line in seen.stderr if line.endswith("were dropped)")]
    passed = [line for line in seen.stderr if line.endswith("x")]

    assert passed[0] == f"0 {'x' * 40}"
    assert sum(told) + len(passed) == 200_000
    assert len(passed) < 20_000


def test_a_flood_without_line_ends_keeps_the_beginning_of_the_line(run: Any) -> None:
    async def talk() -> Seen:
        seen = Seen("import sys; sys.stderr.write('y' * 5_000_000); sys.stderr.flush(); print('done', flush=True)")
        child = await seen.start()
        await seen.until(lambda: seen.exits)
        await child.close()
        return seen

    seen = run(talk())

    assert seen.stderr == ["y" * 8192 + "…"]
    assert seen.exits == ["it ended with exit code 0; its last line on standard error: " + "y" * 200]


# --- months


def test_after_many_starts_and_ends_there_are_as_many_processes_and_descriptors_as_before(run: Any) -> None:
    words = ("/bin/sh", "-c", "read line; echo $line")

    async def one(number: int) -> None:
        seen = Seen("", *words)
        child = await seen.start()
        if number % 4 == 0:
            os.kill(child.pid, signal.SIGKILL)
            await seen.until(lambda: seen.exits)
        elif number % 4 == 1:
            child.write(b"hello")
            await seen.until(lambda: seen.exits)
            assert seen.lines == [b"hello"]
        await child.close()

    async def many() -> tuple[int, int]:
        await one(0)
        gc.collect()
        before = open_files()
        for number in range(0, 200, 5):
            await asyncio.gather(*map(one, range(number, number + 5)))
        return before, open_files()

    before, after = run(many())

    assert before == after
