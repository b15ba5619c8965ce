"""The faults of a load run, each ordered while calls run, and undone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from signet.sandbox.server import Running

from .callers import Callers
from .fleet import Fleet, answers, until

Fault = Callable[[Fleet, Running], Awaitable[None]]
PAUSE_S: Final = 2.0


async def kill_an_instance(fleet: Fleet, _: Running) -> None:
    """Kill a server and its workers without a word, and start it again."""
    victim = fleet.signets[0]
    victim.kill_all()
    await asyncio.sleep(PAUSE_S)
    victim.stop(signal.SIGKILL)
    victim.start()
    await _ready(fleet.ports[0])


async def restart_redis(fleet: Fleet, _: Running) -> None:
    """Stop Redis, which keeps nothing, and start it again."""
    await asyncio.to_thread(fleet.redis.stop)
    await asyncio.sleep(PAUSE_S)
    fleet.redis.start()


async def pause_redis(fleet: Fleet, _: Running) -> None:
    """Let Redis hang for some time."""
    fleet.redis.send(signal.SIGSTOP)
    await asyncio.sleep(PAUSE_S * 2)
    fleet.redis.send(signal.SIGCONT)


async def hang_the_bank(_: Fleet, bank: Running) -> None:
    """Let the Bank's server take a few requests and answer none of them."""
    bank.order("hang", times=3)
    await asyncio.sleep(PAUSE_S)


async def replace_the_workers(fleet: Fleet, _: Running) -> None:
    """Replace the workers of every server, one server after the other."""
    for one in fleet.signets:
        one.send(signal.SIGHUP)
        await asyncio.sleep(PAUSE_S)


async def jump_the_clock(fleet: Fleet, _: Running) -> None:
    """Set the clock of one server an hour ahead, and back."""
    fleet.clock.write_text("3600")
    await asyncio.sleep(PAUSE_S)
    fleet.clock.write_text("0")


class Ordered(NamedTuple):
    """A fault, and the calls that were made meanwhile."""

    name: str
    first: int
    last: int


FAULTS: Final[tuple[Fault, ...]] = (
    kill_an_instance,
    restart_redis,
    pause_redis,
    hang_the_bank,
    replace_the_workers,
    jump_the_clock,
)


async def order_all(fleet: Fleet, bank: Running, callers: Callers, calls: int) -> list[Ordered]:
    """Order each fault once, spread over the run; return what was done, and during which calls."""
    done: list[Ordered] = []
    for number, fault in enumerate(FAULTS, 1):
        due = calls * number // (len(FAULTS) + 2)
        while len(callers.sent) < due and not callers.is_ended:
            await asyncio.sleep(0.05)
        began = len(callers.sent)
        await fault(fleet, bank)
        name = (fault.__doc__ or "").partition("\n")[0].removesuffix(".")
        done.append(Ordered(name, began, len(callers.sent)))
        await asyncio.sleep(1)
    callers.may_end = True
    return done


async def _ready(port: int) -> None:
    await asyncio.to_thread(until, lambda: answers(port), f"the server on port {port} is ready again")
