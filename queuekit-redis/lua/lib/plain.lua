-- Leases plain jobs: those with neither keys nor a deadline that were never leased, which are most
-- jobs of most queues. It does what lib/reserve.lua would, in fewer steps. Needs lib/queue.lua and
-- lib/job.lua.

-- Leases jobs up to the first that is not plain; returns how many. `data` is that of the jobs after
-- the place `from`; `state` has what their states have in common: before the timing, between it and
-- the size, and after that.
local function lease_part(reserve, granted, members, ids, states, data, from)
    local answer, met, fits, expires_at = reserve.answer, reserve.met, reserve.fits,
        reserve.expires_at
    local before_timing, before_size, after_size = unpack(reserve.state)
    local leased, stored = noting('ZADD', Q.leased), noting('HSET', Q.state)
    local lease_at, store_at, told, count = leased.size, stored.size, 7 + granted * 3, 0
    for item, its in ipairs(data) do
        local at = from + item
        local id = ids[at]
        if not its or states[at] or met[id] or sub(its, DATA.deadline) ~= NO_TIME
            or sub(its, DATA.keys) ~= DATA.keys.zero or not Job.is_readable(its)
            or not fits(its) then
            break
        end
        met[id] = true
        local state = before_timing .. sub(its, DATA.timing) .. before_size
            .. sub(its, DATA.payload) .. after_size
        leased[lease_at + 1], leased[lease_at + 2] = expires_at, members[at]
        stored[store_at + 1], stored[store_at + 2] = id, state
        answer[told + 1], answer[told + 2], answer[told + 3] = id, state, its
        lease_at, store_at, told, count = lease_at + 2, store_at + 2, told + 3, item
    end
    leased.size, stored.size = lease_at, store_at
    return count
end

-- What the states of jobs that a call leases for the first time have in common.
local function parts_of_state(reserve)
    local state = STATE.write({
        state = 'r', cancel = '0', attempts = STATE.attempts.one, releases = STATE.releases.zero,
        lease_seq = STATE.lease_seq.one, nonce = reserve.nonce, timing = STATE.timing.zero,
        started = now_hex, finished = NO_TIME, end_seq = STATE.end_seq.zero,
        size = STATE.size.zero, has_unique = '0', key = STATE.key.zero,
    }) .. reserve.worker .. '\0'
    return {
        sub(state, 1, STATE.nonce.to), sub(state, STATE.started.from, STATE.size.from),
        sub(state, STATE.has_unique.from),
    }
end

-- Leases the next plain jobs of a level whose jobs are next, and returns how many the call has
-- granted then. Their scores are not read: as text they cost as much as the rest of `ready`.
local function lease(level, limit, granted, reserve)
    local from = level * LEVEL
    local members = call('ZRANGE', Q.ready, from, from + now, 'BYSCORE', 'LIMIT', 0,
        limit - granted)
    local ids = {}
    for item, member in ipairs(members) do
        if #member > ENTRY.head.to then
            break
        end
        ids[item] = sub(member, ENTRY.id)
    end
    if #ids == 0 then
        return granted
    end
    reserve.index_leases(#ids)
    reserve.state = parts_of_state(reserve)
    local states, done, last = call('HMGET', Q.state, unpack(ids)), 0, 0
    while done == last and last < #ids do
        last = math.min(done + reserve.part, #ids)
        local data = reserve.data_of(ids, done + 1, last)
        if data then
            done = done + lease_part(reserve, granted + done, members, ids, states, data, done)
        end
    end
    if done > 0 then
        local first = call('ZRANK', Q.ready, members[1])
        call('ZREMRANGEBYRANK', Q.ready, first, first + done - 1)
    end
    return granted + done
end

return { lease = lease }
