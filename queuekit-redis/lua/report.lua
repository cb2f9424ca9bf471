-- Stores progress and log lines of runs (contract R3.8). Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 most lines that are kept; from 2 on, per report: id, token, progress or empty, how many
-- lines, each line.
-- Result: per report R reported, L lost, N unknown.
use(1)

local outcomes = {}
local at = 2
while at <= #ARGV do
    local id, token, progress, lines = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
    local state = call('HGET', Q.state, id)
    local outcome = 'L'
    if not state then
        outcome = call('HEXISTS', Q.data, id) == 1 and 'L' or 'N'
    elseif sub(state, STATE.state) == 'r' and sub(state, STATE.token) == token then
        outcome = 'R'
        if progress ~= '' then
            call('HSET', Q.notes, id .. 'p', progress)
        end
        if lines > 0 then
            local old, to = call('HGET', Q.notes, id .. 'l') or '', 0
            local new = {}
            while to < #old do
                local from, text_from = to + NOTE.length.from, to + NOTE.length.to
                to = text_from + (tonumber(sub(old, from, text_from)) or #old)
                new[#new + 1] = sub(old, from, to)
            end
            for line = 1, lines do
                local text = LINE.write({ at = now_ms }) .. ARGV[at + 3 + line]
                new[#new + 1] = format(NOTE.length.decimal, #text) .. text
            end
            local count = #new - tonumber(ARGV[1])
            call('HSET', Q.notes, id .. 'l', table.concat(new, '', math.max(count, 0) + 1))
        end
    end
    outcomes[#outcomes + 1] = outcome
    at = at + 4 + lines
end
return table.concat(outcomes)
