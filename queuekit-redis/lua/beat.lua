-- Records the beat of a worker (contract R3.9), and forgets beats that ran out.
-- KEYS: WORKERS: the beats, when they run out, and ids in order.
-- ARGV: 1 worker; 2 how long it is listed, in ms; 3 the beat's content; 4 most workers.
-- Result: 1, or 0 if the worker is new and there is no room for it.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat_time = string.format(BEAT.at.decimal, now)
local expired = call('ZRANGE', KEYS[WORKERS.expiry], '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
for _, gone in ipairs(expired) do
    call('ZREM', KEYS[WORKERS.expiry], gone)
    call('HDEL', KEYS[WORKERS.beats], gone)
    call('ZREM', KEYS[WORKERS.ids], gone)
end
local before = call('ZSCORE', KEYS[WORKERS.expiry], ARGV[1])
if not before or tonumber(before) <= now then
    local listed = call('ZCOUNT', KEYS[WORKERS.expiry], '(' .. string.format('%.0f', now), '+inf')
    if listed >= tonumber(ARGV[4]) then
        return 0
    end
end
call('ZADD', KEYS[WORKERS.expiry], now + ARGV[2], ARGV[1])
call('ZADD', KEYS[WORKERS.ids], 0, ARGV[1])
call('HSET', KEYS[WORKERS.beats], ARGV[1], BEAT.write({ at = beat_time }) .. ARGV[3])
return 1
