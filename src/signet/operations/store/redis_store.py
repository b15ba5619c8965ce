"""The store that processes and machines share: Redis, Valkey, or what speaks their protocol.

A question that gets no answer fails within two seconds; while the store is away, all but one at a time fail at once.
Every key has a time to live, and keys that one script needs share a hash tag.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, cast
from urllib.parse import quote

from signet.kernel.caller import holder_now
from signet.kernel.turns import HELD_POLL_S, HOLD_S
from signet.system.places import FairTurns

from .address import StoreAddress
from .availability import Availability
from .key_scripts import BEGIN, FINISH
from .redis_client import ANSWER_S, MAX_IN_FLIGHT, close_client, is_full, is_refusal, open_client, reason_of
from .scripts import DECIDE, END, START, TAKE, WRITE, Script
from .store import Bucket, Decision, Kept, StoreError, StoreFullError

__all__ = ["RedisStore"]

PREFIX: Final = "signet"
SECOND_US: Final = 1_000_000
MAX_VALUE_BYTES: Final = 8_388_608
"""The largest value that is kept: twice the largest result of a tool."""
MAX_NAME_CHARS: Final = 120
"""The longest part of a key that is readable; a longer one is a digest."""
LIMIT_S: Final = 2 * ANSWER_S
"""The longest time of a question, connections and redirections included."""
MAX_ANSWER_BYTES: Final = 268_435_456
"""The size of all answers that are kept by their idempotency keys; at most a quarter of the server's memory limit."""
ROOMS: Final = 16
"""The parts into which a cluster divides that, each on one of its servers."""
CLOSING_POLL_S: Final = 0.01
SUBJECTS: Final = ("principal:", "address:")


class RedisStore:
    """A Store on a Redis server. It is opened without a connection, and connects again by itself."""

    def __init__(self, address: StoreAddress, on_change: Callable[[str], None] = lambda _: None) -> None:
        """Use the store at an address; `on_change` is told why it is away, or nothing when it is back.

        Raises:
            ImportError: the extra `redis` is not installed.
        """
        self._address = address
        self._client = open_client(address)
        self._places = FairTurns("questions to the store", MAX_IN_FLIGHT)
        self._rooms = ROOMS if address.kind == "cluster" else 1
        self._availability = Availability(time.monotonic, on_change)
        self._runners: set[str] = set()
        """Those who run the call of a key and have not told of its end."""

    async def decide(self, buckets: Sequence[Bucket]) -> Decision:
        """Charge one call to all buckets, or to none if one of them refuses."""
        arguments: list[int] = []
        for bucket in buckets:
            arguments += (bucket.count, round(bucket.period_s * SECOND_US), bucket.burst or bucket.count)
        refused, wait_us, left = await self._run(DECIDE, [_bucket_key(bucket) for bucket in buckets], arguments)
        # Whole milliseconds, as the wire has them: a caller that waits so long is let in.
        return Decision(None if refused < 0 else refused, -(-wait_us // 1000) / 1000, left)

    async def begin(self, key: str, digest: str, runner: str, running_s: float, *, holder: str = "") -> Kept:
        """Return what is known of an idempotency key, and note who runs a call with this digest if it is new."""
        keys, arguments = self._room_of(holder)
        state, body = await self._run(BEGIN, keys, [*arguments, key, digest, runner, _milliseconds(running_s)])
        kept = Kept(state.decode(), body)
        if kept.state == "new":
            self._runners.add(runner)
        return kept

    async def finish(
        self, key: str, digest: str, runner: str, body: bytes | None, keep_s: float, *, holder: str = ""
    ) -> None:
        """Keep the answer of a call; without one, or with one that is too large, forget that it ran."""
        is_kept = body is not None and len(body) <= MAX_VALUE_BYTES
        keep_ms = _milliseconds(keep_s) if is_kept else 0
        answer = (body or b"") if is_kept else b""
        keys, arguments = self._room_of(holder)
        try:
            await self._run(FINISH, keys, [*arguments, key, digest, runner, keep_ms, answer])
        finally:
            self._runners.discard(runner)

    def _room_of(self, holder: str) -> tuple[list[str], list[str | int | bytes]]:
        """Return the keys of a holder's answers, and the first arguments of each of their scripts."""
        who = _readable(holder or "process")
        room = f"keys-{sha256(who.encode()).digest()[0] % self._rooms}" if self._rooms > 1 else "keys"
        keys = [f"{PREFIX}:{{{room}}}:{name}" for name in (f"entries:{who}", f"order:{who}", "bytes", "holders")]
        return keys, [f"of {who}", int(bool(holder)), MAX_ANSWER_BYTES // self._rooms, self._rooms]

    async def take(self, name: str, owner: str, interval_s: float) -> float:
        """Return 0 if the owner holds the turn now, otherwise the seconds after which to ask again."""
        times_us = [round(seconds * SECOND_US) for seconds in (interval_s, HOLD_S, HELD_POLL_S)]
        wait_us = await self._run(TAKE, [_turn_key(name)], [owner, *times_us])
        return float(wait_us) / SECOND_US

    async def start(self, name: str, owner: str, settle_s: float) -> bool:
        """Count the owner's request as sent in `settle_s` from now; return False if its turn is no longer held."""
        return bool(await self._run(START, [_turn_key(name)], [owner, round(settle_s * SECOND_US)]))

    async def end(self, name: str, owner: str) -> None:
        """Count the owner's request as sent now at the latest; give the turn up if nothing was sent."""
        await self._run(END, [_turn_key(name)], [owner])

    async def read(self, key: str) -> bytes | None:
        """Return a value of the cache."""
        return cast("bytes | None", await self._ask(lambda: self._client.get(_digest_key("cache", key))))

    async def write(self, key: str, value: bytes, keep_s: float) -> None:
        """Keep a value in the cache for some time, unless it is too large."""
        if len(value) <= MAX_VALUE_BYTES:
            await self._run(WRITE, [_digest_key("cache", key)], [value, _milliseconds(keep_s)])

    async def close(self) -> None:
        """Close the connections, when those who run the call of a key have told of its end."""
        until_s = time.monotonic() + LIMIT_S
        while self._runners and not self._availability.why and time.monotonic() < until_s:  # noqa: ASYNC110 - a bound
            await asyncio.sleep(CLOSING_POLL_S)
        await close_client(self._client)

    async def _run(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int | bytes]) -> Any:
        from redis.exceptions import NoScriptError

        async def run() -> Any:
            try:
                return await self._client.evalsha(script.digest, len(keys), *keys, *arguments)
            except NoScriptError:
                # The server was started since, or another one took over; it knows the script from now on.
                return await self._client.eval(script.text, len(keys), *keys, *arguments)

        return await self._ask(run)

    async def _ask(self, question: Callable[[], Awaitable[Any]]) -> Any:
        from redis.exceptions import RedisError

        if not self._availability.may_ask():
            raise self._away(self._availability.why)
        try:
            async with asyncio.timeout(LIMIT_S), self._places.turn(holder_now()):
                answer = await self._answer(question)
        except (RedisError, OSError) as error:
            why = reason_of(error)
            if is_refusal(error):
                self._availability.answered()
            else:
                self._availability.failed(why)
            raise (self._away(why) if not is_full(error) else StoreFullError(str(self._away(why)))) from None
        except BaseException:
            self._availability.left()
            raise
        self._availability.answered()
        return answer

    async def _answer(self, question: Callable[[], Awaitable[Any]]) -> Any:
        """Ask, and ask once more on a new connection where an old one turns out to be broken.

        Where the first question was decided and its answer lost, a call is charged twice, which is the safe side.
        """
        from redis.exceptions import ConnectionError as Broken

        try:
            return await question()
        except Broken:
            if self._availability.why:
                raise
        if (pool := getattr(self._client, "connection_pool", None)) is not None:
            await pool.disconnect(inuse_connections=False)
        return await question()

    def _away(self, why: str) -> StoreError:
        return StoreError(f"the store at {self._address.shown} cannot be asked ({why})")


def _milliseconds(seconds: float) -> int:
    return max(math.ceil(seconds * 1000), 1)


def _bucket_key(bucket: Bucket) -> str:
    """Return the key of a bucket, tagged by its caller: all buckets of one caller's calls share a slot.

    Where a bucket is shared by callers, all buckets share one.
    """
    start = max(bucket.key.rfind(subject) for subject in SUBJECTS)
    subject = bucket.key[start:] if start >= 0 and not bucket.together else "all"
    kind = f"{bucket.period_s:g}s" if bucket.period_s else "day"
    return f"{PREFIX}:{{{_readable(subject)}}}:limit:{kind}:{_readable(bucket.key)}"


def _turn_key(name: str) -> str:
    return f"{PREFIX}:{{{_readable(name)}}}:turn"


def _digest_key(kind: str, text: str) -> str:
    return f"{PREFIX}:{{{sha256(text.encode()).hexdigest()[:40]}}}:{kind}"


@lru_cache(maxsize=4096)
def _readable(text: str) -> str:
    """Return a part of a key: the text itself where it is short, with all that could end a hash tag escaped."""
    short = quote(text, safe=":/@.,+-_~", errors="surrogatepass") if len(text) <= MAX_NAME_CHARS else ""
    return short if 0 < len(short) <= MAX_NAME_CHARS else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
