-- The most recent error groups of a queue (contract R8.4). Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 how many.
-- Result: the present time; then per group two texts: kind, NUL, signature; its record, GROUP.
use(1)
local found = { now_hex }
for _, key in ipairs(call('ZREVRANGE', Q.group_times, 0, ARGV[1] - 1)) do
    local record = call('HGET', Q.groups, key)
    if record then
        found[#found + 1] = key
        found[#found + 1] = record
    end
end
return found
