-- Extends leases (contract R3.7). Needs lib/queue.lua, lib/job.lua.
-- KEYS: those of the queue.
-- ARGV: 1 ttl in ms; from 2 on, per lease: id, token.
-- Result: per lease E extended, C extended and a cancel was requested, L lost, N unknown.
use(1)

local outcomes = {}
for base = 2, #ARGV, 2 do
    local id = ARGV[base]
    local state = call('HGET', Q.state, id)
    local outcome = 'L'
    if not state then
        outcome = call('HEXISTS', Q.data, id) == 1 and 'L' or 'N'
    elseif sub(state, STATE.state) == 'r' and sub(state, STATE.token) == ARGV[base + 1]
        and Job.is_state(state) then
        call('ZADD', Q.leased, now + ARGV[1], sub(state, STATE.seq) .. id .. Job.key_of(state))
        outcome = sub(state, STATE.cancel) == '1' and 'C' or 'E'
    end
    outcomes[#outcomes + 1] = outcome
end
return table.concat(outcomes)
