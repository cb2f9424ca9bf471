-- Stores progress and log lines of runs (contract R3.8). Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 most lines that are kept; from 2 on, per report: id, token, progress or empty, how many
-- lines, each line.
-- Result: per report R reported, L lost, N unknown.
use(1)

local line_head = LINE.write({ at = now_ms })

-- Where the last `most` lines of a log begin. The lines are not cut out: a log may be large.
local function first_kept(log, most)
    local begins, count, to = {}, 0, 0
    while to < #log do
        count = count + 1
        begins[count] = to + NOTE.length.from
        local text_from = to + NOTE.length.to
        to = text_from + (tonumber(sub(log, begins[count], text_from)) or #log)
    end
    return begins[math.max(count - most, 0) + 1] or #log + 1
end

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
            local old = call('HGET', Q.notes, id .. 'l') or ''
            local new = { sub(old, first_kept(old, tonumber(ARGV[1]) - lines)) }
            for line = 1, lines do
                local text = ARGV[at + 3 + line]
                new[line + 1] = format(NOTE.length.decimal, #line_head + #text) .. line_head .. text
            end
            call('HSET', Q.notes, id .. 'l', table.concat(new))
        end
    end
    outcomes[#outcomes + 1] = outcome
    at = at + 4 + lines
end
return table.concat(outcomes)
