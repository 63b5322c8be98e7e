-- What a RedisStore has the server do, each thing in one step: nothing is seen half done, and nothing needs a lock.
-- A script begins at a line `--- NAME`, or `--- NAME once` where it must not run twice; `shared` stands before each.
-- Comments below a name are the script's arguments from ARGV[2] on and, after `->`, its answer.
--
-- Keys, all with the prefix as their hash tag, so that a cluster keeps them in one slot:
--
--     {prefix}:1:epoch                  string   which memory this is: another one where the server has lost its data
--     {prefix}:1:kinds                  hash     kind of events and claims -> the last sequence number given
--     {prefix}:1:events:KIND            stream   SEQUENCE-0: at, event
--     {prefix}:1:claims:KIND            set      digest of the key, by time
--     {prefix}:1:worker:WORKER          string   the last sequence number counted, and in which hour; expires
--     {prefix}:1:hours                  set      hours that have counts, in order
--     {prefix}:1:names:HOUR             set      names that have counts in the hour, the one longest untouched first
--     {prefix}:1:counts:HOUR:NAME       hash     field -> count; expires
--     {prefix}:1:documents              hash     name -> document
--     {prefix}:1:saved                  set      names of documents, by time
--
-- A name stands at the end of its key, after parts that have no colon in them: no name can be taken for another's key.
-- 1 is the version of this layout; a later one keeps its keys beside these.
--
-- Times are seconds since the epoch. `KEYS[1]` is the root, `{prefix}:1`; `ARGV[1]` the time, or empty for the
-- server's own, which is one clock for all who share it.

--- shared
local root = KEYS[1]

local function now()
  if ARGV[1] ~= '' then return ARGV[1] end
  local time = redis.call('TIME')
  return string.format('%d.%06d', time[1], time[2])
end

-- A place in a set ordered by time, behind all others: the clock may stand still or go back.
local function behind(key, at)
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
  at = tonumber(at)
  if last and tonumber(last) >= at then return tonumber(last) + 1e-6, true end
  return at, last and true
end

local function exact(number) return string.format('%.17g', number) end

-- What is longest untouched beyond the bound, taken out of the set.
local function overdue(key, bound)
  local beyond = redis.call('ZCARD', key) - bound
  if beyond <= 0 then return {} end
  local members = redis.call('ZRANGE', key, 0, beyond - 1)
  redis.call('ZREMRANGEBYRANK', key, 0, beyond - 1)
  return members
end

local function counts(hour, name) return root .. ':counts:' .. hour .. ':' .. name end

local function drop_hour(hour)
  local names = redis.call('ZRANGE', root .. ':names:' .. hour, 0, -1)
  for _, name in ipairs(names) do redis.call('UNLINK', counts(hour, name)) end
  redis.call('UNLINK', root .. ':names:' .. hour)
  redis.call('ZREM', root .. ':hours', hour)
  return #names
end

--- standing
-- an epoch for a store that has none, kinds -> the epoch, the last sequence number of each kind
redis.call('SET', root .. ':epoch', ARGV[2], 'NX')
local found = {redis.call('GET', root .. ':epoch')}
for i = 3, #ARGV do found[#found + 1] = redis.call('HGET', root .. ':kinds', ARGV[i]) or '0' end
return found

--- append once
-- kind, bound, events -> sequence number of the last
--
-- The last number is set, not counted up: a server that was killed amid these writes may execute the first of them when
-- it is started for the second time, and a number that was counted up for nobody would be missing among the events.
local kinds, events, at = root .. ':kinds', root .. ':events:' .. ARGV[2], now()
local before = tonumber(redis.call('HGET', kinds, ARGV[2]) or 0)
local last = string.format('%.0f', before + #ARGV - 3)
redis.call('HSET', kinds, ARGV[2], last)
for i = 4, #ARGV do
  local id = string.format('%.0f-0', before + i - 3)
  redis.call('XADD', events, 'MAXLEN', ARGV[3], id, 'at', at, 'event', ARGV[i])
end
return last

--- events
-- kind, first sequence number, last or '', how many -> last sequence number, then (id, at, event) of each
local last = ARGV[4]
if last == '' then last = redis.call('HGET', root .. ':kinds', ARGV[2]) or '0' end
local found = {last}
local entries = redis.call('XRANGE', root .. ':events:' .. ARGV[2], ARGV[3] .. '-0', last .. '-0', 'COUNT', ARGV[5])
for _, entry in ipairs(entries) do
  found[#found + 1] = entry[1]
  found[#found + 1] = entry[2][2]
  found[#found + 1] = entry[2][4]
end
return found

--- claim once
-- kind, digest of the key, bound -> 1 to the first
local key = root .. ':claims:' .. ARGV[2]
if redis.call('ZSCORE', key, ARGV[3]) then return 0 end
redis.call('HSETNX', root .. ':kinds', ARGV[2], 0)
redis.call('ZADD', key, exact(behind(key, now())), ARGV[3])
overdue(key, tonumber(ARGV[4]))
return 1

--- merge
-- worker, sequence number, seconds to know the worker, bound on names, bound on hours, then each name with how many
-- fields it has and these, each with its count -> 1 and the hour, or 0 and the name whose counts would pass 64 bits.
--
-- Lua's numbers are exact to 2**53: sums of up to 15 digits are made here and written by one HSET a name, which is a
-- third of what one HINCRBY a field costs the server and its log. Longer ones are checked digit by digit and left to it.
local worker, sequence = root .. ':worker:' .. ARGV[2], ARGV[3]
local most_names, most_hours = tonumber(ARGV[5]), tonumber(ARGV[6])
local known = redis.call('GET', worker)
if known then
  local last, counted_in = string.match(known, '^(%d+) (-?%d+)$')
  if #sequence < #last or (#sequence == #last and sequence <= last) then return {1, counted_in} end
end

local function divided(number)  -- sign, billions, rest
  local digits = string.gsub(number, '-', '')
  return string.sub(number, 1, 1) == '-', tonumber(string.sub(digits, 1, -10)) or 0, tonumber(string.sub(digits, -9))
end

local function fits(one, other)
  local negative, billions, rest = divided(one)
  local against, more_billions, more_rest = divided(other)
  if negative ~= against then return true end
  billions, rest = billions + more_billions, rest + more_rest
  if rest >= 1e9 then billions, rest = billions + 1, rest - 1e9 end
  return billions < 9223372036 or (billions == 9223372036 and rest <= (negative and 854775808 or 854775807))
end

local hour = string.format('%d', math.floor(tonumber(now()) / 3600))
local plans, position = {}, 7
while position <= #ARGV do
  local name, many = ARGV[position], tonumber(ARGV[position + 1])
  local plan = {name = name, key = counts(hour, name), fresh = true, sums = {}, longer = {}}
  for from = 1, many, 1000 do
    local fields = {}
    for i = from, math.min(from + 999, many) do fields[#fields + 1] = ARGV[position + 2 * i] end
    for i, old in ipairs(redis.call('HMGET', plan.key, unpack(fields))) do
      local more = ARGV[position + 2 * (from + i - 1) + 1]
      if not old then
        plan.sums[#plan.sums + 1], plan.sums[#plan.sums + 2] = fields[i], more
      else
        plan.fresh = false
        if #old <= 15 and #more <= 15 then
          plan.sums[#plan.sums + 1], plan.sums[#plan.sums + 2] = fields[i], string.format('%.0f', old + more)
        elseif fits(old, more) then
          plan.longer[#plan.longer + 1] = {fields[i], more}
        else
          return {0, name}
        end
      end
    end
  end
  plans[#plans + 1] = plan
  position = position + 2 + 2 * many
end

redis.call('SET', worker, sequence .. ' ' .. hour, 'EX', ARGV[4])
if #plans == 0 then return {1, hour} end
local names, lifetime = root .. ':names:' .. hour, (most_hours + 1) * 3600
local place, touched = behind(names, 0)
for _, plan in ipairs(plans) do
  for from = 1, #plan.sums, 2000 do
    redis.call('HSET', plan.key, unpack(plan.sums, from, math.min(from + 1999, #plan.sums)))
  end
  for _, longer in ipairs(plan.longer) do redis.call('HINCRBY', plan.key, longer[1], longer[2]) end
  if plan.fresh then redis.call('EXPIRE', plan.key, lifetime) end
  place = place + 1
  redis.call('ZADD', names, exact(place), plan.name)
end
if not touched then
  redis.call('EXPIRE', names, lifetime)
  redis.call('ZADD', root .. ':hours', hour, hour)
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', root .. ':hours', '-inf', hour - most_hours)) do drop_hour(old) end
end
for _, name in ipairs(overdue(names, most_names)) do redis.call('UNLINK', counts(hour, name)) end
return {1, hour}

--- hours
-- since, bound on hours -> the hours that have counts
local oldest = math.floor(tonumber(now()) / 3600) - ARGV[3] + 1
return redis.call('ZRANGEBYSCORE', root .. ':hours', exact(math.max(oldest, tonumber(ARGV[2]))), '+inf')

--- names_of_hour
-- hour -> names
return redis.call('ZRANGE', root .. ':names:' .. ARGV[2], 0, -1)

--- counts
-- hour and name of each -> fields and counts of each
local found = {}
for i = 2, #ARGV, 2 do found[#found + 1] = redis.call('HGETALL', counts(ARGV[i], ARGV[i + 1])) end
return found

--- save
-- bound on names, then name and document of each
local saved, documents = root .. ':saved', root .. ':documents'
local at = now()
for i = 3, #ARGV, 2 do
  redis.call('ZADD', saved, exact(behind(saved, at)), ARGV[i])
  redis.call('HSET', documents, ARGV[i], ARGV[i + 1])
end
for _, name in ipairs(overdue(saved, tonumber(ARGV[2]))) do redis.call('HDEL', documents, name) end
return 1

--- load
-- names -> place in the order of saving and document of each, empty where there is none
local found = {}
for i = 2, #ARGV do
  found[#found + 1] = redis.call('ZSCORE', root .. ':saved', ARGV[i]) or ''
  found[#found + 1] = redis.call('HGET', root .. ':documents', ARGV[i]) or ''
end
return found

--- names
-- -> names of documents
return redis.call('ZRANGE', root .. ':saved', 0, -1)

--- forget
-- names
local hours = redis.call('ZRANGE', root .. ':hours', 0, -1)
for i = 2, #ARGV do
  redis.call('ZREM', root .. ':saved', ARGV[i])
  redis.call('HDEL', root .. ':documents', ARGV[i])
  for _, hour in ipairs(hours) do
    if redis.call('ZREM', root .. ':names:' .. hour, ARGV[i]) == 1 then redis.call('UNLINK', counts(hour, ARGV[i])) end
  end
end
return 1

--- kinds
-- -> kinds of events and claims
return redis.call('HKEYS', root .. ':kinds')

--- prune_kind
-- age, how many events and how many claims at most, kind -> how many went
local oldest, most = tonumber(now()) - ARGV[2], tonumber(ARGV[3])
local claims, events = root .. ':claims:' .. ARGV[4], root .. ':events:' .. ARGV[4]
local old = redis.call('ZRANGEBYSCORE', claims, '-inf', '(' .. exact(oldest), 'LIMIT', 0, most)
if #old > 0 then redis.call('ZREMRANGEBYRANK', claims, 0, #old - 1) end
local removed = 0
for _, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', most)) do
  if tonumber(entry[2][2]) >= oldest then break end
  removed = removed + 1
end
if removed > 0 then redis.call('XTRIM', events, 'MAXLEN', redis.call('XLEN', events) - removed) end
return #old + removed

--- prune_documents
-- age, how many at most -> how many went
local saved = root .. ':saved'
local oldest = exact(tonumber(now()) - ARGV[2])
local old = redis.call('ZRANGEBYSCORE', saved, '-inf', '(' .. oldest, 'LIMIT', 0, ARGV[3])
for _, name in ipairs(old) do
  redis.call('ZREM', saved, name)
  redis.call('HDEL', root .. ':documents', name)
end
return #old

--- prune_hour
-- age -> 1 and how many names the oldest hour had, where that is old enough, else 0
local latest = math.floor((tonumber(now()) - ARGV[2]) / 3600) - 1
local hour = redis.call('ZRANGEBYSCORE', root .. ':hours', '-inf', exact(latest), 'LIMIT', 0, 1)[1]
if not hour then return {0, 0} end
return {1, drop_hour(hour)}
