-- Which jobs of a key are blocked (contract R1.1). Needs lib/queue.lua and lib/partition_key.lua.
-- How many jobs of a key are read at once, and how many in all.
local SLICE, EXAMINED = 200, 10000
-- To find out which jobs of a key are blocked may take many looks, so a script then counts at least
-- this many.
local LEAST = 1000
-- How many jobs this script has looked at: a script that reads many keys stops in time.
local examined = 0
-- Sorts after every sequence.
local NONE_BLOCKED = 'g'

-- Calls `each` with jobs of a key, in their order, after the member `last` unless that is empty,
-- until it returns false or about `most` are read. It first reads no more than are likely to be
-- needed. Returns the last member read if there may be more.
local function each_of(set, key, last, likely, most, each)
    local from, seen, slice = '[' .. key .. '\0', 0, math.min(SLICE, likely)
    if last ~= '' then
        from = '(' .. last
    end
    while seen < most do
        slice = math.min(slice, most - seen)
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
        last, slice = members[#members], SLICE
        from = '(' .. last
    end
    return last
end

-- Under skip the last job that is not blocked is the last of the first ones that are due.
local function last_due(key, free)
    local due, found = {}, 0
    local function note(waiting)
        if waiting.at <= now then
            due[#due + 1], found = sub(waiting.entry, ENTRY.seq), found + 1
        end
        return found < free
    end
    -- Some jobs came due since the last look.
    local from, to = '[' .. key .. '\0', '(' .. key .. '\0' .. time_hex(now + 1)
    local first = call('ZRANGE', Q.later, from, to, 'BYLEX', 'LIMIT', 0, 1)[1]
    if first then
        local last = call('ZRANGE', Q.later, to, from, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
        local late = call('ZRANK', Q.later, last) - call('ZRANK', Q.later, first) + 1
        -- If there are many, the first ones are found sooner among all that wait, which are in
        -- order. As many are read as a reserve would sort.
        late = math.min(late, math.max(free, PartitionKey.most_sorts))
        each_of(Q.waiting, key, '', free, late, note)
        if found == free then
            return due[free]
        end
        due, found = {}, 0
        for _, member in ipairs(call('ZRANGE', Q.later, from, to, 'BYLEX', 'LIMIT', 0, late)) do
            due[#due + 1] = sub(PartitionKey.of_later(member, key).entry, ENTRY.seq)
        end
        examined = examined + late
    end
    -- Some may not be due any more: the clock went back.
    each_of(Q.due, key, '', free, EXAMINED, note)
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
    each_of(Q.waiting, key, '', free, EXAMINED, function(waiting)
        last, free = sub(waiting.entry, ENTRY.seq), free - 1
        return free > 0 and waiting.at <= now
    end)
    return last
end

-- Calls `each` with the unblocked jobs of a key, in their order, after the member `last` unless
-- that is empty; they are always its first. Ends when the script has looked at `enough` jobs, but
-- looks at LEAST of the key. Returns the member at which it ended, empty if there are no more.
local function each_unblocked(key, last, enough, each)
    local limit = frontier(key)
    if limit == '' then
        return ''
    end
    local most = math.max(LEAST, enough - examined)
    return each_of(Q.waiting, key, last, per_key + 1, most, function(waiting)
        if sub(waiting.entry, ENTRY.seq) > limit then
            return false
        end
        each(waiting, waiting.at <= now)
    end) or ''
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
