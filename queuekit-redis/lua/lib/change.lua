-- Takes jobs from one state to another, with all data derived from them. Needs lib/job.lua,
-- lib/partition_key.lua and lib/recent.lua. The caller runs conclude() at the end.

-- How many more jobs may wait in a queue that has a bound.
local function room()
    -- Waiting jobs are in several sets, so their number is what all others leave.
    local ended = call('ZCARD', Q.completed) + call('ZCARD', Q.dead) + call('ZCARD', Q.cancelled)
    return max_pending - (call('HLEN', Q.data) - ended - call('ZCARD', Q.leased))
end

local function set_of(state)
    return state == 'c' and Q.completed or state == 'x' and Q.dead or Q.cancelled
end

-- Restores from `waiting` what the broken record of a waiting job has lost.
local function mend(job)
    local prefix = job.key .. '\0' .. job.seq .. job.id
    local to = '[' .. prefix .. 'g'
    local member = call('ZRANGE', Q.waiting, '[' .. prefix, to, 'BYLEX', 'LIMIT', 0, 1)[1]
    if member then
        local waiting = PartitionKey.waiting_of(member, job.key)
        job.at, job.level = waiting.at, waiting.level
    end
end

-- A waiting job as the sets of its key name it: entry, time and level.
local function told_as(job)
    return job.seq .. job.id, time_hex(job.at), format(WAITING.level.hex, job.level)
end

local function leave(job)
    local state, key = job.state, job.key
    if state == 'p' then
        if job.formless then
            mend(job)
        end
        if key ~= '' then
            PartitionKey.wait_no_more(key, told_as(job))
            return
        end
        write('ZREM', Q.ready, job.seq .. job.id)
        if job.attempts > 0 or job.formless then
            write('ZREM', Q.failed, job.id)
        end
        if fair or moving then
            write('ZREM', Q.waiting, PartitionKey.waiting_member(key, told_as(job)))
        end
    elseif state == 'r' then
        write('ZREM', Q.leased, job.seq .. job.id .. key)
        if key ~= '' and PartitionKey.runs(key, job.seq .. job.id) then
            PartitionKey.end_run(key, job.seq .. job.id)
        end
    else
        write('ZREM', set_of(state), job.end_seq .. job.id)
        call('HINCRBY', Q.meta, 'bytes_' .. state, 0 - job.size)
        if key ~= '' and state == 'x' then
            write('ZREM', Q.held, key .. '\0' .. job.seq .. job.id)
        end
    end
end

-- Under hold a dead head keeps its key: no waiting or running job of the key comes before it.
local function hold_key(job)
    local function before(set)
        local first = PartitionKey.first_of(set, job.key)
        local from = #job.key + 1
        return first and sub(first, from + ENTRY.seq.from, from + ENTRY.seq.to) < job.seq
    end
    if hold and not before(Q.waiting) and not before(Q.running) then
        write('ZADD', Q.held, 0, job.key .. '\0' .. job.seq .. job.id)
    end
end

local function enter(job, expires_at)
    local state, key = job.state, job.key
    if state == 'p' then
        if key ~= '' then
            PartitionKey.wait(key, told_as(job))
            return
        end
        write('ZADD', Q.ready, job.level * LEVEL + job.at, job.seq .. job.id)
        if job.attempts > 0 then
            write('ZADD', Q.failed, job.at, job.id)
        end
        if fair then
            write('ZADD', Q.waiting, 0, PartitionKey.waiting_member(key, told_as(job)))
        end
    elseif state == 'r' then
        write('ZADD', Q.leased, expires_at, job.seq .. job.id .. key)
        if key ~= '' and not PartitionKey.runs(key, job.seq .. job.id) then
            PartitionKey.begin_run(key, job.seq .. job.id)
        end
    else
        write('ZADD', set_of(state), now_text, job.end_seq .. job.id)
        call('HINCRBY', Q.meta, 'bytes_' .. state, job.size)
        if key ~= '' and state == 'x' then
            hold_key(job)
        end
    end
end

-- Remembers whether each of the last 1,000 ended jobs died. Writes nothing while none did.
local function remember_ends(first, count, died)
    if not died and (call('HGET', Q.meta, 'ends_dead') or '0') == '0' then
        return
    end
    for n = first, first + count - 1 do
        local was = call('SETBIT', Q.ends, n % 1000, died and 1 or 0)
        local change = (died and 1 or 0) - was
        if change ~= 0 then
            call('HINCRBY', Q.meta, 'ends_dead', change)
        end
    end
end

-- Frees a job's idempotency key at its end, now or after the deduplication window (contract R2.5).
local function end_unique(job)
    if call('HGET', Q.unique, job.unique) ~= job.id then
        return
    end
    if job.until_done then
        call('HDEL', Q.unique, job.unique)
    else
        call('HSET', Q.unique, job.unique, job.id .. ms_text(now + dedup))
        call('ZADD', Q.unique_free, now + dedup, job.unique)
    end
end

-- The job that holds an idempotency key now. It must still exist, because a job with a broken
-- record could not free its key. `fresh` are jobs that are not stored yet.
local function holder(unique, fresh)
    local text = call('HGET', Q.unique, unique)
    local has_ended = text and #text > UNIQUE.id.to
    if not text or (has_ended and tonumber(sub(text, UNIQUE.free_at)) <= now) then
        return nil
    end
    local id = sub(text, UNIQUE.id)
    if has_ended then
        -- A job that was removed with its queue holds nothing.
        return (#text > UNIQUE.head.to or call('HEXISTS', Q.data, id) == 1) and id or nil
    elseif fresh and fresh[id] then
        return id
    end
    -- The data, which may be large, is not read. A job with a broken state counts as waiting.
    local state = call('HGET', Q.state, id)
    if not state then
        return call('HEXISTS', Q.data, id) == 1 and id or nil
    end
    local holds = not Job.is_state(state) or sub(state, STATE.state):find('[pr]')
    return holds and id or nil
end

-- Lets the key of an ended job outlive it: retention is about to remove the job.
local function outlive(job)
    local text = job.unique ~= '' and call('HGET', Q.unique, job.unique)
    if text and #text == UNIQUE.head.to and sub(text, UNIQUE.id) == job.id then
        call('HSET', Q.unique, job.unique, text .. 'P')
    end
end

local function take_unique(unique, id)
    call('HSET', Q.unique, unique, id)
    call('ZREM', Q.unique_free, unique)
end

local function finish(job, state)
    leave(job)
    if job.data == '' then
        -- A job whose data is gone is still shown and counted.
        call('HSETNX', Q.data, job.id, '')
    end
    job.state, job.finished = state, now_hex
    local ends = call('HINCRBY', Q.meta, 'ends', 1)
    job.end_seq = seq_hex(ends)
    -- The rest have completed: so the frequent acks change one counter less.
    call('HINCRBY', Q.meta, 'total_' .. state, 1)
    enter(job)
    remember_ends(ends, 1, state == 'x')
    if job.unique ~= '' then
        end_unique(job)
    end
    Job.save(job)
    touch(job.key)
end

-- Counts failures and deaths of a job in the group of their error (contract R8.4). What no kind can
-- be read of is in no group. The groups are written at the end, each once.
local function count_error(job, signature, failures, deaths)
    local from = DATA.rest + #job.key + #job.unique
    local kind = not job.formless and job.data:match('^(%w[%w_.:-]*) ', from)
    if not kind then
        return
    end
    counted = counted or {}
    local group = kind .. '\0' .. signature
    local sum = counted[group] or { failures = 0, deaths = 0, errors = 0 }
    sum.failures, sum.deaths = sum.failures + failures, sum.deaths + deaths
    sum.errors = sum.errors + 1
    sum.sample = job.id
    counted[group] = sum
end

-- Adds to the groups, and removes the least recent beyond their limit.
local function store_errors()
    for group, sum in pairs(counted) do
        local old = call('HGET', Q.groups, group)
        local first, last = now_hex, now_hex
        if old then
            sum.failures = sum.failures + hex(old, GROUP.failures)
            sum.deaths = sum.deaths + hex(old, GROUP.deaths)
            first = sub(old, GROUP.first)
            last = sub(old, GROUP.last) > last and sub(old, GROUP.last) or last
        end
        call('HSET', Q.groups, group, GROUP.write({
            failures = format(GROUP.failures.hex, sum.failures),
            deaths = format(GROUP.deaths.hex, sum.deaths),
            first = first, last = last, sample = sum.sample,
        }) .. Recent.after(old, sum.errors))
        call('ZADD', Q.group_times, format('%.0f', tonumber(last, 16)), group)
    end
    counted = nil
    local surplus = call('ZCARD', Q.group_times) - MOST_ERROR_GROUPS
    if surplus > 0 then
        local gone = call('ZRANGE', Q.group_times, 0, surplus - 1)
        call('ZREM', Q.group_times, unpack(gone))
        call('HDEL', Q.groups, unpack(gone))
    end
end

local function dead_letter(job, reason, signature, by_holder)
    count_error(job, signature, 0, 1)
    job.reason = reason
    if not by_holder then
        -- The nonce goes too: the lease was broken without its holder.
        job.nonce = NO_NONCE
    end
    finish(job, 'x')
end

local function quarantine(job)
    call('HINCRBY', Q.meta, 'corrupt', 1)
    dead_letter(job, 'corrupt', '1 corrupt')
end

local function to_pending(job)
    leave(job)
    job.state = 'p'
    enter(job)
    Job.save(job)
    touch(job.key)
    stirred = true
end

-- Appends to a list of notes. The last 20 are kept.
local function append(field, line)
    local old = call('HGET', Q.notes, field) or ''
    Job.count(old)
    local count, to = 0, 0
    while to < #old do
        -- Broken entries are kept as they are.
        local length = tonumber(sub(old, to + NOTE.length.from, to + NOTE.length.to)) or #old
        count, to = count + 1, to + NOTE.head.to + length
    end
    if count >= 20 then
        old = sub(old, NOTE.rest + (tonumber(sub(old, NOTE.length)) or #old))
    end
    call('HSET', Q.notes, field, old .. format(NOTE.length.decimal, #line) .. line)
end

-- Adds a failure (contract R4.5), and counts the attempt.
local function add_failure(job, text)
    local head = FAILURE.write({
        lease = format(FAILURE.lease.hex, job.attempts, job.lease_seq), at = now_ms,
    })
    append(job.id .. 'e', head .. job.worker .. '\0' .. text .. '\0' .. job.started)
    call('HINCRBY', Q.meta, 'failures', 1)
end

-- Adds a release; the cause is empty if the worker did not say why (contract R4.8).
local function add_release(job, cause)
    local head = RELEASE.write({
        lease_seq = format(RELEASE.lease_seq.hex, job.lease_seq), at = now_ms,
        started = job.started,
    })
    append(job.id .. 'b', head .. job.worker .. '\0' .. cause)
end

-- Takes a lease back as if it had run out (contract R1.3, R1.6).
local function expire(job)
    add_failure(job, 'lease expired')
    local dies = job.cancel ~= '1' and job.attempts >= job.max
    count_error(job, '1 lease expired', 1, dies and 1 or 0)
    if job.cancel == '1' then
        finish(job, 'n')
    elseif dies then
        -- The nonce goes too: the lease was broken without its holder.
        job.reason, job.nonce = 'lease expired', NO_NONCE
        finish(job, 'x')
    else
        to_pending(job)
    end
end

-- Removes all data of a job. What was stored and is gone counts as enqueued.
local function remove(job)
    leave(job)
    call('HINCRBY', Q.meta, 'removed', call('HDEL', Q.data, job.id))
    call('HDEL', Q.state, job.id)
    local id = job.id
    call('HDEL', Q.notes, id .. 'e', id .. 'r', id .. 'p', id .. 'l', id .. 'b', id .. 'c')
    touch(job.key)
end

return {
    room = room, set_of = set_of, told_as = told_as, leave = leave, enter = enter,
    remember_ends = remember_ends, end_unique = end_unique, holder = holder, outlive = outlive,
    take_unique = take_unique, finish = finish, dead_letter = dead_letter, quarantine = quarantine,
    to_pending = to_pending, add_failure = add_failure, add_release = add_release,
    count_error = count_error, store_errors = store_errors, expire = expire, remove = remove,
}
