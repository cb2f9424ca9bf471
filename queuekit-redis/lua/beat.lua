-- Records the beat of a worker (contract R3.9), and forgets beats that ran out.
-- KEYS: WORKERS: the beats, when they run out, ids in order, and orders.
-- ARGV: 1 worker; 2 how long it is listed, in ms; 3 the beat's content; 4 most workers; 5 the last
-- order that it has obeyed; 6 from which number its orders are counted on if it is new.
-- Result: its orders, as the key of orders has them; empty if the worker is new and there is no
-- room for it.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat_time = string.format(BEAT.at.decimal, now)
local expired = call('ZRANGE', KEYS[WORKERS.expiry], '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
for _, gone in ipairs(expired) do
    call('ZREM', KEYS[WORKERS.expiry], gone)
    call('HDEL', KEYS[WORKERS.beats], gone)
    call('ZREM', KEYS[WORKERS.ids], gone)
    call('HDEL', KEYS[WORKERS.orders], gone)
end
local before = call('ZSCORE', KEYS[WORKERS.expiry], ARGV[1])
local is_listed = before and tonumber(before) > now
if not is_listed then
    local listed = call('ZCOUNT', KEYS[WORKERS.expiry], '(' .. string.format('%.0f', now), '+inf')
    if listed >= tonumber(ARGV[4]) then
        return ''
    end
end
local orders = is_listed and call('HGET', KEYS[WORKERS.orders], ARGV[1]) or ARGV[6] .. ' - -'
local last = string.match(orders, '^%d+') or '0'
if tonumber(last) <= tonumber(ARGV[5]) then
    orders = last .. ' - -'
end
call('ZADD', KEYS[WORKERS.expiry], now + ARGV[2], ARGV[1])
call('ZADD', KEYS[WORKERS.ids], 0, ARGV[1])
call('HSET', KEYS[WORKERS.beats], ARGV[1], BEAT.write({ at = beat_time }) .. ARGV[3])
call('HSET', KEYS[WORKERS.orders], ARGV[1], orders)
return orders
