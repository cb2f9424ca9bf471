-- Records the beat of a worker (contract R3.9), and forgets beats that ran out.
-- KEYS: the beats of workers; when they run out.
-- ARGV: 1 worker; 2 how long it is listed, in ms; 3 the beat's content; 4 most workers.
-- Result: 1, or 0 if the worker is new and there is no room for it.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, gone in ipairs(call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
    call('ZREM', KEYS[2], gone)
    call('HDEL', KEYS[1], gone)
end
local before = call('ZSCORE', KEYS[2], ARGV[1])
if not before or tonumber(before) <= now then
    local listed = call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', now), '+inf')
    if listed >= tonumber(ARGV[4]) then
        return 0
    end
end
call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
call('HSET', KEYS[1], ARGV[1], string.format('%013.0f', now) .. ARGV[3])
return 1
