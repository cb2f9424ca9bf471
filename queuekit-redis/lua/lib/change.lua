-- Takes jobs from one state to another, with everything that is derived of them. Needs lib/job.lua
-- and lib/lane.lua. The caller refreshes the lanes of `touched` in the end.
local touched = {}

local function set_of(state)
    return state == 'c' and C or state == 'x' and X or N
end

local function place_of(job)
    return format('%02x', job.level) .. ms13(job.at) .. job.seq .. job.id
end

-- What a broken record no longer tells of a waiting job stands in `waiting`.
local function mend(job)
    local prefix = job.key .. '\0' .. job.seq .. job.id
    local to = '[' .. prefix .. ':'
    local member = call('ZRANGE', KW, '[' .. prefix, to, 'BYLEX', 'LIMIT', 0, 1)[1]
    if member then
        local waiting = waiting_of(member, job.key)
        job.at, job.level = waiting.at, waiting.level
    end
end

-- While keys are placed anew some still stand as the settings were before.
local function leave(job)
    local state, key = job.state, job.key
    if state == 'p' then
        if job.formless then
            mend(job)
        end
        local waiting = waiting_member(key, job)
        if key == '' then
            call('ZREM', P, job.seq .. job.id)
            if job.attempts > 0 or job.formless then
                call('ZREM', F, job.id)
            end
            if fair or moving then
                call('ZREM', KW, waiting)
            end
        else
            call('ZREM', KW, waiting)
            call('ZREM', KO, place_of(job))
            if (skip or moving) and call('ZREM', KD, waiting) == 0 then
                call('ZREM', KL, later_member(key, job))
            end
        end
    elseif state == 'r' then
        call('ZREM', L, job.seq .. job.id .. key)
        if key ~= '' then
            call('ZREM', R, key .. '\0' .. job.seq .. job.id)
        end
    else
        call('ZREM', set_of(state), job.end_seq .. job.id)
        call('HINCRBY', M, 'bytes_' .. state, 0 - job.size)
        if key ~= '' and state == 'x' then
            call('ZREM', H, key .. '\0' .. job.seq .. job.id)
        end
    end
end

-- Under hold a dead head keeps its key: no waiting and no running job of it stands before.
local function hold_key(job)
    local function before(set)
        local first = first_of(set, job.key)
        return first and sub(first, #job.key + 2, #job.key + 13) < job.seq
    end
    if hold and not before(KW) and not before(R) then
        call('ZADD', H, 0, job.key .. '\0' .. job.seq .. job.id)
    end
end

local function enter(job, expires_at)
    local state, key = job.state, job.key
    if state == 'p' then
        local waiting = waiting_member(key, job)
        if key == '' then
            call('ZADD', P, job.level * LEVEL + job.at, job.seq .. job.id)
            if job.attempts > 0 then
                call('ZADD', F, job.at, job.id)
            end
            if fair then
                call('ZADD', KW, 0, waiting)
            end
        else
            call('ZADD', KW, 0, waiting)
            call('ZADD', KO, 0, place_of(job))
            if skip and job.at <= now then
                call('ZADD', KD, 0, waiting)
            elseif skip then
                call('ZADD', KL, 0, later_member(key, job))
            end
        end
    elseif state == 'r' then
        call('ZADD', L, expires_at, job.seq .. job.id .. key)
        if key ~= '' then
            call('ZADD', R, 0, key .. '\0' .. job.seq .. job.id)
        end
    else
        call('ZADD', set_of(state), now_text, job.end_seq .. job.id)
        call('HINCRBY', M, 'bytes_' .. state, job.size)
        if key ~= '' and state == 'x' then
            hold_key(job)
        end
    end
end

-- Remembers whether each of the last 1,000 ended jobs died. Nothing is written while none did.
local function remember_ends(first, count, died)
    if not died and (call('HGET', M, 'ends_dead') or '0') == '0' then
        return
    end
    for n = first, first + count - 1 do
        local was = call('SETBIT', E, n % 1000, died and 1 or 0)
        local change = (died and 1 or 0) - was
        if change ~= 0 then
            call('HINCRBY', M, 'ends_dead', change)
        end
    end
end

-- The record of an idempotency key: the id of its holder; then, once that has ended, when the key
-- becomes free, 13 digits; then, once retention has removed it, P.

-- What the end of a job means for its idempotency key (contract R2.5).
local function end_unique(job)
    if call('HGET', U, job.unique) ~= job.id then
        return
    end
    if job.until_done then
        call('HDEL', U, job.unique)
    else
        call('HSET', U, job.unique, job.id .. ms13(now + dedup))
        call('ZADD', UF, now + dedup, job.unique)
    end
end

-- The job that holds an idempotency key now: one whose record was broken could not give it back.
-- `fresh` are jobs that are not stored yet.
local function holder(unique, fresh)
    local text = call('HGET', U, unique)
    if not text or (#text > 16 and tonumber(sub(text, 17, 29)) <= now) then
        return nil
    end
    local id = sub(text, 1, 16)
    if #text > 16 then
        -- A job that went with its queue, as it was removed, holds nothing.
        return (#text > 29 or call('HEXISTS', D, id) == 1) and id or nil
    elseif fresh and fresh[id] then
        return id
    end
    local job = load(id)
    return job and (job.state == 'p' or job.state == 'r') and id or nil
end

-- Retention is about to remove a job that has ended: its key outlives it.
local function outlive(job)
    local text = job.unique ~= '' and call('HGET', U, job.unique)
    if text and #text == 29 and sub(text, 1, 16) == job.id then
        call('HSET', U, job.unique, text .. 'P')
    end
end

local function take_unique(job)
    call('HSET', U, job.unique, job.id)
    call('ZREM', UF, job.unique)
end

local function touch(job)
    touched[job.key] = true
    if job.key ~= '' then
        stirred = true
    end
end

local function finish(job, state)
    leave(job)
    if job.data == '' then
        -- One whose data is gone is shown, and counted.
        call('HSETNX', D, job.id, '')
    end
    job.state, job.finished = state, now11
    local ends = call('HINCRBY', M, 'ends', 1)
    job.end_seq = hex12(ends)
    enter(job)
    remember_ends(ends, 1, state == 'x')
    if job.unique ~= '' then
        end_unique(job)
    end
    save(job)
    touch(job)
end

local function bury(job, reason, by_holder)
    job.reason = reason
    if not by_holder then
        -- The lease was broken: its holder did not do this.
        job.nonce = NO_NONCE
    end
    finish(job, 'x')
end

local function quarantine(job)
    call('HINCRBY', M, 'corrupt', 1)
    bury(job, 'corrupt')
end

local function to_pending(job)
    leave(job)
    job.state = 'p'
    enter(job)
    save(job)
    touch(job)
    stirred = true
end

-- Lines of failures: attempt, lease_seq and time as in the state record, worker, NUL, text; each
-- behind its length of 8 digits. The last 20 are kept (contract R4.5).
local function add_failure(job, text)
    local field = job.id .. 'e'
    local old = call('HGET', O, field) or ''
    local numbers = format('%04x%012x', job.attempts, job.lease_seq)
    local line = numbers .. now13 .. job.worker .. '\0' .. text
    local count, from = 0, 1
    while from <= #old do
        -- Broken ones are kept as they are.
        count, from = count + 1, from + 8 + (tonumber(sub(old, from, from + 7)) or #old)
    end
    if count >= 20 then
        old = sub(old, 9 + (tonumber(sub(old, 1, 8)) or #old))
    end
    call('HSET', O, field, old .. format('%08d', #line) .. line)
end

-- Takes a lease back as if it had run out (contract R1.3, R1.6).
local function expire(job)
    add_failure(job, 'lease expired')
    job.nonce = NO_NONCE
    if job.cancel == '1' then
        finish(job, 'n')
    elseif job.attempts >= job.max then
        bury(job, 'lease expired')
    else
        to_pending(job)
    end
end

-- Takes all of a job away.
local function remove(job)
    leave(job)
    call('HDEL', D, job.id)
    call('HDEL', S, job.id)
    call('HDEL', O, job.id .. 'e', job.id .. 'r', job.id .. 'p', job.id .. 'l')
    touch(job)
end

-- Refreshes what was touched, and wakes who sleeps.
local function conclude()
    for key in pairs(touched) do
        refresh(key)
    end
    touched = {}
    if stirred then
        wake()
    end
end
