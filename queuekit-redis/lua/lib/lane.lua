-- Partition keys (contract R7.3, R7.4). Needs lib/queue.lua.
--
-- Of each key one job at most stands where reserve looks: the next one to lease. In a strict queue
-- that is `ready`; in a fair one the key itself stands in `turns`, or in `alarms` until its next
-- job is due. The empty key is the jobs without one, which have a lane in fair queues only.
-- The record of a lane: 1-13 its turn; 14 whether it has an alarm; 15 where it stands (P ready, G
-- turns, T alarms, - nowhere); 16- in ready: the sequence and id of its job.
-- Members of `waiting` are key NUL sequence id scheduled level; of `due` likewise; of `later` key
-- NUL scheduled sequence id level; of `held` and `running` key NUL sequence id.
local lanes = {}

local function lane(key)
    local it = lanes[key]
    if not it then
        local text = call('HGET', K, key)
        it = { turn = 0, alarm = false, stands = '-', entry = '' }
        if text then
            it.turn, it.alarm = tonumber(sub(text, 1, 13)), sub(text, 14, 14) == '1'
            it.stands, it.entry = sub(text, 15, 15), sub(text, 16)
        end
        lanes[key] = it
    end
    return it
end

local function first_of(set, key)
    return call('ZRANGE', set, '[' .. key .. '\0', '(' .. key .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
end

local function count_of(set, key)
    return call('ZLEXCOUNT', set, '[' .. key .. '\0', '(' .. key .. '\1')
end

-- How many more leases the key may have now.
local function free_leases(key)
    if hold and first_of(H, key) then
        return 0
    end
    return per_key - count_of(R, key)
end

-- Of a member of `waiting` or `due`.
local function waiting_of(member, key)
    local from = #key + 2
    return {
        seq = sub(member, from, from + 11), id = sub(member, from + 12, from + 27),
        at = tonumber(sub(member, from + 28, from + 40)),
        level = tonumber(sub(member, from + 41, from + 42), 16),
    }
end

local function later_member(key, waiting)
    return key .. '\0' .. ms13(waiting.at) .. waiting.seq .. waiting.id
        .. format('%02x', waiting.level)
end

local function waiting_member(key, waiting)
    return key .. '\0' .. waiting.seq .. waiting.id .. ms13(waiting.at)
        .. format('%02x', waiting.level)
end

local function of_later(member, key)
    local from = #key + 2
    return {
        at = tonumber(sub(member, from, from + 12)), seq = sub(member, from + 13, from + 24),
        id = sub(member, from + 25, from + 40), level = tonumber(sub(member, from + 41), 16),
    }
end

-- Under skip: sorts the first waiting jobs of a key by whether their time has come.
local function look(key)
    local member = first_of(KL, key)
    while member do
        local waiting = of_later(member, key)
        if waiting.at > now then
            break
        end
        call('ZREM', KL, member)
        call('ZADD', KD, 0, waiting_member(key, waiting))
        member = first_of(KL, key)
    end
    member = first_of(KD, key)
    while member do
        local waiting = waiting_of(member, key)
        if waiting.at <= now then
            break
        end
        -- The clock went back.
        call('ZREM', KD, member)
        call('ZADD', KL, 0, later_member(key, waiting))
        member = first_of(KD, key)
    end
end

-- The next job of a key to lease, now or at its time; none while it lets no lease start.
local function next_of(key)
    if free_leases(key) <= 0 then
        return nil
    end
    if not skip then
        local member = first_of(KW, key)
        return member and waiting_of(member, key)
    end
    look(key)
    local member = first_of(KD, key)
    if member then
        return waiting_of(member, key)
    end
    member = first_of(KL, key)
    return member and of_later(member, key)
end

-- When the first job without a key is due in a fair queue, now if one is; none if there is none.
local function next_plain()
    local level, at = 0, nil
    while level < 32 do
        local from = level * LEVEL
        local first = call('ZRANGE', P, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
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

local function leave_stand(key, it)
    if it.stands == 'P' then
        call('ZREM', P, it.entry .. key)
    elseif it.stands == 'G' then
        call('ZREM', G, key)
    elseif it.stands == 'T' then
        call('ZREM', T, key)
    end
    it.stands, it.entry = '-', ''
end

-- A newcomer joins the coming round; who waited long is not owed what it missed.
local function take_turn(key, it, at)
    if at > now then
        call('ZADD', T, at, key)
        it.stands = 'T'
        return
    end
    local clock = tonumber(call('HGET', M, 'turn') or 0)
    it.turn = it.turn == 0 and clock + 1 or math.max(it.turn, clock)
    call('ZADD', G, it.turn, key)
    it.stands = 'G'
end

-- Puts a key where its next job is served.
local function refresh(key)
    if key == '' and not fair then
        return
    end
    local it = lane(key)
    if it.alarm then
        call('ZREM', T, key)
        it.alarm = false
    end
    local waiting
    if key == '' then
        local at = next_plain()
        waiting = at and { at = at }
    else
        waiting = next_of(key)
    end
    local entry = waiting and not fair and waiting.seq .. waiting.id
    if not (it.stands == 'P' and it.entry == entry) then
        leave_stand(key, it)
    end
    if waiting and fair then
        take_turn(key, it, waiting.at)
    elseif waiting then
        it.stands, it.entry, it.score = 'P', entry, waiting.level * LEVEL + waiting.at
        call('ZADD', P, it.score, it.entry .. key)
        local later = skip and first_of(KL, key)
        if later then
            call('ZADD', T, of_later(later, key).at, key)
            it.alarm = true
        end
    elseif key ~= '' and not (first_of(KW, key) or first_of(R, key) or first_of(H, key)) then
        call('HDEL', K, key)
        lanes[key] = nil
        return
    end
    call('HSET', K, key, ms13(it.turn) .. (it.alarm and '1' or '0') .. it.stands .. it.entry)
end

-- A job of this key was leased: its next turn comes after everybody else's.
local function served(key)
    local it = lane(key)
    local clock = math.max(tonumber(call('HGET', M, 'turn') or 0), it.turn)
    call('HSET', M, 'turn', clock)
    it.turn = clock + 1
end

-- Looks at the keys whose time has come.
local function ring_alarms()
    local due = call('ZRANGE', T, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
    while due do
        refresh(due)
        due = call('ZRANGE', T, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
    end
end
