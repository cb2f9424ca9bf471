-- Changes the settings of a queue, unless others have changed them. Creates the queue if it does
-- not exist. Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: none to read the document; or 1 the document that was read, empty if there was none; 2 the
-- new one; then names and values of the settings that scripts read; an empty value removes one.
-- Result: now and the stored document, if it was to be read or others changed it; else whether the
-- queue's keys have to be placed anew, which place.lua does.
use(1)

-- This very change may have been made before, and its answer lost.
local stored = call('HGET', Q.meta, 'settings') or ''
if not ARGV[1] or stored ~= ARGV[1] and stored ~= ARGV[2] then
    return { now_ms, stored }
end

local function order()
    return table.concat({ tostring(skip), tostring(hold), tostring(fair), tostring(per_key) }, ' ')
end

local before = order()
if not known then
    establish()
end
call('HSET', Q.meta, 'settings', ARGV[2])
for at = 3, #ARGV, 2 do
    call('HSET', Q.meta, ARGV[at], ARGV[at + 1])
end
use(1)
if order() ~= before and (fair or moving or call('EXISTS', Q.partition_keys) == 1
    or call('EXISTS', Q.waiting) == 1) then
    call('HSET', Q.meta, 'moving', 'p')
end
set_marker(Q.wake)
return call('HEXISTS', Q.meta, 'moving')
