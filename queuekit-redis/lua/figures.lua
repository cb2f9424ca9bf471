-- The figures of a queue (contract R8.3); partition_keys.lua counts those of partition keys.
-- Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: none of its own.
-- Result: now; jobs leased, expired, completed, dead, cancelled; jobs in ready, and how many of
-- them are due; when the first of those was due, or empty (under skip, among jobs without a key);
-- jobs without a key that wait for a retry; waiting jobs with a key; the bits of the last ends; how
-- many jobs have ended, died, been cancelled; corrupt ones; jobs stored, removed; failed
-- attempts; the document of the settings.
use(1)
if not known then
    return {}
end
local stand, due, oldest = call('ZCARD', Q.ready), 0, nil

-- When the first job of a level was due. Under skip the job that ready has for a key may be blocked
-- since another came due. So partition_keys.lua counts keys, and this looks for the first job
-- without a key.
local function first_due(level)
    local from = level * LEVEL
    local most = skip and 200 or 1
    local first = call('ZRANGE', Q.ready, from, from + now, 'BYSCORE', 'LIMIT', 0, most,
        'WITHSCORES')
    for item = 1, #first, 2 do
        if not skip or #first[item] == ENTRY.head.to then
            return first[item + 1] - from
        end
    end
end

local level = 0
while level < 32 do
    local first = call('ZRANGE', Q.ready, level * LEVEL, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    if not first[1] then
        break
    end
    level = floor(first[2] / LEVEL)
    if first[2] - level * LEVEL <= now then
        due = due + call('ZCOUNT', Q.ready, level * LEVEL, level * LEVEL + now)
        local at = first_due(level)
        oldest = at and math.min(oldest or at, at) or oldest
    end
    level = level + 1
end
return {
    now_ms, call('ZCARD', Q.leased), call('ZCOUNT', Q.leased, '-inf', now),
    call('ZCARD', Q.completed), call('ZCARD', Q.dead), call('ZCARD', Q.cancelled), stand, due,
    oldest and ms_text(oldest) or '',
    call('ZCOUNT', Q.failed, '(' .. now_ms, '+inf'), call('ZCARD', Q.places),
    call('GET', Q.ends) or '', call('HGET', Q.meta, 'ends') or '0',
    call('HGET', Q.meta, 'total_x') or '0', call('HGET', Q.meta, 'total_n') or '0',
    call('HGET', Q.meta, 'corrupt') or '0', call('HLEN', Q.data),
    call('HGET', Q.meta, 'removed') or '0', call('HGET', Q.meta, 'failures') or '0',
    call('HGET', Q.meta, 'settings') or '{}',
}
