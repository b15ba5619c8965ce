"""The plan that the runner hands to a probe, and the lines that a probe prints: one JSON object per column."""

import asyncio
import json
import sys

PLAN = json.loads(sys.argv[1])
TOOL = PLAN["tool"]
GOOD, WRONG_CODE, WRONG_ORDER, SLOW, HANG = (
    PLAN["calls"][name] for name in ("good", "wrong_code", "wrong_order", "slow", "hang")
)
PATIENCE_S = PLAN["patience_s"]
"""How long a client waits for the call that hangs."""
LIMIT_S = 45
"""How long one column may take."""


def say(column, **seen):
    """Print what was seen for one column."""
    print(json.dumps({"column": column, **seen}), flush=True)


async def probe(**columns):
    """Try each column in turn; a column that raises or takes too long has failed, and the next one is tried."""
    for name, column in columns.items():
        try:
            seen = {"lacks": column} if isinstance(column, str) else await asyncio.wait_for(column(), LIMIT_S)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what was seen
            seen = {"failed": f"{type(error).__name__}: {error}"}
        say(name, **seen)
        if name == "cancel":
            # Stay connected while the runner looks whether the call has ended.
            await asyncio.sleep(PLAN["hold_s"])


async def give_up(call):
    """Await a call that the client must end by itself, and return what it raises.

    Fail if it is answered, or outlives the client's patience.
    """
    task = asyncio.ensure_future(call)
    done, _ = await asyncio.wait([task], timeout=PATIENCE_S * 4)
    if not done:
        task.cancel()
        raise RuntimeError("the client did not end the call")
    if task.exception() is None:
        raise RuntimeError(f"the hanging call was answered: {task.result()}")
    return repr(task.exception())


class Script:
    """The turns of a model that is not there: it calls the tool with each of the arguments, then says `done`."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.turn = 0

    def next(self):
        """Return the arguments of the next call, or None at the end."""
        self.turn += 1
        return self.calls[self.turn - 1] if self.turn <= len(self.calls) else None

    @property
    def ended(self):
        """True if the model was asked again after its last call."""
        return self.turn > len(self.calls)
