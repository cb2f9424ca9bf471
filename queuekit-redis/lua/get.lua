-- Reads jobs of a queue by id.
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/frontier.lua, lib/view.lua,
-- lib/payload.lua.
-- KEYS: those of the queue; for a queue of events also the data of events.
-- ARGV: ids.
-- Result: now; then per stored job the values of lib/view.lua.
use(1)
local answer = { now_ms }
for at = 1, #ARGV do
    View.view(answer, ARGV[at])
end
return answer
