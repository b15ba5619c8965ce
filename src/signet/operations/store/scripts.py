"""The scripts of a Redis store: each is one decision, made at once, by the clock of the server. Pure.

Numbers are whole microseconds. A script names all of its keys, which share a hash slot.

A server whose memory is full refuses the first command of a script that may take memory, and none behind a command that
has written. So the small notes of limits and turns are written behind one that takes none: a full store lifts no limit.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final

import msgspec

from signet.kernel.turns import HOLD_S, MAX_SETTLE_S

__all__ = ["DECIDE", "END", "NOW", "START", "TAKE", "WRITE", "Script"]


class Script(msgspec.Struct, frozen=True):
    """A script, and the digest by which a server knows it."""

    text: str
    digest: str

    @classmethod
    def of(cls, text: str) -> Script:
        """Return a script by its text."""
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


SECOND_US: Final = 1_000_000

NOW: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
"""

DECIDE: Final = Script.of(
    NOW
    + """
-- KEYS: the buckets. ARGV, three for each: count, period (0: a quota for the UTC day), burst.
local DAY = 86400000000
local day = math.floor(now / DAY)
local values, ends, longest, refused, left = {}, {}, 0, -1, nil
for i, key in ipairs(KEYS) do
  local count = tonumber(ARGV[i * 3 - 2])
  local period = tonumber(ARGV[i * 3 - 1])
  local burst = tonumber(ARGV[i * 3])
  local kept = redis.call('GET', key)
  local wait, rest
  if period == 0 then
    local used_day, used = string.match(kept or '', '^(%d+):(%d+)$')
    used = tonumber(used_day) == day and tonumber(used) or 0
    rest = count - used - 1
    wait = rest < 0 and (day + 1) * DAY - now or 0
    values[i] = string.format('%d:%d', day, used + 1)
    ends[i] = (day + 1) * DAY - now
  else
    local step = math.max(math.ceil(period / count), 1)
    local room = step * burst
    local empty = math.min(math.max(tonumber(kept) or 0, now), now + room) + step
    wait = math.max(empty - now - room, 0)
    rest = math.floor((now + room - empty) / step)
    values[i] = string.format('%.0f', empty)
    ends[i] = empty - now
  end
  if wait > longest then longest, refused = wait, i - 1 end
  if not left or rest < left then left = rest end
end
if refused >= 0 then return {refused, longest, 0} end
for i, key in ipairs(KEYS) do
  local rest = string.format('%.0f', math.ceil(ends[i] / 1000))
  -- It changes nothing, and takes no memory: behind it, the next one is taken although the memory is full.
  redis.call('PEXPIRE', key, rest)
  redis.call('SET', key, values[i], 'PX', rest)
end
return {-1, 0, left or 0}
"""
)
"""Charge one call to all buckets or to none; return the bucket that refuses or -1, the wait, and what is left."""

TURN_STATE: Final = (
    NOW
    + f"local MAX_HOLD, MAX_SETTLE = {round(HOLD_S * SECOND_US)}, {round(MAX_SETTLE_S * SECOND_US)}"
    + """
-- KEYS: the service. Its fields: the run of the server, the time of the last request, the owner of the turn or of the
-- last request, the end of the turn.
-- A server that was started since, or a replica that took over, may have lost the last request: it counts as sent now.
local DAY_MS = 86400000
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local known, sent, owner, held = unpack(redis.call('HMGET', KEYS[1], 'run', 'sent', 'owner', 'held'))
sent, held = tonumber(sent), tonumber(held) or 0
local function keep(...)
  redis.call('PEXPIRE', KEYS[1], DAY_MS)
  redis.call('HSET', KEYS[1], 'run', run, 'sent', string.format('%.0f', sent), ...)
  redis.call('PEXPIRE', KEYS[1], DAY_MS)
end
if known ~= run or not sent or sent > now + MAX_SETTLE or held > now + MAX_HOLD then
  sent, owner, held = now, '', 0
  keep('owner', '', 'held', 0)
end
"""
)

TAKE: Final = Script.of(
    TURN_STATE
    + """
-- ARGV: the owner, the interval, the time for which a turn is held, the wait while another one holds it.
if owner ~= '' and owner ~= ARGV[1] and held > now then return tonumber(ARGV[4]) end
local wait = sent + tonumber(ARGV[2]) - now
if wait > 0 then return wait end
keep('owner', ARGV[1], 'held', string.format('%.0f', now + tonumber(ARGV[3])))
return 0
"""
)
"""Return 0 if the owner holds the turn now, otherwise the wait before the next question."""

START: Final = Script.of(
    TURN_STATE
    + """
-- ARGV: the owner, the time that its request may need to arrive.
if owner ~= ARGV[1] or held <= now then return 0 end
sent = now + tonumber(ARGV[2])
keep('held', 0)
return 1
"""
)
"""Count a request as sent soon; return 0 if its turn is no longer held."""

END: Final = Script.of(
    TURN_STATE
    + """
-- ARGV: the owner.
if owner ~= ARGV[1] then return 0 end
sent = math.min(sent, now)
keep('owner', '', 'held', 0)
return 1
"""
)
"""Count a request as sent now at the latest, or end a turn in which nothing was sent."""

WRITE: Final = Script.of(
    """
-- KEYS: the key in the cache. ARGV: the value, the milliseconds to keep it.
-- A quarter of the memory is left to what must be noted.
local memory = redis.call('INFO', 'memory')
local most = tonumber(string.match(memory, 'maxmemory:(%d+)')) or 0
local used = tonumber(string.match(memory, 'used_memory:(%d+)')) or 0
local evicts = not string.find(memory, 'maxmemory_policy:noeviction', 1, true)
if most > 0 and not evicts and used + #ARGV[1] > most * 3 / 4 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
)
"""Keep a value in the cache, unless the memory is nearly full."""
