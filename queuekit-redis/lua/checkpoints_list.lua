-- Reads the checkpoints of a job without their results (contract R13.10), behind
-- lib/checkpoints.lua. Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 id.
-- Result: of each its name, when it was stored and the bytes of its result; nil if the job is not
-- stored.
use(1)
local id = ARGV[1]
if call('HEXISTS', Q.state, id) == 0 and call('HEXISTS', Q.data, id) == 0 then
    return nil
end
local stored, listed = call('HGET', Q.notes, id .. 'c') or '', {}
each_checkpoint(stored, function(name, head, from, to)
    local at = sub(stored, head + CHECKPOINT.at.from, head + CHECKPOINT.at.to)
    for _, part in ipairs({ name, at, to - from }) do
        listed[#listed + 1] = part
    end
end)
return listed
