-- Which jobs of a key are blocked (contract R1.1). Needs lib/queue.lua and lib/partition_key.lua.
-- How many jobs of a key are read at once, and how many in all.
local SLICE, EXAMINED = 200, 10000
-- How many jobs this script has looked at: a script that reads many keys stops in time.
local examined = 0
-- Sorts after every sequence.
local NONE_BLOCKED = 'g'

-- Calls `each` with jobs of a key, in their order, until it returns false. It first reads no more
-- than are likely to be needed.
local function each_of(set, key, likely, each)
    local from, seen, slice = '[' .. key .. '\0', 0, math.min(SLICE, likely)
    while seen < EXAMINED do
        local members = call('ZRANGE', set, from, '(' .. key .. '\1', 'BYLEX', 'LIMIT', 0, slice)
        for _, member in ipairs(members) do
            if each(PartitionKey.waiting_of(member, key)) == false then
                return
            end
        end
        seen, examined = seen + #members, examined + #members
        if #members < slice then
            return
        end
        from, slice = '(' .. members[#members], SLICE
    end
end

-- Under skip the last job that is not blocked is the last one that is due and may be leased.
local function last_due(key, free)
    -- Some jobs came due since the last look.
    local to = '(' .. key .. '\0' .. time_hex(now + 1)
    local late = call('ZRANGE', Q.later, '[' .. key .. '\0', to, 'BYLEX', 'LIMIT', 0, EXAMINED)
    local due, found = {}, 0
    for _, member in ipairs(late) do
        due[#due + 1] = sub(PartitionKey.of_later(member, key).entry, ENTRY.seq)
    end
    examined = examined + #late
    each_of(Q.due, key, free, function(waiting)
        -- Other jobs are not due any more: the clock went back.
        if waiting.at <= now then
            due[#due + 1], found = sub(waiting.entry, ENTRY.seq), found + 1
        end
        return found < free
    end)
    table.sort(due)
    return due[free] or NONE_BLOCKED
end

-- The sequence of the last job of a key that is not blocked; empty if all are.
local function frontier(key)
    local free = PartitionKey.free_leases(key)
    examined = examined + 1
    if free <= 0 then
        return ''
    elseif skip then
        return last_due(key, free)
    end
    local last = ''
    each_of(Q.waiting, key, free, function(waiting)
        last, free = sub(waiting.entry, ENTRY.seq), free - 1
        return free > 0 and waiting.at <= now
    end)
    return last
end

-- Calls `each` with the unblocked jobs of a key, in their order; they are always its first.
local function each_unblocked(key, each)
    local last = frontier(key)
    if last ~= '' then
        each_of(Q.waiting, key, per_key, function(waiting)
            if sub(waiting.entry, ENTRY.seq) > last then
                return false
            end
            each(waiting, waiting.at <= now)
        end)
    end
end

local frontiers = {}

-- Whether a waiting job of a key comes after the last one that is not blocked.
local function is_blocked(key, seq)
    frontiers[key] = frontiers[key] or frontier(key)
    return frontiers[key] < seq
end

return {
    each_unblocked = each_unblocked, is_blocked = is_blocked,
    examined = function()
        return examined
    end,
}
