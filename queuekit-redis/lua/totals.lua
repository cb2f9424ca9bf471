-- The totals of a queue, if they have changed since this was last asked (contract R8.5). Needs
-- lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: none of its own.
-- Result: how many jobs were enqueued, have ended, of them died and were cancelled, and how many
-- attempts have failed, as one text; empty if the queue does not exist or nothing has changed.
use(1)
if not known then
    return ''
end
local of = call('HMGET', Q.meta, 'ends', 'total_x', 'total_n', 'failures', 'removed', 'recorded')
local enqueued = call('HLEN', Q.data) + (of[5] or 0)
local totals = format('%.0f %s %s %s %s', enqueued, of[1] or '0', of[2] or '0', of[3] or '0',
    of[4] or '0')
if totals == (of[6] or '0 0 0 0 0') then
    return ''
end
call('HSET', Q.meta, 'recorded', totals)
return totals
