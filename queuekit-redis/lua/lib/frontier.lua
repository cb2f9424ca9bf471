-- Which jobs of a key are blocked (contract R1.1). Needs lib/queue.lua and lib/lane.lua.
-- Looks at this many jobs of a key at once, and at so many in all.
local SLICE, EXAMINED = 200, 10000

-- Calls `each` with the unblocked jobs of a key, in their order: they are always the first few.
local function each_unblocked(key, each)
    local free = free_leases(key)
    local from, seen = '[' .. key .. '\0', 0
    while free > 0 and seen < EXAMINED do
        local members = call('ZRANGE', KW, from, '(' .. key .. '\1', 'BYLEX', 'LIMIT', 0,
            math.min(SLICE, free))
        for _, member in ipairs(members) do
            local waiting = waiting_of(member, key)
            local is_due = waiting.at <= now
            each(waiting, is_due)
            if is_due then
                free = free - 1
            elseif not skip then
                return
            end
            if free == 0 then
                return
            end
        end
        if #members == 0 then
            return
        end
        seen, from = seen + #members, '(' .. members[#members]
    end
end

local frontiers = {}

-- Whether a waiting job of a key is behind the last one that is not blocked.
local function is_blocked(key, seq)
    if not frontiers[key] then
        frontiers[key] = ''
        each_unblocked(key, function(waiting)
            frontiers[key] = waiting.seq
        end)
    end
    return frontiers[key] < seq
end
