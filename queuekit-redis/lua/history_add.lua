-- Adds runs to the rows of the present time (contract R8.5).
-- KEYS: those of history.
-- ARGV: 1 most pairs of queue and kind that are kept apart; then triples: queue, kind or empty,
-- numbers.
-- Result: none.
local call, rows, apart = redis.call, KEYS[HISTORY.runs], KEYS[HISTORY.pairs]
local lengths = { m = 60000, t = 600000, h = 3600000 }
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Whether the runs of a pair are kept apart.
local function admit(pair)
    local last = tonumber(call('ZSCORE', apart, pair) or nil)
    if not last and call('ZCARD', apart) >= tonumber(ARGV[1]) then
        return false
    end
    -- Once an hour is often enough.
    if not last or now - last > 3600000 then
        call('ZADD', apart, string.format('%.0f', now), pair)
    end
    return true
end

local function numbers_of(text)
    local numbers = {}
    for number in string.gmatch(text, '%d+') do
        numbers[#numbers + 1] = tonumber(number)
    end
    return numbers
end

local function sum(old, new)
    local a, b, words = numbers_of(old), numbers_of(new), {}
    for n = 1, math.max(#a, #b) do
        words[n] = string.format('%.0f', (a[n] or 0) + (b[n] or 0))
    end
    return table.concat(words, ' ')
end

for at = 2, #ARGV, 3 do
    local queue, kind, numbers = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if kind ~= '' and not admit(queue .. '\0' .. kind) then
        kind = ''
    end
    for letter, length in pairs(lengths) do
        local place = letter .. string.format('%013.0f', now - now % length) .. queue .. '\0' .. kind
        local old = call('ZRANGE', rows, '[' .. place .. '\0', '(' .. place .. '\1', 'BYLEX',
            'LIMIT', 0, 1)[1]
        local text = numbers
        if old then
            call('ZREM', rows, old)
            text = sum(string.match(old, '%z([%d ]*)$'), numbers)
        end
        call('ZADD', rows, 0, place .. '\0' .. text)
    end
end
