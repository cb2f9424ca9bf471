-- Partition keys (contract R7.3, R7.4). Needs lib/queue.lua.
--
-- At most one job of each key is where reserve looks: the next one to lease. In a strict queue that
-- is `ready`; in a fair one the key itself is in `turns`, or in `alarms` until its next job is due.
-- The empty key stands for the jobs without one, and is kept in fair queues only. A key without a
-- record has no waiting or running job. Members of `waiting`, `due` and `later` are key NUL WAITING
-- or LATER; those of `held` and `running` are key NUL ENTRY.

local function read(text)
    if not text then
        return { gone = true, turn = 0, alarm = false, stands = '-', running = 0, entry = '' }
    end
    return {
        text = text, turn = hex(text, PARTITION.turn), alarm = sub(text, PARTITION.alarm) == '1',
        stands = sub(text, PARTITION.stands), running = hex(text, PARTITION.running),
        entry = sub(text, PARTITION.rest),
    }
end

local function of(key)
    local it = partition_keys[key]
    if not it then
        it = read(call('HGET', Q.partition_keys, key))
        partition_keys[key] = it
    end
    return it
end

-- Reads the records of several keys at once.
local function fetch(keys)
    local unread = {}
    for key in pairs(keys) do
        if not partition_keys[key] then
            unread[#unread + 1] = key
        end
    end
    if #unread > 0 then
        local texts = call('HMGET', Q.partition_keys, unpack(unread))
        for item, key in ipairs(unread) do
            partition_keys[key] = read(texts[item])
        end
    end
end

-- Writes the records that have changed since they were read.
local function store()
    local gone = {}
    for key, it in pairs(partition_keys) do
        local text = nil
        if not it.gone then
            text = PARTITION.write({
                turn = seq_hex(it.turn), alarm = (it.alarm and '1' or '0'), stands = it.stands,
                running = format(PARTITION.running.hex, it.running),
            }) .. it.entry
        end
        if not text and it.text then
            gone[#gone + 1] = key
        elseif text ~= it.text then
            write('HSET', Q.partition_keys, key, text)
        end
        it.text = text
    end
    for _, key in ipairs(gone) do
        write('HDEL', Q.partition_keys, key)
    end
end

local function first_of(set, key)
    return call('ZRANGE', set, '[' .. key .. '\0', '(' .. key .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- How many more leases the key may have now.
local function free_leases(key)
    if hold and first_of(Q.held, key) then
        return 0
    end
    return per_key - of(key).running
end

-- A job of the key begins to run, so the key is placed nowhere.
local function begin_run(key, entry)
    local it = of(key)
    if not fair then
        write('ZREM', Q.ready, entry .. key)
    end
    if it.entry == entry then
        it.stands, it.entry = '-', ''
    end
    it.gone, it.running = false, it.running + 1
    write('ZADD', Q.running, 0, key .. '\0' .. entry)
end

local function end_run(key, entry)
    local it = of(key)
    it.running = it.running - 1
    write('ZREM', Q.running, key .. '\0' .. entry)
end

-- Whether the job runs by the data of its key: its own record may be broken.
local function runs(key, entry)
    return call('ZSCORE', Q.running, key .. '\0' .. entry)
end

-- The key in a member of a set that has it first, before NUL.
local function key_of(member)
    return sub(member, 1, member:find('\0', 1, true) - 1)
end

-- The waiting job in a member of `waiting` or `due`.
local function waiting_of(member, key)
    local from = #key + 1
    return {
        entry = sub(member, from + WAITING.entry.from, from + WAITING.entry.to),
        at = hex(member, from + WAITING.at.from, from + WAITING.at.to),
        level = hex(member, from + WAITING.level.from, from + WAITING.level.to),
    }
end

local function of_later(member, key)
    local from = #key + 1
    return {
        entry = sub(member, from + LATER.entry.from, from + LATER.entry.to),
        at = hex(member, from + LATER.at.from, from + LATER.at.to),
        level = hex(member, from + LATER.level.from, from + LATER.level.to),
    }
end

-- Time and level are text here, as in a job's data.
local function waiting_member(key, entry, at, level)
    return key .. '\0' .. WAITING.write({ entry = entry, at = at, level = level })
end

local function later_member(key, entry, at, level)
    return key .. '\0' .. LATER.write({ entry = entry, at = at, level = level })
end

-- A job of the key begins to wait.
local function wait(key, entry, at, level)
    local member = waiting_member(key, entry, at, level)
    write('ZADD', Q.waiting, 0, member)
    write('ZADD', Q.places, 0, PLACE.write({ level = level, at = at, entry = entry }))
    if skip and at <= now_hex then
        write('ZADD', Q.due, 0, member)
    elseif skip then
        write('ZADD', Q.later, 0, later_member(key, entry, at, level))
    end
end

-- A job of the key stops waiting. While keys are placed anew, it may still be in the sets of the
-- old settings.
local function wait_no_more(key, entry, at, level)
    local member = waiting_member(key, entry, at, level)
    write('ZREM', Q.waiting, member)
    write('ZREM', Q.places, PLACE.write({ level = level, at = at, entry = entry }))
    if skip or moving then
        write('ZREM', Q.due, member)
        write('ZREM', Q.later, later_member(key, entry, at, level))
    end
end

-- How many jobs a script sorts by whether their time has come, and how many this one still may.
local MOST_SORTS = 1000
local sorts = MOST_SORTS

-- Under skip: sorts the first waiting jobs of a key by whether their time has come.
local function look(key)
    local to = '(' .. key .. '\0' .. time_hex(now + 1)
    local late = call('ZRANGE', Q.later, '[' .. key .. '\0', to, 'BYLEX', 'LIMIT', 0, sorts)
    sorts = sorts - #late
    for _, member in ipairs(late) do
        local waiting = of_later(member, key)
        local at, level = time_hex(waiting.at), format(WAITING.level.hex, waiting.level)
        write('ZREM', Q.later, member)
        write('ZADD', Q.due, 0, waiting_member(key, waiting.entry, at, level))
    end
    local member = first_of(Q.due, key)
    while member and sorts > 0 do
        local waiting = waiting_of(member, key)
        if waiting.at <= now then
            break
        end
        -- The clock went back.
        sorts = sorts - 1
        write('ZREM', Q.due, member)
        local at, level = time_hex(waiting.at), format(WAITING.level.hex, waiting.level)
        write('ZADD', Q.later, 0, later_member(key, waiting.entry, at, level))
        member = first_of(Q.due, key)
    end
end

-- When to look again at a key whose next change is at this time: at once, after the others, if some
-- of its jobs may not have been sorted.
local function alarm_at(at)
    return sorts == 0 and now or at
end

-- The next job of a key to lease, now or at its time; none while no lease of the key may start.
-- Second, whether no job waits.
local function next_of(key)
    if free_leases(key) <= 0 then
        return nil, false
    end
    if not skip then
        local known_first = of(key).first
        if known_first then
            return known_first, false
        end
        local member = first_of(Q.waiting, key)
        return member and waiting_of(member, key), not member
    end
    look(key)
    local member = first_of(Q.due, key)
    if member then
        return waiting_of(member, key), false
    end
    member = first_of(Q.later, key)
    if member then
        return of_later(member, key), false
    end
    -- While keys are placed anew, a waiting job may be in neither set.
    return nil, not first_of(Q.waiting, key)
end

-- When the first job without a key is due in a fair queue, now if one is; none if there is none.
local function next_plain()
    local level, at = 0, nil
    while level < 32 do
        local from = level * LEVEL
        local first = call('ZRANGE', Q.ready, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
        if not first[1] then
            break
        end
        local score = tonumber(first[2])
        level = floor(score / LEVEL)
        local due = score - level * LEVEL
        if due <= now then
            return now
        end
        at = at and math.min(at, due) or due
        level = level + 1
    end
    return at
end

-- Takes the key out of the place where reserve looks.
local function leave_stand(key, it)
    if it.stands == 'P' then
        write('ZREM', Q.ready, it.entry .. key)
    elseif it.stands == 'G' then
        write('ZREM', Q.turns, key)
    elseif it.stands == 'T' then
        write('ZREM', Q.alarms, key)
    end
    it.stands, it.entry = '-', ''
end

local function take_stand(key, it, stands, entry)
    if it.stands ~= stands or it.entry ~= entry then
        leave_stand(key, it)
    end
    it.stands, it.entry = stands, entry
end

local function turn_now()
    clock = clock or tonumber(call('HGET', Q.meta, 'turn') or 0)
    return clock
end

-- A key that comes new, or after a long wait, joins the coming round: it is not owed turns that it
-- missed.
local function take_turn(key, it, at)
    if at > now then
        take_stand(key, it, 'T', '')
        write('ZADD', Q.alarms, alarm_at(at), key)
        return
    end
    it.turn = it.turn == 0 and turn_now() + 1 or math.max(it.turn, turn_now())
    take_stand(key, it, 'G', '')
    write('ZADD', Q.turns, it.turn, key)
end

-- Puts a key where its next job is served.
local function refresh(key)
    if key == '' and not fair then
        return
    end
    local it, waiting, none = of(key), nil, false
    if key == '' then
        local at = next_plain()
        waiting = at and { at = at }
    else
        waiting, none = next_of(key)
    end
    local later = waiting and skip and not fair and first_of(Q.later, key)
    if it.alarm and not later then
        write('ZREM', Q.alarms, key)
    end
    it.alarm = later and true or false
    if waiting and fair then
        take_turn(key, it, waiting.at)
    elseif waiting then
        take_stand(key, it, 'P', waiting.entry)
        it.score = waiting.level * LEVEL + waiting.at
        write('ZADD', Q.ready, it.score, it.entry .. key)
        if later then
            write('ZADD', Q.alarms, alarm_at(of_later(later, key).at), key)
        end
    else
        leave_stand(key, it)
    end
    it.gone = none and it.running == 0
    it.turn = it.gone and 0 or it.turn
end

local function refresh_all(keys)
    fetch(keys)
    for key in pairs(keys) do
        refresh(key)
    end
end

-- Places keys whose jobs were just stored, given the first new job of each. A job that comes after
-- others of its key changes nothing for those before it.
local function join(keys)
    fetch(keys)
    for key, first in pairs(keys) do
        local it = of(key)
        if it.gone then
            it.first = first
        end
        if skip or it.stands == '-' then
            touch(key)
        end
    end
end

-- Removes the record of the key.
local function give_up(key)
    local it = of(key)
    leave_stand(key, it)
    it.gone = true
end

-- A job of this key was leased: its next turn comes after those of all others.
local function served(key)
    local it = of(key)
    if it.turn > turn_now() then
        clock = it.turn
        call('HSET', Q.meta, 'turn', clock)
    end
    it.turn = clock + 1
end

-- Looks at the keys whose time came first, at most at this number; whether others may be left.
local function ring_alarms(most)
    local due, keys = call('ZRANGE', Q.alarms, '-inf', now, 'BYSCORE', 'LIMIT', 0, most), {}
    for _, key in ipairs(due) do
        keys[key] = true
    end
    fetch(keys)
    for _, key in ipairs(due) do
        refresh(key)
        local it = of(key)
        if it.stands ~= 'T' and not it.alarm then
            -- A broken record did not know of its alarm, which would ring again and again.
            write('ZREM', Q.alarms, key)
        end
        if sorts == 0 then
            return true
        end
    end
    return #due == most
end

return {
    of = of, fetch = fetch, store = store, join = join, give_up = give_up, first_of = first_of,
    free_leases = free_leases, most_sorts = MOST_SORTS, begin_run = begin_run, end_run = end_run,
    runs = runs, wait = wait, wait_no_more = wait_no_more, waiting_of = waiting_of,
    of_later = of_later, key_of = key_of, waiting_member = waiting_member,
    later_member = later_member, next_of = next_of, refresh = refresh, refresh_all = refresh_all,
    served = served, ring_alarms = ring_alarms,
}
