-- Reads rows of one queue, in the order of their times and kinds (contract R8.5).
-- KEYS: the rows.
-- ARGV: 1 and 2 the letter of the resolution and 13 digits: the rows begin from and before; 3 the
-- queue; 4 a place that they come after, or empty; 5 most rows.
-- Result: the rows.
local call, rows, found = redis.call, KEYS[1], {}
local from, queue, most = ARGV[1], ARGV[3], tonumber(ARGV[5])
-- The letter of a resolution and 13 digits.
local time = '^%a' .. string.rep('%d', 13)
while #found < most do
    -- The next time of which any queue has a row.
    local next = call('ZRANGE', rows, '[' .. from, '(' .. ARGV[2], 'BYLEX', 'LIMIT', 0, 1)[1]
    if not next then
        break
    end
    local at = string.match(next, time)
    local first = '[' .. at .. queue .. '\0'
    if ARGV[4] ~= '' and string.match(ARGV[4], time) == at then
        first = '(' .. ARGV[4] .. '\1'
    end
    local of_time = call('ZRANGE', rows, first, '(' .. at .. queue .. '\1', 'BYLEX', 'LIMIT', 0,
        most - #found)
    for _, row in ipairs(of_time) do
        found[#found + 1] = row
    end
    from = at .. '\255'
end
return found
