-- Takes back leases that ran out, and grants others (contract R5, R7). Needs lib/change.lua.
-- ARGV: 2 to 7 as exchange.lua has them.
local limit, reclaims, burials = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local nonce, expires_at, worker = ARGV[5], format('%.0f', now + ARGV[6]), ARGV[7]
local answer = { '', now13, 0, 0, '' }
local granted, told, next_at = 0, #answer, nil

-- Takes back leases that ran out, earliest first.
local function reclaim()
    local members = call('ZRANGE', L, '-inf', now, 'BYSCORE', 'LIMIT', 0, reclaims)
    reclaims = reclaims - #members
    for _, member in ipairs(members) do
        local id = sub(member, 13, 28)
        local job = job_of(id, call('HGET', D, id) or '', call('HGET', S, id), member)
        job.state = 'r'
        local dies = job.corrupt or (job.attempts >= job.max and job.cancel ~= '1')
        if not dies or burials > 0 then
            burials = burials - (dies and 1 or 0)
            if job.corrupt then
                quarantine(job)
            else
                expire(job)
            end
        end
    end
    for key in pairs(touched) do
        refresh(key)
    end
    touched = {}
end

-- Leases a job without a key that was never leased: the usual one.
local function first_lease(data)
    return 'r00001' .. '00000000' .. '000000000001' .. nonce .. sub(data, 1, 34) .. now11
        .. NOTHING .. '0000000000000' .. sub(data, 59, 65)
        .. (sub(data, 56, 58) == '000' and '0000' or '1000') .. worker .. '\0'
end

local function lease(job)
    leave(job)
    job.state, job.attempts, job.lease_seq = 'r', job.attempts + 1, job.lease_seq + 1
    job.nonce, job.started, job.worker = nonce, now11, worker
    enter(job, expires_at)
    granted = granted + 1
    told = told + 3
    answer[told - 2], answer[told - 1], answer[told] = job.id, save(job), job.data
    if fair then
        served(job.key)
    end
    if fair or job.key ~= '' then
        refresh(job.key)
    end
end

local function is_late(deadline)
    return deadline ~= NOTHING and tonumber(deadline, 16) <= now
end

-- Takes away what stands in the order of a job that does not wait.
local function strike(member, level, at)
    call('ZREM', P, member)
    leave({
        state = 'p', attempts = 1, level = level, at = at, seq = sub(member, 1, 12),
        id = sub(member, 13, 28), key = sub(member, 29),
    })
end

-- By id, what this call has met: its record was read before.
local met = {}

-- Leases the job of a member of `ready`, or takes it out if it must not run; false if no more may
-- be taken out in this call.
local function meet(member, level, at, data, state)
    local job = job_of(sub(member, 13, 28), data or '', state or nil, member)
    met[job.id] = true
    if job.state == 'p' and not job.corrupt and not is_late(job.deadline) then
        lease(job)
        return true
    elseif burials == 0 then
        return false
    end
    burials = burials - 1
    if job.state ~= 'p' then
        strike(member, level, at)
    elseif job.corrupt then
        quarantine(job)
    else
        bury(job, 'deadline')
    end
    refresh(sub(member, 29))
    return true
end

-- What came to stand in `ready` since it was read, in order: the next jobs of keys.
local newcomers = {}

local function is_before(newcomer, score, member)
    return newcomer.score < score or (newcomer.score == score and newcomer.member < member)
end

-- A key was refreshed: its next job may stand before what is still to be leased.
local function join(key)
    local it = key ~= '' and lane(key)
    if not (it and it.stands == 'P' and it.score) then
        return
    end
    local at = it.score % LEVEL
    if at > now then
        next_at = math.min(next_at or at, at)
        return
    end
    local place, member = #newcomers + 1, it.entry .. key
    while place > 1 and not is_before(newcomers[place - 1], it.score, member) do
        place = place - 1
    end
    table.insert(newcomers, place, { score = it.score, member = member })
end

-- Leases the newcomers before a place; false if no more may be taken out in this call.
local function meet_newcomers(score, member)
    while newcomers[1] and granted < limit and is_before(newcomers[1], score, member) do
        local it = table.remove(newcomers, 1)
        local id, level = sub(it.member, 13, 28), floor(it.score / LEVEL)
        local data, state = call('HGET', D, id), call('HGET', S, id)
        if not meet(it.member, level, it.score % LEVEL, data, state) then
            return false
        end
        join(sub(it.member, 29))
    end
    return true
end

-- Leases the first jobs of a window of `ready`, those with these ids, and the newcomers among them
-- and up to a score; false if no more may be taken out in this call.
local function walk(window, ids, up_to)
    local data, states = {}, {}
    if #ids > 0 then
        data, states = call('HMGET', D, unpack(ids)), call('HMGET', S, unpack(ids))
    end
    local gone, leased, changed, plain, goes_on = {}, {}, {}, 0, true
    for item, id in ipairs(ids) do
        local member = window[item * 2 - 1]
        if newcomers[1] and goes_on then
            goes_on = meet_newcomers(tonumber(window[item * 2]), member)
        end
        if not goes_on or granted == limit then
            break
        end
        local text, state = data[item] or '', states[item]
        if not state and #member == 28 and sub(text, 24, 34) == NOTHING and is_readable(text) then
            local new = first_lease(text)
            granted, plain = granted + 1, plain + 1
            gone[plain] = member
            leased[plain * 2 - 1], leased[plain * 2] = expires_at, member
            changed[plain * 2 - 1], changed[plain * 2] = id, new
            told = told + 3
            answer[told - 2], answer[told - 1], answer[told] = id, new, text
        elseif not met[id] then
            local score = tonumber(window[item * 2])
            goes_on = meet(member, floor(score / LEVEL), score % LEVEL, text, state)
            join(sub(member, 29))
        end
    end
    if plain > 0 then
        call('ZREM', P, unpack(gone))
        call('ZADD', L, unpack(leased))
        call('HSET', S, unpack(changed))
    end
    goes_on = goes_on and meet_newcomers(up_to, '')
    -- The others stand behind: they are read from there.
    newcomers = {}
    return goes_on
end

-- Keys whose job is not due that one window has looked at again, at most.
local LOOKS = 20

-- Under skip a clock that went back lets a job wait again though its key has others that are due.
local function look_again(window, first)
    for item = first, math.min(#window / 2, first + LOOKS - 1) do
        local key = sub(window[item * 2 - 1], 29)
        if key ~= '' and first_of(KD, key) then
            refresh(key)
            join(key)
        end
    end
end

-- Leases from the front of `ready`, in windows.
local function strictly()
    local from = -1
    while granted < limit do
        local window = call('ZRANGE', P, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit - granted,
            'WITHSCORES')
        if #window == 0 then
            return
        end
        local ids, up_to = {}, -1
        for item = 1, #window, 2 do
            local score = tonumber(window[item + 1])
            local level = floor(score / LEVEL)
            if score - level * LEVEL > now then
                next_at = math.min(next_at or score, score - level * LEVEL)
                up_to = (level + 1) * LEVEL
                break
            end
            ids[#ids + 1] = sub(window[item], 13, 28)
        end
        from = up_to
        if up_to > 0 and skip then
            look_again(window, #ids + 1)
        end
        if not walk(window, ids, up_to) then
            return
        end
    end
end

-- Leases key by key in turn.
local function fairly()
    while granted < limit do
        local key = call('ZRANGE', G, 0, 0)[1]
        if not key then
            return
        end
        local member, level, at
        if key == '' then
            for plain_level = 0, 31 do
                local from = plain_level * LEVEL
                local first = call('ZRANGE', P, from, from + now, 'BYSCORE', 'LIMIT', 0, 1,
                    'WITHSCORES')
                if first[1] then
                    member, level, at = first[1], plain_level, first[2] - from
                    break
                end
            end
        else
            local waiting = next_of(key)
            if waiting and waiting.at <= now then
                member, level, at = waiting.seq .. waiting.id .. key, waiting.level, waiting.at
            end
        end
        local id = member and sub(member, 13, 28)
        if not id then
            refresh(key)
        elseif not meet(member, level, at, call('HGET', D, id), call('HGET', S, id)) then
            return
        end
        ring_alarms()
    end
end

-- When the next job is due or the next lease runs out.
local function next_event()
    local first = call('ZRANGE', L, 0, 0, 'WITHSCORES')
    local at = first[2] and tonumber(first[2])
    local function sooner(time)
        at = time and math.min(at or time, time) or at
    end
    sooner(next_at)
    if call('ZCARD', G) > 0 then
        sooner(now)
    end
    first = call('ZRANGE', T, 0, 0, 'WITHSCORES')
    sooner(first[2] and tonumber(first[2]))
    return at and format('%.0f', math.max(at - now, 0)) or ''
end
