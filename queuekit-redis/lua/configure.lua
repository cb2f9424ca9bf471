-- Sets settings of a queue, which comes to exist if need be.
-- Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: names of settings and their values; an empty value is none.
-- Result: whether its keys have to be placed anew: place.lua does it; then names and values of all
-- that is set.
use(1)

local function order()
    return table.concat({ tostring(skip), tostring(hold), tostring(fair), tostring(per_key) }, ' ')
end

local before = order()
if not known then
    establish()
end
for at = 1, #ARGV, 2 do
    call('HSET', Q.meta, ARGV[at], ARGV[at + 1])
end
use(1)
if order() ~= before and (fair or moving or call('EXISTS', Q.lanes) == 1
    or call('EXISTS', Q.waiting) == 1) then
    call('HSET', Q.meta, 'moving', 'p')
end
wake()
local answer = { call('HEXISTS', Q.meta, 'moving') }
for _, part in ipairs(call('HGETALL', Q.meta)) do
    answer[#answer + 1] = part
end
return answer
