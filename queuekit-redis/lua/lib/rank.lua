-- Ranks in a sorted set, which is ordered by score, then by member. No member need be at the place
-- that a caller asks about. Needs lib/queue.lua.

-- The rank of the first member after a place.
local function after(set, score, member)
    local low, high = 0, call('ZCARD', set)
    while low < high do
        local middle = floor((low + high) / 2)
        local at = call('ZRANGE', set, middle, middle, 'WITHSCORES')
        local its = tonumber(at[2])
        if its < score or (its == score and at[1] <= member) then
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

-- How many members are before a place.
local function before(set, score, member)
    local is_taken = call('ZSCORE', set, member) == format('%.0f', score)
    return after(set, score, member) - (is_taken and 1 or 0)
end

return { after = after, before = before }
