-- Stores jobs of one or several queues in one step, each queue's in the given order (contract R2).
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua, lib/enqueue.lua.
-- KEYS: the keys of each queue in turn.
-- ARGV: 1 whether queues may be created here; 2 how far ahead a job may be scheduled, in ms; from 3
-- on, per queue: how many jobs; per job the values that lib/enqueue.lua describes.
-- Result: 1 if all were created; `unknown` and the number of the first queue that does not exist,
-- or `ahead` and the number of a job: nothing was stored; else the answer of lib/enqueue.lua.

-- Checks before the first write that all of it can be written.
local at = 3
for queue = 1, #KEYS / QUEUE.count do
    local count = tonumber(ARGV[at])
    if ARGV[1] == '0' and call('HEXISTS', KEYS[(queue - 1) * QUEUE.count + 1], 'known') == 0 then
        return { 'unknown', queue - 1 }
    end
    for job = 1, count do
        local start = ARGV[at + job * 4 - 2]
        if start ~= '+0' and sub(start, TAGGED.tag) == '@'
            and tonumber(sub(start, TAGGED.rest)) > now + ARGV[2] then
            return { 'ahead', (at + job * 4 - 3 - 4 - queue + 1) / 4 }
        end
    end
    at = at + 1 + count * 4
end

local at, number = 3, 0
for queue = 1, #KEYS / QUEUE.count do
    local count = tonumber(ARGV[at])
    use((queue - 1) * QUEUE.count + 1)
    if not known then
        establish()
    end
    enqueue(ARGV, at + 1, count, number)
    at, number = at + 1 + count * 4, number + count
end
return #answer == 0 and 1 or answer
