-- Reads the states of jobs of a queue by id, without their content.
-- Needs lib/queue.lua, lib/job.lua.
-- KEYS: those of the queue.
-- ARGV: ids.
-- Result: per id the letter of its state, or empty if it is not stored.
use(1)
local states = {}
for at, id in ipairs(ARGV) do
    local state = call('HGET', Q.state, id)
    if state then
        states[at] = Job.is_state(state) and sub(state, STATE.state) or 'p'
    else
        states[at] = call('HEXISTS', Q.data, id) == 1 and 'p' or ''
    end
end
return states
