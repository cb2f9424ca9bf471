-- Reads rows of schedules (contract R15).
-- Needs lib/queue.lua.
-- KEYS: SCHEDULES.
-- ARGV: 1 which: n the one with a name, a those after a name, d those that are due, after a place;
-- 2 the name, empty for none; 3 the time of the place, empty for none; 4 most rows; 5 most bytes.
-- Result: now; ms to the next one that is not due, empty if there is none; if there are more rows,
-- the time of the last, which is 0 with `a`, else empty; then per row its name and its record.
local most, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
-- Names, each with the time when it is due.
local found, next_in = {}, ''

-- Reads one more than `most`, by time and then by name. Of the names at the time of the place it
-- passes over those up to the place.
local function due_after(name, at)
    local from, offset = at == '' and '-inf' or at, 0
    repeat
        local window = call('ZRANGE', KEYS[SCHEDULES.due], from, now_text, 'BYSCORE', 'LIMIT',
            offset, most + 1, 'WITHSCORES')
        for item = 1, #window, 2 do
            if #found <= most * 2 and (window[item + 1] ~= at or window[item] > name) then
                found[#found + 1], found[#found + 2] = window[item], window[item + 1]
            end
        end
        offset = offset + most + 1
    until #found > most * 2 or #window == 0
end

if ARGV[1] == 'n' then
    found = { ARGV[2], '0' }
elseif ARGV[1] == 'a' then
    local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
    local names = call('ZRANGE', KEYS[SCHEDULES.names], from, '+', 'BYLEX', 'LIMIT', 0, most + 1)
    for item, name in ipairs(names) do
        found[item * 2 - 1], found[item * 2] = name, '0'
    end
else
    due_after(ARGV[2], ARGV[3])
    local later = call('ZRANGE', KEYS[SCHEDULES.due], '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT',
        0, 1, 'WITHSCORES')
    next_in = later[2] and format('%.0f', later[2] - now) or ''
end
local answer, bytes = { now_text, next_in, '' }, 0
for item = 1, #found, 2 do
    local record = call('HGET', KEYS[SCHEDULES.rows], found[item]) or ''
    -- The first fits whatever its size.
    if item > most * 2 or (bytes > 0 and bytes + #record > most_bytes) then
        answer[3] = found[item - 1] or ''
        break
    end
    bytes = bytes + #record
    answer[#answer + 1], answer[#answer + 2] = found[item], record
end
return answer
