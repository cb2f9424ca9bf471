-- Reads jobs of a queue by id.
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/frontier.lua, lib/view.lua,
-- lib/payload.lua.
-- KEYS: those of the queue; for a queue of events also the data of events.
-- ARGV: ids.
-- Result: now; how many of the ids it has looked at, because it ends once it has read enough; then
-- per stored job of these the values of lib/view.lua.
use(1)
-- A call stops once it has read this many bytes of jobs.
local ENOUGH_BYTES = 1048576
local answer = { now_ms, 0 }
for at = 1, #ARGV do
    View.view(answer, ARGV[at])
    answer[2] = at
    if View.read() >= ENOUGH_BYTES then
        break
    end
end
return answer
