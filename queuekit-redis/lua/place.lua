-- One step of placing all waiting jobs of a queue anew, after a change of its order or of the rules
-- for its keys. Reserve does nothing in the queue until all steps are done. Needs lib/queue.lua,
-- lib/partition_key.lua, lib/rank.lua.
-- KEYS: those of the queue.
-- ARGV: 1 most jobs or keys to look at.
-- Result: 1 if there is more to do.
--
-- `moving` of the settings has the progress: p and a member, while placing jobs without a key,
-- which are in `waiting` in fair queues only; s and a member, while finding which jobs are due, for
-- skip; k and a key, while placing keys.
use(1)
if not moving then
    return 0
end

local most = tonumber(ARGV[1])
local phase, cursor = sub(moving, TAGGED.tag), sub(moving, TAGGED.rest)

local function go_on(next_phase, at)
    call('HSET', Q.meta, 'moving', next_phase .. at)
    return 1
end

local function plain()
    if not fair then
        local members = call('ZRANGE', Q.waiting, '[\0', '(\1', 'BYLEX', 'LIMIT', 0, most)
        if #members > 0 then
            call('ZREM', Q.waiting, unpack(members))
            return go_on('p', '')
        end
        PartitionKey.give_up('')
        return go_on('s', '')
    end
    local from = 0
    if cursor ~= '' then
        from = Rank.after(Q.ready, tonumber(sub(cursor, SCORED.score)), sub(cursor, SCORED.rest))
    end
    local members = call('ZRANGE', Q.ready, from, from + most - 1, 'WITHSCORES')
    local waiting = {}
    for item = 1, #members, 2 do
        if #members[item] == ENTRY.head.to then
            local score = tonumber(members[item + 1])
            local level = floor(score / LEVEL)
            waiting[#waiting + 1] = 0
            waiting[#waiting + 1] = PartitionKey.waiting_member('', members[item],
                time_hex(score - level * LEVEL), format(WAITING.level.hex, level))
        end
    end
    if #waiting > 0 then
        call('ZADD', Q.waiting, unpack(waiting))
    end
    if #members == most * 2 then
        local score = format(SCORED.score.decimal, tonumber(members[#members]))
        return go_on('p', score .. members[#members - 1])
    end
    PartitionKey.refresh('')
    return go_on('s', '')
end

local function due()
    if not skip then
        call('UNLINK', Q.due, Q.later)
        return go_on('k', '')
    end
    local from = cursor == '' and '[\1' or '(' .. cursor
    local members = call('ZRANGE', Q.waiting, from, '+', 'BYLEX', 'LIMIT', 0, most)
    for _, member in ipairs(members) do
        local key = PartitionKey.key_of(member)
        local waiting = PartitionKey.waiting_of(member, key)
        local at, level = time_hex(waiting.at), format(WAITING.level.hex, waiting.level)
        local later = PartitionKey.later_member(key, waiting.entry, at, level)
        call('ZREM', Q.later, later)
        call('ZREM', Q.due, member)
        if waiting.at <= now then
            call('ZADD', Q.due, 0, member)
        else
            call('ZADD', Q.later, 0, later)
        end
    end
    if #members == most then
        return go_on('s', members[#members])
    end
    return go_on('k', '')
end

local function keys()
    for _ = 1, most do
        local member = call('ZRANGE', Q.waiting, '(' .. cursor .. '\1', '+', 'BYLEX', 'LIMIT', 0,
            1)[1]
        if not member then
            call('HDEL', Q.meta, 'moving')
            stirred = true
            return 0
        end
        cursor = PartitionKey.key_of(member)
        PartitionKey.refresh(cursor)
    end
    return go_on('k', cursor)
end

local answer
if phase == 'p' then
    answer = plain()
elseif phase == 's' then
    answer = due()
else
    answer = keys()
end
conclude()
return answer
