"""The accounts of a wrapped server's load: what the callers got, beside what the server has noted. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from .callers import Sent
from .family import Sample

MEMORY_GROWTH: Final = 1.1
"""How much larger the wrapper may be in the last third of a run than in the second: a heap settles slowly."""


@dataclass
class Accounts:
    """The figures of a run."""

    calls: int
    kills: int
    kinds: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """The errors that do not say that the call may have happened, by text."""
    changed_twice: list[str] = field(default_factory=list)
    """Calls of the changing tool that were executed more than once."""
    sent_again: int = 0
    """Calls of the other tools that were executed more than once."""
    not_executed: list[str] = field(default_factory=list)
    """Calls with a result that the server never saw."""
    executed_in_silence: list[str] = field(default_factory=list)
    """Calls that were executed, and whose error does not say that they may have been."""
    maybe_and_executed: int = 0
    samples: list[Sample] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    """Processes that the wrapper left behind."""

    def broken(self) -> list[str]:
        """Return the promises that were broken."""
        second, last = self.thirds()
        checks = {
            "a call has no answer": self.kinds["lost"] > 0,
            "a call got the answer of another": self.kinds["wrong"] > 0,
            "a call failed that was never sent": self.kinds["error"] > 0,
            "a changing call was executed twice": bool(self.changed_twice),
            "a result without an execution": bool(self.not_executed),
            "an error hides an execution": bool(self.executed_in_silence),
            "there are more processes": _most(last, "processes") > _most(second, "processes"),
            "there are more descriptors": _most(last, "descriptors") > _most(second, "descriptors"),
            "there is more memory": _middle(last) > _middle(second) * MEMORY_GROWTH,
            "a process is left": bool(self.left),
            "nothing was killed": self.kills == 0,
        }
        return [promise for promise, is_broken in checks.items() if is_broken]

    def thirds(self) -> tuple[list[Sample], list[Sample]]:
        """Return the samples of the second and of the last third; in the first the wrapper warms up."""
        size = max(len(self.samples) // 3, 1)
        return self.samples[-2 * size : -size] or self.samples, self.samples[-size:]


def take(sent: Sequence[Sent], executed: Sequence[str], kills: int, samples: list[Sample], left: list[int]) -> Accounts:
    """Return the figures of a run."""
    counts = Counter(executed)
    accounts = Accounts(len(sent), kills, samples=samples, left=left)
    for call in sent:
        accounts.kinds[call.kind] += 1
        count = counts[call.entry]
        if count > 1 and call.tool == "change":
            accounts.changed_twice.append(call.entry)
        elif count > 1:
            accounts.sent_again += 1
        if call.kind == "result" and not count:
            accounts.not_executed.append(call.entry)
        if call.kind == "error":
            accounts.errors[call.text] += 1
            if count:
                accounts.executed_in_silence.append(call.entry)
        if call.kind == "maybe" and count:
            accounts.maybe_and_executed += 1
    return accounts


def _most(samples: Sequence[Sample], what: str) -> int:
    return max((getattr(sample, what) for sample in samples), default=0)


def _middle(samples: Sequence[Sample]) -> float:
    return statistics.median(sample.memory_kb for sample in samples) if samples else 0
