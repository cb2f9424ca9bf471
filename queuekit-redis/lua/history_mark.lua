-- Notes that the present minute is being recorded (contract R8.5).
-- KEYS: those of history.
-- ARGV: none.
-- Result: now in ms, or an empty text if the minute, or a later one, was noted before.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local minute = now - now % 60000
-- Guard: the first one wins.
if tonumber(call('GET', KEYS[HISTORY.mark]) or -1) >= minute then
    return ''
end
call('SET', KEYS[HISTORY.mark], string.format('%.0f', minute))
return string.format('%.0f', now)
