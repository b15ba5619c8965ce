"""The scripts of idempotency keys in a Redis store: each is one decision, by the clock of the server. Pure.

    a room ─┬─ bytes: of each holder, and of all    ─┐
            ├─ holders: until when each has entries  ├─ one hash slot
            └─ of a holder: entries, and their order ─┘

A holder has a share of the room's bytes. When that is used up, its own oldest answers are forgotten; a call that runs
never is. An entry is a head, `STATE DIGEST RUNNER UNTIL`, and behind it an answer. The state is `r` (the call runs),
`d` (it is done) or `g` (it is done, and there was no room for its answer).
"""

from __future__ import annotations

from typing import Final

from .held import COST_BYTES
from .scripts import NOW, Script

__all__ = ["BEGIN", "FINISH"]

ROOM: Final = (
    NOW
    + f"local COST = {COST_BYTES}"
    + """
-- KEYS: the entries of a holder, their order, the bytes of all holders, the holders. ARGV: the holder, whether it is
-- one of several, the bytes of the room, the number of rooms, the key, the digest of the call, the runner.
local entries, order, bytes, holders = unpack(KEYS)
local holder, is_one, most, rooms, name, digest, runner = unpack(ARGV)
local now_ms = math.floor(now / 1000)
local KEPT_MS = 172800000
-- Those that run are ordered behind all others.
local RUNNING = 1000000000000000
most, rooms = tonumber(most), tonumber(rooms)

local function whole(number) return string.format('%.0f', number) end

local memory = nil
local function memory_of(field)
  memory = memory or redis.call('INFO', 'memory')
  return tonumber(string.match(memory, '%f[%w_]' .. field .. ':(%d+)')) or 0
end

local function add_to(field, more)
  local before = tonumber(redis.call('HGET', bytes, field)) or 0
  local sum = math.max(before + more, 0)
  if sum > 0 then redis.call('HSET', bytes, field, whole(sum)) else redis.call('HDEL', bytes, field) end
  return sum, sum - before
end

-- The bytes of all change by those of a holder: the one is always the sum of the others.
local function add(more)
  local sum, change = add_to(holder, more)
  if sum == 0 then redis.call('ZREM', holders, holder) end
  add_to('all', change)
end

local function forget(one)
  local size = redis.call('HSTRLEN', entries, one)
  redis.call('HDEL', entries, one)
  redis.call('ZREM', order, one)
  if size > 0 then add(-(size + COST)) end
end

local function forget_old()
  -- The first command takes no memory: behind it, the others are taken although the memory is full.
  redis.call('PEXPIRE', bytes, KEPT_MS)
  if redis.call('EXISTS', entries) == 0 then
    add(-(tonumber(redis.call('HGET', bytes, holder)) or 0))
    redis.call('DEL', order)
  end
  for _, span in ipairs({{'-inf', whole(now_ms)}, {whole(RUNNING), whole(RUNNING + now_ms)}}) do
    for _, one in ipairs(redis.call('ZRANGEBYSCORE', order, span[1], span[2], 'LIMIT', 0, 64)) do forget(one) end
  end
  -- The entries of others end with the keys that hold them; a key is there until its last millisecond is over.
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', holders, '-inf', '(' .. whole(now_ms), 'LIMIT', 0, 64)) do
    if other ~= holder then
      add_to('all', -(tonumber(redis.call('HGET', bytes, other)) or 0))
      redis.call('HDEL', bytes, other)
      redis.call('ZREM', holders, other)
    end
  end
end

-- As much as is left for all others: the first half of it, the next half of the rest.
local function fits(cost, mine, all)
  return all + cost + (is_one == '1' and mine + cost - 1 or 0) <= most
end

local function make_room(cost)
  local limit = memory_of('maxmemory')
  if limit > 0 then most = math.min(most, math.floor(limit / 4 / rooms)) end
  while true do
    local mine = tonumber(redis.call('HGET', bytes, holder)) or 0
    local all = tonumber(redis.call('HGET', bytes, 'all')) or 0
    if fits(cost, mine, all) then return true end
    if not fits(cost, 0, all - mine) then return false end
    local oldest = redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
    if not oldest[1] or tonumber(oldest[2]) >= RUNNING then return false end
    forget(oldest[1])
  end
end

local function keep(state, until_ms, answer)
  local value = state .. ' ' .. digest .. ' ' .. runner .. ' ' .. whole(until_ms) .. '\\n' .. answer
  redis.call('HSET', entries, name, value)
  redis.call('ZADD', order, whole(state == 'r' and RUNNING + until_ms or until_ms), name)
  add(#value + COST)
  local last = math.max(tonumber(redis.call('ZSCORE', holders, holder)) or 0, until_ms)
  redis.call('ZADD', holders, whole(last), holder)
  redis.call('PEXPIRE', entries, whole(last - now_ms))
  redis.call('PEXPIRE', order, whole(last - now_ms))
  redis.call('PEXPIRE', bytes, whole(math.max(last - now_ms, KEPT_MS)))
  redis.call('PEXPIRE', holders, whole(math.max(last - now_ms, KEPT_MS)))
end

local value = redis.call('HGET', entries, name)
local state, its_digest, its_runner, its_end, place
if value then
  state, its_digest, its_runner, its_end, place = string.match(value, '^(%a) (%S+) (%S+) (%d+)\\n()')
  if not its_end or tonumber(its_end) <= now_ms then state = nil end
end
"""
)

BEGIN: Final = Script.of(
    ROOM
    + """
-- ARGV further: the milliseconds that the call may run. A runner whose answer was lost asks again.
if state and not (state == 'r' and its_runner == runner) then
  if its_digest ~= digest then return {'conflict', ''} end
  if state == 'r' then return {'running', ''} end
  if state == 'g' then return {'gone', ''} end
  return {'done', string.sub(value, place)}
end
forget_old()
if value then forget(name) end
local head = 2 + #digest + 1 + #runner + 1 + 13 + 1
if not make_room(head + COST) then return {'full', ''} end
keep('r', now_ms + tonumber(ARGV[8]), '')
return {'new', ''}
"""
)
"""Return what is known of an idempotency key; note that a call runs where nothing is."""

FINISH: Final = Script.of(
    ROOM
    + """
-- ARGV further: the milliseconds to keep the answer (0: forget the call), the answer.
local kept_ms, answer = tonumber(ARGV[8]), ARGV[9]
if state and (state ~= 'r' or its_runner ~= runner) then return 0 end
forget_old()
if value then forget(name) end
if kept_ms == 0 then return 1 end
local limit, is_full = memory_of('maxmemory'), false
if limit > 0 and string.find(memory, 'maxmemory_policy:noeviction', 1, true) then
  -- A quarter of the memory is left to limits, turns and the keys themselves.
  is_full = memory_of('used_memory') + #answer > limit * 3 / 4
end
local head = 2 + #digest + 1 + #runner + 1 + 13 + 1
if not is_full and make_room(head + #answer + COST) then
  keep('d', now_ms + kept_ms, answer)
elseif make_room(head + COST) then
  keep('g', now_ms + kept_ms, '')
end
return 1
"""
)
"""Keep the answer of a call, unless the key has another one or belongs to another runner."""
