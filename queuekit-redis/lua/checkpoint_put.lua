-- Stores the result of a step of a job (contract R13.10), behind lib/checkpoints.lua.
-- Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 id, 2 token, 3 name, 4 result, 5 most checkpoints of a job, 6 most bytes of their results.
-- Result: L lost or N unknown; if the lease holds, what the job had before: how many checkpoints, the
-- bytes of their results, and S if the result of this name is the same, D if it differs, - if there
-- was none.
use(1)
local id, name, result = ARGV[1], ARGV[3], ARGV[4]
local most, most_bytes = tonumber(ARGV[5]), tonumber(ARGV[6])

local state = call('HGET', Q.state, id)
if not state then
    return call('HEXISTS', Q.data, id) == 1 and 'L' or 'N'
elseif sub(state, STATE.state) ~= 'r' or sub(state, STATE.token) ~= ARGV[2] then
    return 'L'
end

local stored = call('HGET', Q.notes, id .. 'c') or ''
local count, bytes, same = 0, 0, '-'
each_checkpoint(stored, function(stored_name, _, from, to)
    count, bytes = count + 1, bytes + to - from
    if stored_name == name then
        same = sub(stored, from + 1, to) == result and 'S' or 'D'
    end
end)

if same == '-' and count < most and bytes + #result <= most_bytes then
    local head = CHECKPOINT.write({ at = now_ms, name = format(CHECKPOINT.name.hex, #name) })
    local entry = head .. name .. result
    local length = format(NOTE.length.decimal, #entry)
    call('HSET', Q.notes, id .. 'c', stored .. length .. entry)
end
return { count, bytes, same }
