-- Reads the checkpoints of a job (contract R13.10). Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 id, 2 token.
-- Result: now, and the checkpoints as they are stored; nothing if the lease does not hold.
use(1)
local state = call('HGET', Q.state, ARGV[1])
if not state or sub(state, STATE.state) ~= 'r' or sub(state, STATE.token) ~= ARGV[2] then
    return {}
end
return { now_ms, call('HGET', Q.notes, ARGV[1] .. 'c') or '' }
