-- Put before enqueue.lua: lets it store the jobs of a schedule's change once, all of them or none
-- (contract R15.2). Needs lib/queue.lua; and enqueue.lua lib/job.lua, lib/partition_key.lua,
-- lib/change.lua.
-- KEYS: after those of the queue: the fences of schedules.
-- ARGV: after those of enqueue.lua: the schedule's name; the number of its change.
-- Result: the fate of this change's jobs, if it is decided already: 1 stored, 0 the queue was full;
-- if a later change has been here, minus its number.
local name, number = ARGV[#ARGV - 1], tonumber(ARGV[#ARGV])
local fence = call('HGET', KEYS[QUEUE.next], name)
if fence then
    local last, outcome = string.match(fence, '^(%d+):(%d)$')
    if tonumber(last) >= number then
        return tonumber(last) == number and tonumber(outcome) or -tonumber(last)
    end
end
use(1)
local room = 0
if max_pending then
    room = Change.room()
    for job = 1, tonumber(ARGV[3]) do
        room = room - (1 - call('HEXISTS', Q.data, ARGV[4 + (job - 1) * 4]))
    end
end
call('HSET', KEYS[QUEUE.next], name, format('%.0f', number) .. (room >= 0 and ':1' or ':0'))
if room < 0 then
    return 0
end
