"""The processes of one server: each tells the others its figures and how it stands, about every two seconds.

this process ── what is new ──▶ spool ──▶ every other one ── figures, states ──▶ the one that a browser asks
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from signet.system.figures.families import HOURS, Key
from signet.system.figures.hour import HourFigures, Tally

from .spool import Spool
from .upstreams import UpstreamNow

__all__ = ["ProcessExchange", "ProcessState"]

KIND: Final = "health"
EVERY_S: Final = 2.0
LINE_TALLIES: Final = 100
"""The number of tallies in one line, so that no line is long."""
MAX_PROCESSES: Final = 128
"""The number of other processes that are known: workers may be replaced again and again."""


class ProcessState(msgspec.Struct, frozen=True):
    """How one process stands."""

    pid: int
    at_s: float
    in_flight: int
    lag_s: float
    """The age of the oldest journal record that could not be written."""
    written: int
    """The number of journal records written since the start."""
    upstreams: list[UpstreamNow]


class _Line(msgspec.Struct, frozen=True):
    """One line of the spool."""

    state: ProcessState
    tallies: list[tuple[int, Key, Tally]]


_decoder: Final = msgspec.json.Decoder(_Line)


class ProcessExchange:
    """Tells the other processes what is new here, and takes in what is new there."""

    def __init__(self, spool: Spool, hour: HourFigures, present: Callable[[], ProcessState]) -> None:
        """Exchange by a spool; `present` returns how this process stands."""
        self._spool = spool
        self._hour = hour
        if spool.is_shared:
            hour.share()
        self._present = present
        self._told: tuple[object, ...] = ()
        self._others: dict[int, ProcessState] = {}
        self._turn = threading.Lock()

    def start(self) -> None:
        """Exchange again and again, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="console-health", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.exchange()
            time.sleep(EVERY_S)

    def exchange(self) -> None:
        """Tell what is new, if anything is, and take in what the others told; not for the event loop."""
        with self._turn:
            state, unsent = self._present(), list(self._hour.take_unsent().items())
            # The time alone is nothing new.
            news = msgspec.structs.astuple(msgspec.structs.replace(state, at_s=0.0))
            if unsent or news != self._told:
                self._told = news
                self._spool.publish(KIND, _lines(state, unsent))
            for line in self._spool.others(KIND):
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            told = _decoder.decode(line)
        except msgspec.DecodeError:
            # Of another version.
            return
        known = {(number, key): tally for number, key, tally in told.tallies if _is_known(key)}
        self._hour.add(known, are_own=False)
        self._others.pop(told.state.pid, None)
        self._others[told.state.pid] = told.state
        if len(self._others) > MAX_PROCESSES:
            del self._others[next(iter(self._others))]

    def others(self) -> list[ProcessState]:
        """Return how the other processes stand that are still there."""
        with self._turn:
            self._others = {pid: state for pid, state in self._others.items() if _is_there(pid)}
            return list(self._others.values())


def _lines(state: ProcessState, unsent: list[tuple[tuple[int, Key], Tally]]) -> list[bytes]:
    tallies = [(number, key, tally) for (number, key), tally in unsent]
    pieces = [tallies[at : at + LINE_TALLIES] for at in range(0, len(tallies), LINE_TALLIES)] or [[]]
    return [msgspec.json.encode(_Line(state, piece)) for piece in pieces]


def _is_known(key: Key) -> bool:
    name, labels = key
    return name in HOURS and len(labels) == len(HOURS[name].labels)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
