-- Takes back leases that ran out, and grants others (contract R5, R7). Needs lib/queue.lua,
-- lib/job.lua, lib/partition_key.lua, lib/change.lua, lib/plain.lua and lib/payload.lua.
-- ARGV: 1 to 8 as in exchange.lua.
local limit, reclaims, dead_letters = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local nonce, expires_at, worker = ARGV[4], format('%.0f', now + ARGV[5]), ARGV[6]
local answer, granted, next_at = {}, 0, nil
-- The bytes of the leases, and whether a job did not fit.
local bytes, most_bytes, full = tonumber(ARGV[7]), tonumber(ARGV[8]), false
-- How many jobs are read at once, because their data may be large; and after how many bytes of it
-- the other jobs are left to the next call.
local PART, ENOUGH_BYTES = 16, 16 * 1024 * 1024
-- How many jobs are taken back at once.
local BACK_AT_ONCE = 8
-- The jobs of the first window. If all of them are leased, those behind are likely to be as plain.
local FIRST_WINDOW = 4
-- How many keys whose time has come one call looks at, if it may not lease more jobs than that.
local RINGS = 200

-- Takes back leases that ran out, earliest first.
local function reclaim()
    local members = call('ZRANGE', Q.leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, reclaims)
    reclaims = reclaims - #members
    if #members == 0 then
        return
    end
    local ids = {}
    for item, member in ipairs(members) do
        ids[item] = sub(member, ENTRY.id)
    end
    local states, data, last = call('HMGET', Q.state, unpack(ids)), {}, 0
    for item, member in ipairs(members) do
        if item > last then
            if Job.has_loaded_enough() then
                break
            end
            data, last = {}, math.min(last + BACK_AT_ONCE, #ids)
            for at, text in ipairs(call('HMGET', Q.data, unpack(ids, item, last))) do
                data[item + at - 1] = text or ''
                Job.count(text or '')
            end
        end
        local job = Job.job_of(ids[item], data[item], states[item], member)
        job.state = 'r'
        local dies = job.corrupt or (job.attempts >= job.max and job.cancel ~= '1')
        if not dies or dead_letters > 0 then
            dead_letters = dead_letters - (dies and 1 or 0)
            if job.corrupt then
                Change.quarantine(job)
            else
                Change.expire(job)
            end
        end
    end
    refresh_touched()
end

-- Whether keys whose time has come, or jobs, are left to the next call.
local behind = false

-- How many bytes of jobs that wait this call has read.
local read = 0

-- Whether the call has read enough. Jobs that are taken out count too.
local function has_read_enough()
    if read > ENOUGH_BYTES then
        behind = true
        return true
    end
end

-- The data of these jobs, from one place to another; nothing if the call has read enough.
local function data_of(ids, from, to)
    if has_read_enough() then
        return nil
    end
    local data = call('HMGET', Q.data, unpack(ids, from, to))
    for item = 1, to - from + 1 do
        read = read + #(data[item] or '')
    end
    return data
end

-- The data and the state of one job; nothing if the call has read enough.
local function records_of(id)
    if has_read_enough() then
        return nil
    end
    local data = call('HGET', Q.data, id) or ''
    read = read + #data
    return data, call('HGET', Q.state, id)
end

-- Counts the bytes of a job to be leased; false if it does not fit. The first fits whatever its
-- size.
local function fits(data)
    local size = #data
    if KEYS[QUEUE.next] and sub(data, DATA.flag) == '2' then
        size = size + Payload.length(data)
    end
    full = bytes > 0 and bytes + size > most_bytes
    bytes = full and bytes or bytes + size
    return not full
end

-- The job has been leased.
local function grant(id, state, data, key)
    granted = granted + 1
    local told = 7 + granted * 3
    answer[told - 2], answer[told - 1], answer[told] = id, state, data
    if fair then
        PartitionKey.served(key)
    end
    if fair or key ~= '' then
        PartitionKey.refresh(key)
    end
end

-- Leases a job that was never leased, which is the usual case, by its data alone.
local function lease_first(member, id, key, data)
    if key == '' then
        write('ZREM', Q.ready, member)
        if fair then
            local at, level = sub(data, DATA.scheduled), sub(data, DATA.level)
            write('ZREM', Q.waiting, PartitionKey.waiting_member('', member, at, level))
        end
    else
        local entry = sub(member, ENTRY.head)
        PartitionKey.wait_no_more(key, entry, sub(data, DATA.scheduled), sub(data, DATA.level))
        PartitionKey.begin_run(key, entry)
    end
    write('ZADD', Q.leased, expires_at, member)
    local state = STATE.write({
        state = 'r', cancel = '0', attempts = STATE.attempts.one, releases = STATE.releases.zero,
        lease_seq = STATE.lease_seq.one, nonce = nonce, timing = sub(data, DATA.timing),
        started = now_hex, finished = NO_TIME, end_seq = STATE.end_seq.zero,
        size = '0' .. sub(data, DATA.payload), key = sub(data, DATA.key),
        has_unique = (sub(data, DATA.unique) == DATA.unique.zero and '0' or '1'),
    }) .. key .. worker .. '\0'
    write('HSET', Q.state, id, state)
    grant(id, state, data, key)
end

local function lease(job)
    Change.leave(job)
    job.state, job.attempts, job.lease_seq = 'r', job.attempts + 1, job.lease_seq + 1
    job.nonce, job.started, job.worker = nonce, now_hex, worker
    Change.enter(job, expires_at)
    grant(job.id, Job.save(job), job.data, job.key)
end

local function is_late(deadline)
    return deadline ~= NO_TIME and tonumber(deadline, 16) <= now
end

-- Removes from the serving order the entry of a job that does not wait.
local function strike(member, level, at)
    call('ZREM', Q.ready, member)
    Change.leave({
        state = 'p', attempts = 1, level = level, at = at, seq = sub(member, ENTRY.seq),
        id = sub(member, ENTRY.id), key = sub(member, ENTRY.rest),
    })
end

-- By id, the jobs that this call has met: their records were read before.
local met = {}

-- Jobs that came into `ready` since it was read, in order: the next jobs of keys.
local newcomers = {}

local function is_before(newcomer, score, member)
    return newcomer.score < score or (newcomer.score == score and newcomer.member < member)
end

-- A key was refreshed: its next job may come before those still to be leased.
local function join(key)
    local it = PartitionKey.of(key)
    if not (it.stands == 'P' and it.score) then
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

-- Redis keeps a small sorted set as a list, in which it looks for each member from the front. A
-- member of more than 64 bytes makes the set an index, which it stays until it is empty.
local LONG_MEMBER, MANY = '-----------------------------------------------------------------', 16
local is_indexed = false

-- Called with the number of jobs that are to be leased together.
local function index_leases(count)
    if count >= MANY and not is_indexed then
        is_indexed = true
        write('ZADD', Q.leased, '+inf', LONG_MEMBER)
    end
end

-- Whether a job can be leased by its data alone; the data has its key too.
local function is_first(data, state, key)
    return not state and sub(data, DATA.deadline) == NO_TIME and Job.is_readable(data)
        and hex(data, DATA.key) == #key
        and (key == '' or sub(data, DATA.rest, DATA.head.to + #key) == key)
end

-- Takes out a job that must not run, or does not wait.
local function take_out(job, member, level, at)
    dead_letters = dead_letters - 1
    if job.state ~= 'p' then
        strike(member, level, at)
    elseif job.corrupt then
        Change.quarantine(job)
    else
        Change.dead_letter(job, 'deadline', '1 deadline')
    end
    PartitionKey.refresh(sub(member, ENTRY.rest))
end

-- Leases the job of a member of `ready`, or takes it out; false if no more may be leased or taken
-- out in this call.
local function meet(member, score, data, state)
    local id, key = sub(member, ENTRY.id), sub(member, ENTRY.rest)
    met[id] = true
    if is_first(data or '', state, key) then
        if not fits(data) then
            return false
        end
        lease_first(member, id, key, data)
    else
        local job = Job.job_of(id, data or '', state or nil, member)
        if job.state == 'p' and not job.corrupt and not is_late(job.deadline) then
            if not fits(job.data) then
                return false
            end
            lease(job)
        elseif dead_letters == 0 then
            return false
        else
            take_out(job, member, floor(score / LEVEL), score % LEVEL)
        end
    end
    if key ~= '' and not fair then
        join(key)
    end
    return true
end

-- Leases the newcomers before a place; false as of `meet`.
local function meet_newcomers(score, member)
    while newcomers[1] and granted < limit and is_before(newcomers[1], score, member) do
        local it = table.remove(newcomers, 1)
        local data, state = records_of(sub(it.member, ENTRY.id))
        if not data or not meet(it.member, it.score, data, state) then
            return false
        end
    end
    return true
end

-- Leases the first jobs of a window of `ready`, those with these ids, and the newcomers among them
-- and up to a score; false as of `meet`.
local function walk(window, ids, keys, up_to)
    local data, states = {}, {}
    if #ids > 0 then
        states = call('HMGET', Q.state, unpack(ids))
    end
    if next(keys) then
        PartitionKey.fetch(keys)
    end
    index_leases(#ids)
    local goes_on = true
    local before, last = 0, 0
    for item, id in ipairs(ids) do
        if item > last then
            before, last = last, math.min(last + PART, #ids)
            data = data_of(ids, item, last)
            if not data then
                return false
            end
        end
        local member, score = window[item * 2 - 1], tonumber(window[item * 2])
        if newcomers[1] then
            goes_on = meet_newcomers(score, member)
        end
        if not goes_on or granted == limit then
            break
        end
        if not met[id] then
            goes_on = meet(member, score, data[item - before], states[item])
        end
    end
    goes_on = goes_on and meet_newcomers(up_to, '')
    -- The other newcomers come after the window, and are read with a later one.
    newcomers = {}
    return goes_on
end

-- The most keys without a due job that one window looks at again.
local LOOKS = 20

-- Under skip, after the clock went back, a key's placed job may wait again though other jobs of the
-- key are due.
local function look_again(window, first)
    for item = first, math.min(#window / 2, first + LOOKS - 1) do
        local key = sub(window[item * 2 - 1], ENTRY.rest)
        if key ~= '' and PartitionKey.first_of(Q.due, key) then
            PartitionKey.refresh(key)
            join(key)
        end
    end
end

-- Leases from the front of `ready`, in windows.
local function strictly()
    local from, most, level = -1, FIRST_WINDOW, 0
    while granted < limit do
        local window = call('ZRANGE', Q.ready, from, '+inf', 'BYSCORE', 'LIMIT', 0,
            math.min(most, limit - granted), 'WITHSCORES')
        if #window == 0 then
            return
        end
        local ids, keys, up_to = {}, {}, -1
        for item = 1, #window, 2 do
            local score = tonumber(window[item + 1])
            level = floor(score / LEVEL)
            if score - level * LEVEL > now then
                next_at = math.min(next_at or score, score - level * LEVEL)
                up_to = (level + 1) * LEVEL
                break
            end
            ids[#ids + 1] = sub(window[item], ENTRY.id)
            if #window[item] > ENTRY.head.to then
                keys[sub(window[item], ENTRY.rest)] = true
            end
        end
        from = up_to
        if up_to > 0 and skip then
            look_again(window, #ids + 1)
        end
        if not walk(window, ids, keys, up_to) then
            return
        end
        if granted == FIRST_WINDOW and up_to < 0 and not next(keys) then
            granted = Plain.lease(level, limit, granted, {
                answer = answer, met = met, part = PART, data_of = data_of, fits = fits,
                index_leases = index_leases, expires_at = expires_at, nonce = nonce,
                worker = worker,
            })
        end
        most = limit
    end
end

-- The next job of a key whose turn it is; none if none is due.
local function due_of(key)
    if key ~= '' then
        local waiting = PartitionKey.next_of(key)
        if waiting and waiting.at <= now then
            return { member = waiting.entry .. key, score = waiting.level * LEVEL + waiting.at }
        end
        return nil
    end
    for level = 0, 31 do
        local from = level * LEVEL
        local first = call('ZRANGE', Q.ready, from, from + now, 'BYSCORE', 'LIMIT', 0, 1,
            'WITHSCORES')
        if first[1] then
            return { member = first[1], score = tonumber(first[2]) }
        end
    end
end

-- Leases a job of the key whose turn it is, given its next one; false as of `meet`.
local function serve_key(it, data, state)
    local before = granted
    while data and meet(it.member, it.score, data, state) do
        it = granted == before and due_of(sub(it.member, ENTRY.rest))
        if not it then
            return true
        end
        data, state = records_of(sub(it.member, ENTRY.id))
    end
    return false
end

-- Leases a job of each of these keys: if one is taken out, its key still has its turn. False as of
-- `meet`.
local function serve(keys)
    local ids, found, of_round = {}, {}, {}
    for _, key in ipairs(keys) do
        of_round[key] = true
    end
    PartitionKey.fetch(of_round)
    for _, key in ipairs(keys) do
        local it = due_of(key)
        if it then
            found[#found + 1] = it
            ids[#ids + 1] = sub(it.member, ENTRY.id)
        else
            PartitionKey.refresh(key)
        end
    end
    if #ids == 0 then
        return true
    end
    index_leases(#ids)
    local data, states = data_of(ids, 1, #ids), call('HMGET', Q.state, unpack(ids))
    for item, it in ipairs(found) do
        if not data or not serve_key(it, data[item] or '', states[item]) then
            return false
        end
    end
    return true
end

-- Leases key by key in turn. A key that was served has its next turn after the whole round.
local function fairly()
    while granted < limit do
        local turn = call('ZRANGE', Q.turns, 0, 0, 'WITHSCORES')[2]
        if not turn then
            return
        end
        local most = math.min(PART, limit - granted)
        local keys = call('ZRANGE', Q.turns, turn, turn, 'BYSCORE', 'LIMIT', 0, most)
        if not serve(keys) then
            return
        end
    end
end

-- When the next job is due or the next lease runs out.
local function next_event()
    local first = call('ZRANGE', Q.leased, 0, 0, 'WITHSCORES')
    local at = first[2] and tonumber(first[2])
    local function sooner(time)
        at = time and math.min(at or time, time) or at
    end
    sooner(next_at)
    if fair and call('ZCARD', Q.turns) > 0 then
        sooner(now)
    end
    if fair or skip then
        first = call('ZRANGE', Q.alarms, 0, 0, 'WITHSCORES')
        sooner(first[2] and tonumber(first[2]))
    end
    return at and format('%.0f', math.max(at - now, 0)) or ''
end

-- Completes an answer that exchange.lua has begun.
local function reserve(begun)
    answer = begun
    if reclaims > 0 then
        reclaim()
    end
    if limit > 0 then
        if fair or skip then
            behind = PartitionKey.ring_alarms(math.max(limit, RINGS))
        end
        if fair then
            fairly()
        else
            strictly()
        end
    end
    if is_indexed then
        call('ZREM', Q.leased, LONG_MEMBER)
    end
    if (granted < limit and not full) or limit == 0 then
        answer[5] = behind and 'more' or next_event()
        stirred = stirred or behind
    else
        -- One marker wakes one sleeper: a call that leased all that it may sets it again.
        stirred = true
    end
    answer[3], answer[4] = reclaims, dead_letters
    answer[6], answer[7] = format('%.0f', bytes), full and 1 or 0
end

return { reserve = reserve }
