-- Gives an order to those workers that are listed (contract R3.9).
-- KEYS: WORKERS: the beats, when they run out, ids in order, and orders.
-- ARGV: 1 what to do, - if the order is about slots; 2 slots, likewise; then workers.
-- Result: 1 for each worker that was listed, else 0.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for at = 3, #ARGV do
    local listed = call('ZSCORE', KEYS[WORKERS.expiry], ARGV[at])
    answer[#answer + 1] = listed and tonumber(listed) > now and 1 or 0
    if answer[#answer] == 1 then
        local orders = call('HGET', KEYS[WORKERS.orders], ARGV[at]) or ''
        local last, mode, slots = string.match(orders, '^(%d+) (%S+) (%S+)$')
        mode = ARGV[1] == '-' and mode or ARGV[1]
        slots = ARGV[2] == '-' and slots or ARGV[2]
        orders = string.format('%.0f %s %s', (last or 0) + 1, mode, slots)
        call('HSET', KEYS[WORKERS.orders], ARGV[at], orders)
    end
end
return answer
