-- Takes a worker off the list (contract R3.9).
-- KEYS: WORKERS: the beats, when they run out, ids in order, and orders.
-- ARGV: 1 worker.
-- Result: 1 if it was listed, else 0.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local listed = call('ZSCORE', KEYS[WORKERS.expiry], ARGV[1])
call('ZREM', KEYS[WORKERS.expiry], ARGV[1])
call('HDEL', KEYS[WORKERS.beats], ARGV[1])
call('ZREM', KEYS[WORKERS.ids], ARGV[1])
call('HDEL', KEYS[WORKERS.orders], ARGV[1])
return listed and tonumber(listed) > now and 1 or 0
