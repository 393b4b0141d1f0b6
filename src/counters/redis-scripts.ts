// What Redis does for us, each in one step that nothing comes in between of (R49): Lua, since only that can look at all
// limits of a request and then take of all or of none. The window is that of limits/sliding-window.ts; the counters'
// suite holds both to the same answers.
//
// A cell is a text: its total, then eight bytes for each second that has something, oldest first: the second and its
// count. So what has passed is cut off in front, and when more comes back is read off the first.
import { createHash } from 'node:crypto'
import { LEASE_MS } from './counters.ts'

export interface Script {
  text: string
  sha: string
}

const COUNT_MAX = 0xffff_ffff
const SLACK_S = 1 // a cell outlives its last second, by Redis' own reckoning, and no longer

/** `size`: how many seconds a window has. An empty ARGV[1] means: by Redis' own clock. */
const prelude = (size: number) => `
local SIZE = ${size}
local now_ms = tonumber(ARGV[1])
if not now_ms then
  local time = redis.call('TIME')
  now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = math.floor(now_ms / 1000)

local function entry(entries, at) return struct.unpack('<I4I4', entries, at) end

-- Where the clock was set back, the newest second is now: nobody waits for the time that is repeated.
local function shifted(entries, by)
  local parts = {}
  for at = 1, #entries, 8 do
    local second, count = entry(entries, at)
    parts[#parts + 1] = struct.pack('<I4I4', math.max(second - by, 0), count)
  end
  return table.concat(parts)
end

-- The total of a cell and its entries, without what has passed; and whether the clock was set back since.
local function opened(cell)
  if not cell or #cell < 12 then return 0, '', false end
  local total = struct.unpack('<I4', cell)
  local entries = string.sub(cell, 5)
  local newest = entry(entries, #entries - 7)
  local set_back = newest > now
  if set_back then entries = shifted(entries, newest - now) end
  local at = 1
  while at < #entries do
    local second, count = entry(entries, at)
    if now - second < SIZE then break end
    total = total - count
    at = at + 8
  end
  return total, string.sub(entries, at), set_back
end

local function store(key, total, entries)
  if entries == '' then return redis.call('DEL', key) end
  redis.call('SET', key, struct.pack('<I4', total) .. entries, 'EX', SIZE + ${SLACK_S})
end
`

/**
 * KEYS: the era, the cells, and for each lease that is asked for those of its subject.
 * ARGV: time, era, until when it matters, number of asks; of each ask limit, amount, shadow; of each lease id, limit,
 * shadow. Answers {0} where the era is another, {2} where it is too late: who asked has decided without us; else
 * {1, time, by or 0, wait, of each ask total, more_in_s, exceeded, of each lease exceeded}. A wait of -1: for ever.
 */
const TAKE = `
local asks = tonumber(ARGV[4])
local cells = redis.call('MGET', unpack(KEYS, 1, asks + 1))
if not cells[1] or string.sub(cells[1], 1, #ARGV[2]) ~= ARGV[2] then return {0} end
if ARGV[3] ~= '' and now_ms > tonumber(ARGV[3]) then return {2} end

local function wait(entries, needed)
  local gone = 0
  for at = 1, #entries, 8 do
    local second, count = entry(entries, at)
    gone = gone + count
    if gone >= needed then return second + SIZE - now end
  end
  return SIZE
end

local totals, kept, exceeded = {}, {}, {}
local by, longest = 0, 0
for n = 1, asks do
  local limit, amount = tonumber(ARGV[3 * n + 2]), tonumber(ARGV[3 * n + 3])
  local set_back
  totals[n], kept[n], set_back = opened(cells[n + 1])
  if set_back then store(KEYS[n + 1], totals[n], kept[n]) end
  local excess = totals[n] + amount - limit
  exceeded[n] = 0
  if amount > 0 and excess > 0 then
    local seconds = amount > limit and math.huge or wait(kept[n], excess)
    if ARGV[3 * n + 4] == '1' then exceeded[n] = 1
    elseif seconds > longest then by, longest = n, seconds end
  end
end

local leases, lease_exceeded = #KEYS - asks - 1, {}
for n = 1, leases do
  local lease, id_at = KEYS[asks + 1 + n], 3 * (asks + n) + 2
  redis.call('ZREMRANGEBYSCORE', lease, '-inf', now_ms)
  lease_exceeded[n] = 0
  if redis.call('ZCARD', lease) >= tonumber(ARGV[id_at + 1]) then
    if ARGV[id_at + 2] == '1' then lease_exceeded[n] = 1
    elseif longest < 1 then by, longest = asks + n, 1 end
  end
end

local answer = { 1, now_ms, by, longest == math.huge and -1 or longest }
for n = 1, asks do
  local amount = tonumber(ARGV[3 * n + 3])
  if by == 0 and amount > 0 and exceeded[n] == 0 then
    local entries = kept[n]
    local newest, count
    if entries ~= '' then newest, count = entry(entries, #entries - 7) end
    if newest == now then
      entries = string.sub(entries, 1, #entries - 8)
      count = count + amount
    else
      count = amount
    end
    totals[n] = totals[n] + amount
    kept[n] = entries .. struct.pack('<I4I4', now, count)
    store(KEYS[n + 1], totals[n], kept[n])
  end
  answer[#answer + 1] = totals[n]
  answer[#answer + 1] = totals[n] == 0 and 0 or wait(kept[n], 1)
  answer[#answer + 1] = exceeded[n]
end
for n = 1, leases do
  if by == 0 and lease_exceeded[n] == 0 then
    redis.call('ZADD', KEYS[asks + 1 + n], now_ms + ${LEASE_MS}, ARGV[3 * (asks + n) + 2])
    redis.call('PEXPIRE', KEYS[asks + 1 + n], ${LEASE_MS + SLACK_S * 1_000})
  end
  answer[#answer + 1] = lease_exceeded[n]
end
return answer
`

/** KEYS: cells. ARGV: time; for each cell a second and by how much to change it. */
const CORRECT = `
for n = 1, #KEYS do
  local second, by = tonumber(ARGV[2 * n]), tonumber(ARGV[2 * n + 1])
  local total, entries = opened(redis.call('GET', KEYS[n]))
  for at = 1, #entries, 8 do
    local known, count = entry(entries, at)
    if known == second then
      local change = math.max(-count, math.min(by, ${COUNT_MAX} - total))
      local middle = count + change == 0 and '' or struct.pack('<I4I4', second, count + change)
      store(KEYS[n], total + change, string.sub(entries, 1, at - 1) .. middle .. string.sub(entries, at + 8))
      break
    end
  end
end
return 1
`

/** What was let through without Redis' knowledge. KEYS: cells. ARGV: time; for each cell a second and how much. */
const ADD = `
for n = 1, #KEYS do
  local second, amount = math.min(tonumber(ARGV[2 * n]), now), tonumber(ARGV[2 * n + 1])
  if now - second < SIZE then
    local total, entries = opened(redis.call('GET', KEYS[n]))
    amount = math.min(amount, ${COUNT_MAX} - total)
    local at = #entries - 7
    while at > 0 and entry(entries, at) > second do at = at - 8 end
    local count = amount
    local rest = at + 8
    if at > 0 and entry(entries, at) == second then
      local _, had = entry(entries, at)
      count = had + amount
      at = at - 8
    end
    local before, behind = string.sub(entries, 1, at + 7), string.sub(entries, rest)
    store(KEYS[n], total + amount, before .. struct.pack('<I4I4', second, count) .. behind)
  end
end
return 1
`

/** KEYS: the leases of subjects. ARGV: time; for each of them an id. */
const RENEW = `
for n = 1, #KEYS do
  redis.call('ZADD', KEYS[n], now_ms + ${LEASE_MS}, ARGV[n + 1])
  redis.call('PEXPIRE', KEYS[n], ${LEASE_MS + SLACK_S * 1_000})
end
return 1
`

/**
 * Whether Redis answers, may be written to, and is the one that we knew. KEYS: the era, behind which stands the process
 * that it is of. ARGV: time; a name for the era should a new one begin, as long as all names are; 1 where slots may
 * have moved, so that another process has what there was. Answers {time, era}.
 *
 * A new era begins where there is none, as after a flush, and where another process has the old one: it was started
 * from a dump, and may lack what was counted since. Where the user may not ask for INFO, only a flush is noticed.
 */
const GREET = `
local info = redis.pcall('INFO', 'server')
local process = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local kept = redis.call('GET', KEYS[1]) or ''
local era, of = string.sub(kept, 1, #ARGV[2]), string.sub(kept, #ARGV[2] + 1)
if process == '' then process = of end
if era == '' or (ARGV[3] ~= '1' and of ~= '' and of ~= process) then era = ARGV[2] end
redis.call('SET', KEYS[1], era .. process)
return { now_ms, era }
`

/** Replicas listen ten times a second, and a message may have 64 KiB: at most 8 MiB are kept, and heard at once. */
const SAID_MAX = 128
const SAID_S = 60

/**
 * What replicas tell each other. KEYS: the stream. ARGV: time; what is said, or nothing; the last that was heard, or
 * nothing. Answers {the last there is now, and what was said since}; nothing that is past to who has heard nothing yet.
 */
const EXCHANGE = `
local last = ARGV[3]
if last == '' then
  local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
  last = newest[1] and newest[1][1] or '0-0'
end
local answer = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', ${SAID_MAX})) do
  last = entry[1]
  answer[#answer + 1] = entry[2][2]
end
if ARGV[2] ~= '' then
  redis.call('XADD', KEYS[1], 'MAXLEN', ${SAID_MAX}, '*', 'said', ARGV[2])
  redis.call('EXPIRE', KEYS[1], ${SAID_S})
end
table.insert(answer, 1, last)
return answer
`

export type Scripts = ReturnType<typeof scriptsFor>

export function scriptsFor(size: number) {
  const script = (text: string): Script => {
    const whole = prelude(size) + text
    return { text: whole, sha: createHash('sha1').update(whole).digest('hex') }
  }
  return {
    take: script(TAKE),
    correct: script(CORRECT),
    add: script(ADD),
    renew: script(RENEW),
    greet: script(GREET),
    exchange: script(EXCHANGE),
  }
}
