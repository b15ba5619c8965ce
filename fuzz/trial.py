"""A trial: one input run through a target, with what went wrong."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass

from .paths import PathWatch
from .target import Run, Target, TooSlow, Violation
from .watch import MIB, Hang, forget_peak, hang_guard, peak_memory

__all__ = ["Failure", "Trial"]

BASE_BYTES = 48 * MIB
PER_BYTE = 500
"""The memory that an input may take: this many bytes, and this many for each byte of it."""
CONFIRMATIONS = 3
"""How often a time that is too long is measured again."""


@dataclass(frozen=True)
class Failure:
    """One input that the code under test did not stand."""

    kind: str
    """`crash`, `contract`, `slow`, `hang` or `memory`."""
    place: str
    """The exception and where it was raised, or the rule that was broken: equal for inputs with one cause."""
    told: str
    data: bytes

    @property
    def key(self) -> str:
        """What failures with one cause have in common."""
        return f"{self.kind} {self.place}"


class Trial:
    """Runs inputs through an open target."""

    def __init__(self, target: Target, run: Run) -> None:
        self.target = target
        self._run = run

    def run(self, data: bytes, paths: PathWatch | None = None) -> Failure | None:
        """Run an input, watched by `paths` if they are given, and return what went wrong."""
        failure = self._once(data, paths)
        if failure is None or failure.kind != "slow":
            return failure
        # The noise of the machine, and the watch itself, take time too.
        again = [self._once(data, None) for _ in range(CONFIRMATIONS)]
        return failure if all(one is not None and one.kind == "slow" for one in again) else None

    def _once(self, data: bytes, paths: PathWatch | None) -> Failure | None:
        forget_peak()
        peak = peak_memory()
        start_s = time.process_time()
        try:
            with hang_guard():
                if paths is not None:
                    paths.start()
                try:
                    self._run(data)
                finally:
                    if paths is not None:
                        paths.stop()
        except (TooSlow, Violation) as error:
            kind = "slow" if isinstance(error, TooSlow) else "contract"
            return Failure(kind, str(error).partition(":")[0], str(error), data)
        except Hang as error:
            return Failure("hang", _place(error), traceback.format_exc(), data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of a native library is no Exception
            return Failure("crash", _place(error), traceback.format_exc(), data)
        took_s, more = time.process_time() - start_s, peak_memory() - peak
        if more > BASE_BYTES + len(data) * PER_BYTE:
            return Failure("memory", "peak", f"{more / MIB:.0f} MiB for {len(data)} bytes", data)
        if took_s > self.target.base_s + len(data) * self.target.per_byte_s:
            return Failure("slow", "CPU time", f"{took_s:.3f} s for {len(data)} bytes", data)
        return None


def _place(error: BaseException) -> str:
    """Return the exception with the innermost place in the code under test."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/signet/" in frame.filename] or frames[-1:]
    last = ours[-1] if ours else None
    where = f"{last.filename.rpartition('/signet/')[2]} {last.name}" if last is not None else ""
    return f"{type(error).__name__} in {where}"
