-- Reads rows of schedules (contract R15).
-- Needs lib/queue.lua.
-- KEYS: SCHEDULES.
-- ARGV: 1 which: n the one with a name, a those after a name, d those that are due; 2 the name,
-- empty for none; 3 most rows.
-- Result: now; ms to the next one that is not due, empty if there is none; then per row its name
-- and its record.
local names, next_in = {}, ''
if ARGV[1] == 'n' then
    names = { ARGV[2] }
elseif ARGV[1] == 'a' then
    local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
    names = call('ZRANGE', KEYS[SCHEDULES.names], from, '+', 'BYLEX', 'LIMIT', 0, ARGV[3])
else
    names = call('ZRANGE', KEYS[SCHEDULES.due], '-inf', now_text, 'BYSCORE', 'LIMIT', 0, ARGV[3])
    local later = call('ZRANGE', KEYS[SCHEDULES.due], '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT',
        0, 1, 'WITHSCORES')
    next_in = later[2] and format('%.0f', later[2] - now) or ''
end
local answer = { now_text, next_in }
for _, name in ipairs(names) do
    local record = call('HGET', KEYS[SCHEDULES.rows], name)
    if record then
        answer[#answer + 1] = name
        answer[#answer + 1] = record
    end
end
return answer
