-- Stores jobs that are due at once and have neither keys nor a deadline, in a strict queue without a
-- bound (contract R2): the short form of enqueue.lua, for the usual case. Needs lib/base.lua.
-- KEYS: PLAIN of the queue.
-- ARGV: 1 how many jobs; then their ids; then their data from the version on.
-- Result: 1 if all were created. Else nothing was written, and enqueue.lua must be called: `unknown`
-- if the queue does not exist, `settings` if it has settings that matter here, `stored` if there is
-- a job with one of the ids, or an id occurs twice.
local count = tonumber(ARGV[1])

local settings = redis.call('HMGET', KEYS[PLAIN.meta], 'known', 'order', 'max_pending')
if not settings[1] then
    return { 'unknown' }
elseif settings[2] == 'fair' or (settings[3] or '') ~= '' then
    return { 'settings' }
end

local named = {}
for from = 2, count + 1, IDS_AT_ONCE do
    local to = math.min(from + IDS_AT_ONCE - 1, count + 1)
    local found = redis.call('HMGET', KEYS[PLAIN.data], unpack(ARGV, from, to))
    for at = from, to do
        local id = ARGV[at]
        if found[at - from + 1] or named[id] then
            return { 'stored' }
        end
        named[id] = true
    end
end

local seq = redis.call('HINCRBY', KEYS[PLAIN.meta], 'seq', count) - count
local data, ready, scores = {}, {}, {}
for job = 1, count do
    local id, static, seq_text = ARGV[job + 1], ARGV[job + count + 1], seq_hex(seq + job)
    local level = sub(static, STATIC.level)
    scores[level] = scores[level] or format('%.0f', tonumber(level, 16) * LEVEL + now)
    local field, value = job * 2 - 1, job * 2
    ready[field], ready[value] = scores[level], ENTRY.write({ seq = seq_text, id = id })
    data[field], data[value] = id, DATA.write({
        seq = seq_text, scheduled = now_hex, deadline = NO_TIME, created = now_hex,
        written = static,
    })
end
redis.call('ZADD', KEYS[PLAIN.ready], unpack(ready))
set_marker(KEYS[PLAIN.wake])
-- The data is written last: if another program's key is in the way, no job is stored that nobody
-- serves.
redis.call('HSET', KEYS[PLAIN.data], unpack(data))
return 1
