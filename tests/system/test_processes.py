"""The start and the end of child processes: groups, foreign commands, their guards, limits of time and of output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from processes import PATIENCE_S, ROOT
from signet.system.piped_process import PipedProcess, run_to_end
from signet.system.processes import NULL, PIPE, Process, child_environment, restart_pause_s, signal_name
from system.test_piped_process import is_running, python

SOON_S = 0.2
SLEEPER = "import subprocess\np = subprocess.Popen(['/bin/sleep', '600']{})\nprint(p.pid, end='.', flush=True)\n"
"""The beginning of a command that starts a process; it says its number."""
DAEMON = SLEEPER.format(", start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL")
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
HEED = "import sys; sys.stdin.read()"


def wait_until_ended(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def said(process: PipedProcess) -> int:
    """Return the number of the process that a command has started."""
    return int(process.read_until(b".", time.monotonic() + PATIENCE_S, 100))


def test_blocking_pipes_load_neither_an_event_loop_nor_a_pool_of_threads() -> None:
    probe = "import sys, signet.system.piped_process\nprint(*{'asyncio', 'concurrent.futures.thread'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "\n"


# --- the end


@pytest.mark.parametrize(("beginning", "status"), [("", -15), (DEAF, -9)])
def test_a_process_that_does_not_heed_the_end_of_its_input_is_ended(
    monkeypatch: pytest.MonkeyPatch, beginning: str, status: int
) -> None:
    monkeypatch.setattr("signet.system.processes.GRACE_S", SOON_S)
    process = PipedProcess(python(f"{beginning}import time\nprint('up.', flush=True)\ntime.sleep(600)"))
    process.read_until(b".", time.monotonic() + PATIENCE_S, 100)

    process.end(SOON_S)
    process.discard()

    assert process.status == status


@pytest.mark.parametrize("rest", ["", HEED, "import time\ntime.sleep(600)"], ids=["gone", "heeds", "hangs"])
def test_what_is_left_in_a_group_ends_with_its_leader(rest: str) -> None:
    process = PipedProcess(python(SLEEPER.format("") + rest))
    sleeper = said(process)

    process.end(SOON_S)
    process.discard()

    assert wait_until_ended(sleeper)


def test_a_leader_that_has_ended_keeps_its_number_until_its_group_is_ended() -> None:
    process = PipedProcess(python(SLEEPER.format("")))
    sleeper = said(process)

    assert process.wait_for_end(PATIENCE_S)
    assert process.has_ended()
    assert (process.status, os.getpgid(process.pid), is_running(sleeper)) == (None, process.pid, True)
    process.kill()
    assert process.status == 0
    assert wait_until_ended(sleeper)
    process.discard()


def test_a_process_is_killed_once_and_signalled_no_more() -> None:
    process = Process(["/bin/sleep", "600"], leads=True)

    process.kill()
    process.kill()
    process.signal(signal.SIGTERM)
    process.discard()

    assert (process.status, process.has_ended(), process.wait_for_end(0)) == (-9, True, True)


def test_a_wait_for_the_end_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(["/bin/sleep", "600"], leads=True)
    try:
        assert not process.wait_for_end(0.01)
        monkeypatch.delattr("os.pidfd_open")
        assert not process.wait_for_end(0.01)
        threading.Timer(0.05, process.signal, (signal.SIGKILL,)).start()
        assert process.wait_for_end(PATIENCE_S)
    finally:
        process.discard()


def test_a_process_without_a_group_is_reaped_as_soon_as_its_end_is_seen() -> None:
    process = Process(["/bin/sh", "-c", "exit 3"], streams=(NULL, None, None))

    assert process.wait_for_end(PATIENCE_S)
    assert process.status == 3
    process.discard()


# --- foreign commands


def test_a_daemon_of_a_foreign_command_ends_with_it() -> None:
    process = PipedProcess(python(DAEMON + HEED), is_foreign=True)
    daemon = said(process)

    process.end(PATIENCE_S)
    process.discard()

    assert not is_running(daemon)


def test_a_daemon_of_a_command_of_ours_is_left_alone() -> None:
    process = PipedProcess(python(DAEMON + HEED))
    daemon = said(process)

    process.end(PATIENCE_S)
    process.discard()

    assert is_running(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_a_foreign_command_of_a_process_that_is_killed_ends_with_all_that_it_started() -> None:
    """No code of ours runs after SIGKILL: the guard ends them."""
    script = textwrap.dedent(f"""
        import sys, time
        from signet.system.piped_process import PipedProcess
        words = [sys.executable, "-I", "-c", {DEAF + DAEMON + "while True: time.sleep(600)"!r}]
        process = PipedProcess(words, is_foreign=True)
        print(process.pid, process.read_until(b".", time.monotonic() + 60, 100).decode(), flush=True)
        time.sleep(600)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT) as wrapper:
        assert wrapper.stdout is not None
        pids = [int(word) for word in wrapper.stdout.readline().split()]
        wrapper.kill()

    assert [wait_until_ended(pid) for pid in pids] == [True, True]


def test_the_guard_of_a_command_that_has_ended_ends_too() -> None:
    process = PipedProcess(python(HEED), is_foreign=True)
    guard = process.guard
    assert guard is not None
    assert is_running(guard.pid)

    process.end(PATIENCE_S)
    process.discard()

    assert not is_running(guard.pid)
    assert guard.status == -9


def test_without_a_shell_a_foreign_command_runs_without_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.system.processes.SHELL", "/no/such/shell")

    process = PipedProcess(python(HEED), is_foreign=True)
    process.end(PATIENCE_S)
    process.discard()

    assert (process.guard, process.status) == (None, 0)


def test_no_descriptor_is_left_of_a_process_that_was_started_or_not() -> None:
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(3):
        process = PipedProcess(python("print('x')"), is_foreign=True, stderr=PIPE)
        process.end(PATIENCE_S)
        process.discard()
        with pytest.raises(FileNotFoundError):
            Process(["/no/such/command"], leads=True)

    assert len(os.listdir("/proc/self/fd")) == before


# --- a run to the end


def test_a_run_has_its_output_its_errors_and_its_status() -> None:
    script = "import sys\nsys.stdout.write(sys.stdin.read() * 3)\nsys.stderr.write('e' * 9000)\nsys.exit(7)"

    run = run_to_end(python(script), b"ab" * 100_000, limit_s=PATIENCE_S)

    assert (run.output, run.errors, run.status) == (b"ab" * 300_000, b"e" * 4096, 7)
    assert (run.is_late, run.is_endless) == (False, False)


def test_a_run_that_is_late_is_ended_with_its_group_and_keeps_what_it_said() -> None:
    run = run_to_end(python(SLEEPER.format("") + "p.wait()"), limit_s=0.5)

    assert (run.status, run.is_late, run.is_endless) == (-9, True, False)
    assert wait_until_ended(int(run.output.strip(b".")))


def test_a_run_ends_with_its_leader_though_a_process_outside_its_group_holds_its_pipes() -> None:
    daemon = SLEEPER.format(", start_new_session=True")

    run = run_to_end(python(daemon), limit_s=PATIENCE_S)

    assert (run.status, run.is_late) == (0, False)
    os.kill(int(run.output.strip(b".")), signal.SIGKILL)


def test_a_run_in_a_folder_on_a_system_without_descriptors_of_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr("os.pidfd_open")

    run = run_to_end(python("import os; print(os.getcwd())"), limit_s=PATIENCE_S, cwd=str(tmp_path))

    assert (run.output, run.status) == (f"{tmp_path}\n".encode(), 0)


# --- small parts


def test_a_foreign_child_gets_a_short_list_of_variables_and_those_that_are_named() -> None:
    environ = {"PATH": "/bin", "HOME": "/home/me", "API_KEY": "secret", "LANG": "C"}

    assert child_environment(environ, [("LANG", "en"), ("MINE", "1")]) == {
        "PATH": "/bin", "HOME": "/home/me", "LANG": "en", "MINE": "1",
    }  # fmt: skip


def test_a_young_process_and_one_that_never_served_are_replaced_after_a_pause() -> None:
    now = time.monotonic()

    assert [restart_pause_s(now), restart_pause_s(now - 60), restart_pause_s(now - 60, has_served=False)] == [1, 0, 1]


def test_signals_have_names_or_numbers() -> None:
    assert [signal_name(11), signal_name(40)] == ["SIGSEGV", "signal 40"]
