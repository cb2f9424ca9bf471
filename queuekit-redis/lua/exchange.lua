-- Ends leases, then grants others of the same queue, in one step (contract R3, R4, R5).
-- Needs lib/queue.lua, lib/job.lua, lib/lane.lua, lib/change.lua.
-- KEYS: those of the queue.
-- ARGV: 2 most jobs to lease; 3 most leases to take back; 4 most jobs to bury; 5 nonce; 6 ttl in
-- ms; 7 worker; 8 how many acks, each from 10 on: id, token (lease_seq as 12 hexadecimal digits,
-- and the nonce), result or empty (+ before the bytes of one); 9 how many nacks, each after those:
-- id, token, kind (t retry, l release, f fatal, c cancelled), delay in ms, text.
-- Result: an outcome per ack (A acked, D done before, L lost, N unknown) and per nack (r retrying,
-- x dead, b released, c cancelled, l, n), in one text; now; leases not taken back and jobs not
-- buried of those that might have been; ms to the next event, empty if there is none or that
-- many were leased; then per lease its id, state and data.
use(1)

local outcomes = {}
local at = 10

local function ack()
    local count = tonumber(ARGV[8])
    if count == 0 then
        return
    end
    local ids, seen = {}, {}
    for item = 1, count do
        ids[item] = ARGV[at + item * 3 - 3]
    end
    local states = call('HMGET', S, unpack(ids))
    local changed, left, ended, bytes, done = {}, {}, {}, 0, 0
    local ends
    for item = 1, count do
        local id, base = ids[item], at + item * 3 - 3
        local state, token, result = seen[id] or states[item], ARGV[base + 1], ARGV[base + 2]
        local outcome = 'L'
        if not state then
            outcome = call('HEXISTS', D, id) == 1 and 'L' or 'N'
        elseif sub(state, 15, 42) == token and is_state(state) then
            if sub(state, 1, 1) == 'r' then
                outcome = 'A'
                ends = (ends or tonumber(call('HGET', M, 'ends') or 0)) + 1
                local end_seq = hex12(ends)
                local size = sub(state, 111, 118)
                if result ~= '' then
                    size = format('%08x', tonumber(size, 16) + #result - 1)
                    call('HSET', O, id .. 'r', result)
                end
                bytes = bytes + tonumber(size, 16)
                local key = key_of(state)
                done = done + 1
                left[done] = sub(state, 43, 54) .. id .. key
                ended[done * 2 - 1], ended[done * 2] = now_text, end_seq .. id
                seen[id] = 'c' .. sub(state, 2, 87) .. now11 .. end_seq .. size .. sub(state, 119)
                changed[done * 2 - 1], changed[done * 2] = id, seen[id]
                if key ~= '' then
                    call('ZREM', R, key .. '\0' .. sub(state, 43, 54) .. id)
                    touched[key], stirred = true, true
                elseif fair then
                    touched[''] = true
                end
                if sub(state, 119, 119) == '1' then
                    end_unique(job_of(id, call('HGET', D, id) or '', seen[id]))
                end
            elseif sub(state, 1, 1) == 'c' then
                outcome = 'D'
            end
        end
        outcomes[item] = outcome
    end
    if done > 0 then
        call('ZREM', L, unpack(left))
        call('ZADD', C, unpack(ended))
        call('HSET', S, unpack(changed))
        call('HINCRBY', M, 'bytes_c', bytes)
        call('HINCRBY', M, 'ends', done)
        remember_ends(ends - done + 1, done, false)
    end
    at = at + count * 3
end

local function nack(id, token, kind, delay, text)
    local job = load(id)
    if not job then
        return 'n'
    end
    if job.state ~= 'r' or hex12(job.lease_seq) .. job.nonce ~= token then
        return 'l'
    end
    job.nonce = NO_NONCE
    if kind == 't' or kind == 'f' then
        add_failure(job, text)
    end
    if kind == 'f' then
        job.reason = text
        finish(job, 'x')
        return 'x'
    elseif kind == 'c' or job.cancel == '1' then
        finish(job, 'n')
        return 'c'
    elseif kind == 't' and job.attempts >= job.max then
        job.reason = text
        finish(job, 'x')
        return 'x'
    end
    leave(job)
    job.state, job.at = 'p', now + delay
    if kind == 'l' then
        job.attempts, job.releases = job.attempts - 1, job.releases + 1
    end
    enter(job)
    save(job)
    touch(job)
    stirred = true
    return kind == 'l' and 'b' or 'r'
end

ack()
for _ = 1, tonumber(ARGV[9]) do
    outcomes[#outcomes + 1] = nack(ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]),
        ARGV[at + 4])
    at = at + 5
end
for key in pairs(touched) do
    refresh(key)
end
touched = {}

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

-- A job that is met, and must not run: false if no more may be buried in this call.
local function refuse(job)
    if burials == 0 then
        return false
    end
    burials = burials - 1
    if job.corrupt then
        quarantine(job)
    else
        bury(job, 'deadline')
    end
    refresh(job.key)
    return true
end

local function is_late(deadline)
    return deadline ~= NOTHING and tonumber(deadline, 16) <= now
end

-- Leases from the front of `ready`, in windows; true if it has to begin again from the front.
local function strictly()
    local from = '-inf'
    while granted < limit do
        local window = call('ZRANGE', P, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit - granted,
            'WITHSCORES')
        if #window == 0 then
            return false
        end
        local ids, due = {}, 0
        for item = 1, #window, 2 do
            local score = tonumber(window[item + 1])
            local level = floor(score / LEVEL)
            if score - level * LEVEL > now then
                next_at = math.min(next_at or score, score - level * LEVEL)
                from = (level + 1) * LEVEL
                break
            end
            due = due + 1
            ids[due] = sub(window[item], 13, 28)
        end
        if due == #window / 2 then
            from = '-inf'
        end
        if due > 0 then
            local data, states = call('HMGET', D, unpack(ids)), call('HMGET', S, unpack(ids))
            local gone, leased, changed, plain = {}, {}, {}, 0
            local again = false
            for item = 1, due do
                local id, member = ids[item], window[item * 2 - 1]
                local text, state = data[item] or '', states[item]
                if not state and #member == 28 and not fair and sub(text, 24, 34) == NOTHING
                    and is_readable(text) then
                    local new = first_lease(text)
                    granted, plain = granted + 1, plain + 1
                    gone[plain] = member
                    leased[plain * 2 - 1], leased[plain * 2] = expires_at, member
                    changed[plain * 2 - 1], changed[plain * 2] = id, new
                    told = told + 3
                    answer[told - 2], answer[told - 1], answer[told] = id, new, text
                else
                    local job = job_of(id, text, state or nil, member)
                    if job.corrupt or is_late(job.deadline) then
                        if not refuse(job) then
                            again = 'stop'
                            break
                        end
                    else
                        lease(job)
                    end
                    -- Another job of its key may stand before the rest of the window.
                    if job.key ~= '' and lane(job.key).stands == 'P' then
                        again = true
                        break
                    end
                end
            end
            if plain > 0 then
                call('ZREM', P, unpack(gone))
                call('ZADD', L, unpack(leased))
                call('HSET', S, unpack(changed))
            end
            if again then
                return again == true
            end
        end
    end
    return false
end

-- Leases key by key in turn.
local function fairly()
    while granted < limit do
        local key = call('ZRANGE', G, 0, 0)[1]
        if not key then
            return
        end
        local id, member
        if key == '' then
            for level = 0, 31 do
                local from = level * LEVEL
                member = call('ZRANGE', P, from, from + now, 'BYSCORE', 'LIMIT', 0, 1)[1]
                if member then
                    id = sub(member, 13, 28)
                    break
                end
            end
        else
            local waiting = next_of(key)
            if waiting and waiting.at <= now then
                id, member = waiting.id, waiting.seq .. waiting.id .. key
            end
        end
        if id then
            local job = job_of(id, call('HGET', D, id) or '', call('HGET', S, id), member)
            if not (job.corrupt or is_late(job.deadline)) then
                lease(job)
            elseif not refuse(job) then
                return
            end
        else
            refresh(key)
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

if known and not paused and ARGV[7] ~= '' then
    if moving then
        -- Its keys are being placed anew: src/admin.rs goes on with it.
        answer[5] = 'moving'
    else
        if reclaims > 0 then
            reclaim()
        end
        if limit > 0 then
            ring_alarms()
            if fair then
                fairly()
            else
                while strictly() do
                    next_at = nil
                    ring_alarms()
                end
            end
        end
        if granted < limit or limit == 0 then
            answer[5] = next_event()
        end
    end
end
conclude()
-- One marker wakes one sleeper: who took all it could leaves it for the next.
if granted > 0 and granted == limit then
    wake()
end
answer[1], answer[3], answer[4] = table.concat(outcomes), reclaims, burials
return answer
