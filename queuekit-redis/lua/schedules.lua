-- Reads rows of schedules (contract R15).
-- Needs lib/queue.lua.
-- KEYS: rows, names, due.
-- ARGV: 2 which: n the one of a name, a those after a name, d those that are due; 3 the name, empty
-- for none; 4 at most so many.
-- Result: now; of those that are not due the ms to the next one, empty if there is none; then per
-- row its name and its record.
local names, next_in = {}, ''
if ARGV[2] == 'n' then
    names = { ARGV[3] }
elseif ARGV[2] == 'a' then
    local from = ARGV[3] == '' and '-' or '(' .. ARGV[3]
    names = call('ZRANGE', KEYS[2], from, '+', 'BYLEX', 'LIMIT', 0, ARGV[4])
else
    names = call('ZRANGE', KEYS[3], '-inf', now_text, 'BYSCORE', 'LIMIT', 0, ARGV[4])
    local later = call('ZRANGE', KEYS[3], '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    next_in = later[2] and format('%.0f', later[2] - now) or ''
end
local answer = { now_text, next_in }
for _, name in ipairs(names) do
    local record = call('HGET', KEYS[1], name)
    if record then
        answer[#answer + 1] = name
        answer[#answer + 1] = record
    end
end
return answer
