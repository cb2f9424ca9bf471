-- Finds what a job waits for. Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua.
-- KEYS: those of the queue.
-- ARGV: 1 id.
-- Result: the id of the job that its key waits for, or empty; how many due jobs come before it, or
-- empty in a fair queue.
use(1)
local job = Job.load(ARGV[1])
if not job or not job.seq then
    return { '', '' }
end
local blocker = ''
if job.key ~= '' then
    local first = PartitionKey.first_of(Q.held, job.key)
        or PartitionKey.first_of(Q.running, job.key)
        or PartitionKey.first_of(Q.waiting, job.key)
    local from = #job.key + 1
    blocker = first and sub(first, from + ENTRY.id.from, from + ENTRY.id.to) or ''
end
if fair then
    return { blocker, '' }
end
local before = 0
for level = 0, job.level - 1 do
    before = before + call('ZCOUNT', Q.ready, level * LEVEL, level * LEVEL + now)
end
local own = job.level * LEVEL
before = before + call('ZCOUNT', Q.ready, own, format('(%.0f', own + job.at))
-- Among jobs of the same time, counts those with a lower sequence: they are few unless many were
-- enqueued in the same millisecond.
local offset, same = 0, nil
repeat
    same = call('ZRANGE', Q.ready, own + job.at, own + job.at, 'BYSCORE', 'LIMIT', offset, 200)
    for _, member in ipairs(same) do
        if sub(member, ENTRY.seq) >= job.seq then
            return { blocker, before }
        end
        before = before + 1
    end
    offset = offset + 200
until #same < 200 or offset > 10000
return { blocker, before }
