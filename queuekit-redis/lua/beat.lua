-- A worker says that it is there (contract R3.9). What ran out is forgotten.
-- KEYS: the beats of workers; when they run out.
-- ARGV: 1 the present in ms for tests, or empty; 2 worker; 3 how long it is listed, in ms; 4 what
-- it says.
-- Result: 1.
local call = redis.call
local now = tonumber(ARGV[1])
if not now then
    local time = call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for _, gone in ipairs(call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
    call('ZREM', KEYS[2], gone)
    call('HDEL', KEYS[1], gone)
end
call('ZADD', KEYS[2], now + ARGV[3], ARGV[2])
call('HSET', KEYS[1], ARGV[2], string.format('%013.0f', now) .. ARGV[4])
return 1
