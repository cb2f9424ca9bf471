-- One step of retention in one queue (contract R12). Needs lib/queue.lua, lib/job.lua,
-- lib/partition_key.lua, lib/change.lua, lib/recent.lua.
-- KEYS: those of the queue.
-- ARGV: 1 most jobs to remove, and most keys to forget; 2 the age in ms below which the bounds of
-- number and bytes spare a job. The bounds are in the settings: for done and for dead jobs, age in
-- ms, number, bytes.
-- Result: how many were removed; how many idempotency keys were forgotten; 1 if it has ended early,
-- because it has loaded enough.
use(1)

local most, grace = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = call('HMGET', Q.meta, 'done_age', 'done_jobs', 'done_bytes', 'dead_age', 'dead_jobs',
    'dead_bytes')
local removed = 0

local function bound(number, default)
    local text = kept[number]
    if not text then
        return default
    end
    return text ~= '' and tonumber(text) or nil
end

local function bytes_of(state)
    return tonumber(call('HGET', Q.meta, 'bytes_' .. state) or 0)
end

-- Removes the oldest job of these sets while it is beyond a bound.
local function prune(states, age, jobs, bytes)
    while removed < most and not Job.has_loaded_enough() do
        local oldest, oldest_at, its_state
        for _, state in ipairs(states) do
            local first = call('ZRANGE', Change.set_of(state), 0, 0, 'WITHSCORES')
            if first[1] and (not oldest or tonumber(first[2]) < oldest_at
                or (tonumber(first[2]) == oldest_at and first[1] < oldest)) then
                oldest, oldest_at, its_state = first[1], tonumber(first[2]), state
            end
        end
        if not oldest then
            return
        end
        local count, size = 0, 0
        for _, state in ipairs(states) do
            count, size = count + call('ZCARD', Change.set_of(state)), size + bytes_of(state)
        end
        local passed = now - oldest_at
        local too_many = (jobs and count > jobs) or (bytes and size > bytes)
        if not ((age and passed >= age) or (too_many and passed >= grace)) then
            return
        end
        local id = sub(oldest, ENTRY.id)
        local job = Job.load(id) or Job.job_of(id, '')
        -- So that a job with a broken record is removed too.
        job.state, job.end_seq = its_state, sub(oldest, ENTRY.seq)
        Change.outlive(job)
        Change.remove(job)
        removed = removed + 1
    end
end

prune({ 'c', 'n' }, bound(1, 86400000), bound(2, 100000), bound(3))
prune({ 'x' }, bound(4), bound(5), bound(6))
local free = call('ZRANGE', Q.unique_free, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
for _, unique in ipairs(free) do
    call('HDEL', Q.unique, unique)
    call('ZREM', Q.unique_free, unique)
end
conclude()
return { removed, #free, Job.has_loaded_enough() and 1 or 0 }
