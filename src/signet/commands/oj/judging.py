"""`signet oj test`: a program on each sample of a problem, as a judge would run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from signet.commands.terminal import say, write
from signet.settings.usage import UsageError
from signet.system.piped_process import MAX_OUTPUT_BYTES, ProcessRun, run_to_end
from signet.system.processes import signal_name
from signet.system.text import SPACES, printable
from signet.toolsets.oj_practice.samples import Sample

from .problem import FoundProblem
from .verdict import difference, is_right

__all__ = ["judge"]

DEFAULT_LIMIT_S: Final = 10.0
"""The time for a sample where neither the statement nor the user states one."""
MAX_ERROR_LINES: Final = 5


def judge(problem: FoundProblem, program: Sequence[str], limit_s: float | None, tolerance: float) -> int:
    """Run a program on each sample, print a verdict for each, and return 1 unless all are right.

    Raises:
        UsageError: the program cannot be started.
    """
    found = problem.samples
    if not problem.reads_stdin:
        say("LeetCode calls a function: its samples are arguments, which no program can read from standard input")
        return 1
    if not found.samples:
        say(f"there is nothing to test with: {found.reason}")
        return 1
    stated_s = found.time_limit_ms / 1000 if found.time_limit_ms else None
    seconds = limit_s or stated_s or DEFAULT_LIMIT_S
    right = 0
    for number, sample in enumerate(found.samples, 1):
        try:
            run = run_to_end(program, sample.input.encode() + b"\n", limit_s=seconds)
        except OSError as error:
            raise UsageError(
                f"{program[0]} cannot be started ({error.strerror}); write the program behind --"
            ) from None
        trouble = _trouble(run, sample, seconds, tolerance)
        right += not trouble
        write(
            _shown(
                "\n".join([f"sample {number}: {trouble[0] if trouble else 'right'} ({run.took_s:.2f} s)", *trouble[1:]])
            )
        )
    if found.reason:
        say(found.reason)
    write(f"{right} of {len(found.samples)} right")
    return 0 if right == len(found.samples) else 1


def _trouble(run: ProcessRun, sample: Sample, limit_s: float, tolerance: float) -> list[str]:
    """Return what is wrong with a run, the verdict first; nothing for a right one."""
    errors = [f"  | {line}" for line in run.errors.decode(errors="replace").splitlines()[-MAX_ERROR_LINES:]]
    if run.is_late:
        return [f"too slow: ended after {limit_s:g} s", *errors]
    if run.is_endless:
        return [f"it prints without end: ended after {MAX_OUTPUT_BYTES} bytes", *errors]
    if run.status:
        return [f"it fails: {_status(run.status)}", *errors]
    output = run.output.decode(errors="replace")
    if is_right(sample.output, output, tolerance):
        return []
    given = [f"  input    {line}" for line in sample.input.split("\n")[:MAX_ERROR_LINES]]
    return ["wrong", *given, *(f"  {line}" for line in difference(sample.output, output)), *errors]


def _status(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"ended by {signal_name(-status)}"


def _shown(text: str) -> str:
    return printable(text, keep=SPACES + "\n\t", substitute=None)
