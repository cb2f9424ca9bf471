-- Records totals of queues. A row that is there is left: the first one wins (contract R8.5).
-- KEYS: those of history.
-- ARGV: 1 when they were read, in ms; then pairs: a queue, its totals.
-- Result: none.
local call, rows = redis.call, KEYS[HISTORY.totals]
local lengths = { m = 60000, t = 600000, h = 3600000 }
local now = tonumber(ARGV[1])
for at = 2, #ARGV, 2 do
    for letter, length in pairs(lengths) do
        local place = letter .. string.format('%013.0f', now - now % length) .. ARGV[at] .. '\0'
        local is_there = call('ZRANGE', rows, '[' .. place .. '\0', '(' .. place .. '\1', 'BYLEX',
            'LIMIT', 0, 1)[1]
        if not is_there then
            call('ZADD', rows, 0, place .. '\0' .. ARGV[1] .. ' ' .. ARGV[at + 1])
        end
    end
end
