-- Counts the jobs of some partition keys by status.
-- Needs lib/queue.lua, lib/partition_key.lua, lib/frontier.lua.
-- KEYS: those of the queue.
-- ARGV: 1 the key after which to begin, empty for the first; 2 after how many looks to end:
-- at a key, or at a job of it; 3 the job of that key after which to continue, empty if all were
-- counted.
-- Result: the key at which it ended, empty if there are no more; the job of it at which it ended,
-- empty if there are no more; how many looks it took; ready, scheduled, failed; how many of them
-- are in ready, and how many of those are due; when the first ready one was due, or empty.
use(1)

local function attempts_of(id)
    return hex(call('HGET', Q.state, id) or '', STATE.attempts) or 0
end

local cursor, enough, last = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local ready, scheduled, failed, stand, due, oldest = 0, 0, 0, 0, 0, nil

-- Begins the next key; false if there is none.
local function next_key()
    local first = call('ZRANGE', Q.waiting, '(' .. cursor .. '\1', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    cursor = first and PartitionKey.key_of(first) or ''
    if not first then
        return false
    end
    local it = PartitionKey.of(cursor)
    local score = it.stands == 'P' and call('ZSCORE', Q.ready, it.entry .. cursor)
    if score then
        stand, due = stand + 1, due + (score % LEVEL <= now and 1 or 0)
    end
    return true
end

while Frontier.examined() < enough do
    if last == '' and not next_key() then
        break
    end
    last = Frontier.each_unblocked(cursor, last, enough, function(waiting, is_due)
        if is_due then
            ready = ready + 1
            oldest = math.min(oldest or waiting.at, waiting.at)
        elseif attempts_of(sub(waiting.entry, ENTRY.id)) > 0 then
            failed = failed + 1
        else
            scheduled = scheduled + 1
        end
    end)
end
return {
    cursor, last, Frontier.examined(), ready, scheduled, failed, stand, due,
    oldest and ms_text(oldest) or '',
}
