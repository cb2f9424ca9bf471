-- Reads jobs of a queue by id.
-- Needs lib/queue.lua, lib/job.lua, lib/lane.lua, lib/frontier.lua, lib/view.lua,
-- lib/payload.lua.
-- KEYS: those of the queue; of one of events also 24, the data of events.
-- ARGV: ids.
-- Result: now; then per job that is stored what lib/view.lua says.
use(1)
local answer = { now13 }
for at = 1, #ARGV do
    View.view(answer, ARGV[at])
end
return answer
