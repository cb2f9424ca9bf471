-- One step of deleting a dead job with two unreadable records: searches the sets for its member,
-- because its place cannot be computed. Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua.
-- KEYS: those of the queue.
-- ARGV: 1 id; 2 where to look: held, then dead; 3 the cursor of the step before, at first 0; 4
-- about how many members to look at.
-- Result: 1 if it was found and removed; else a text, the cursor of this step: 0 if the search is
-- over without a find.
use(1)
local id, set = ARGV[1], ARGV[2] == 'held' and Q.held or Q.dead
local job = Job.load(id)
if not job or job.seq then
    return '0'
end
local scanned = call('ZSCAN', set, ARGV[3], 'COUNT', ARGV[4])
for item = 1, #scanned[2], 2 do
    local member = scanned[2][item]
    if sub(member, -ENTRY.id.width) == id then
        call('ZREM', set, member)
        if set == Q.held then
            PartitionKey.refresh(PartitionKey.key_of(member))
            stirred = true
            conclude()
        else
            call('HINCRBY', Q.meta, 'removed', call('HDEL', Q.data, id))
            call('HDEL', Q.state, id)
            call('HDEL', Q.notes, id .. 'e', id .. 'r', id .. 'p', id .. 'l', id .. 'b', id .. 'c')
        end
        return 1
    end
end
return scanned[1]
