-- Removes what is too old of history (contract R8.5).
-- KEYS: those of history.
-- ARGV: 1 most rows of each sort; 2 how long pairs are kept in ms; then pairs: the letter of a
-- resolution, how long its rows are kept in ms.
-- Result: how many were removed; 1 if there may be more.
local call, most = redis.call, tonumber(ARGV[1])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local removed, more = 0, 0
for at = 3, #ARGV, 2 do
    local oldest = '(' .. ARGV[at] .. string.format('%013.0f', math.max(0, now - ARGV[at + 1]))
    for _, rows in ipairs({ KEYS[HISTORY.totals], KEYS[HISTORY.runs] }) do
        local old = call('ZRANGE', rows, '[' .. ARGV[at], oldest, 'BYLEX', 'LIMIT', 0, most)
        if #old > 0 then
            call('ZREM', rows, unpack(old))
            removed = removed + #old
        end
        more = #old == most and 1 or more
    end
end
local last = string.format('(%.0f', now - ARGV[2])
removed = removed + call('ZREMRANGEBYSCORE', KEYS[HISTORY.pairs], '-inf', last)
return { removed, more }
