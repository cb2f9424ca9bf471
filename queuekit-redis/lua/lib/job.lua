-- A job's two records. Needs lib/queue.lua.
--
-- data, written once (src/codec.rs writes all but the first four):
--   1-12 sequence; 13-23 scheduled; 24-34 deadline, 0 if none; 35-45 created; 46 version; 47-48
--   level, the highest priority first; 49 1 if its idempotency key is free once it has ended, 2 if
--   its payload is the number of an event that has the data; 50-52 max_attempts; 53-55 and 56-58
--   bytes of the partition key and of the idempotency key; 59-65 bytes of the payload; 66- the two
--   keys, then what only the client reads.
-- state, absent until the first lease or change:
--   1 state (p r c x n); 2 cancel requested; 3-6 attempts; 7-14 releases; 15-26 lease_seq; 27-42
--   nonce; 43-54 sequence; 55-65 scheduled; 66-76 deadline; 77-87 started; 88-98 finished; 99-110
--   sequence of the end; 111-118 bytes of payload and result; 119 whether it has an idempotency
--   key; 120-122 bytes of the partition key; 123- the partition key, worker, NUL, reason.
-- Numbers, times in ms among them, are hexadecimal.

-- Whether the part that the scripts read is well-formed.
local function has_form(data)
    local head = sub(data, 1, 45) .. sub(data, 47, 65)
    return #head == 64 and not head:find('%X')
        and #data >= 65 + hex(data, 53, 55) + hex(data, 56, 58)
end

-- Whether its whole head is hexadecimal digits, the version too.
local function is_readable(data)
    local _, digits = data:find('^%x+')
    return byte(data, 46) == 49 and (digits or 0) >= 65
        and #data >= 65 + hex(data, 53, 55) + hex(data, 56, 58)
end

-- The partition key in a state record.
local function key_of(state)
    local key = sub(state, 120, 122)
    return key == '000' and '' or sub(state, 123, 122 + tonumber(key, 16))
end

local function read_data(job, data)
    job.data, job.corrupt = data, not is_readable(data)
    job.formless = job.corrupt and not has_form(data)
    if job.formless then
        job.level, job.max, job.size, job.key, job.unique = 21, 0, 0, '', ''
        return
    end
    local key, unique = hex(data, 53, 55), hex(data, 56, 58)
    job.level, job.max, job.size = hex(data, 47, 48), hex(data, 50, 52), hex(data, 59, 65)
    job.until_done = sub(data, 49, 49) == '1'
    job.key = sub(data, 66, 65 + key)
    job.unique = sub(data, 66 + key, 65 + key + unique)
end

-- Whether a state is well-formed: hexadecimal digits up to the nonce, and from there up to the key.
local function is_state(state)
    local _, head = state:find('^[prcxn]%x+')
    local _, tail = state:find('^%x+', 43)
    return (head or 0) >= 26 and (tail or 0) >= 122 and state:find('\0', 123, true)
end

local function read_state(job, state)
    job.state, job.cancel = sub(state, 1, 1), sub(state, 2, 2)
    job.attempts, job.releases = hex(state, 3, 6), hex(state, 7, 14)
    job.lease_seq, job.nonce = hex(state, 15, 26), sub(state, 27, 42)
    job.seq, job.at = sub(state, 43, 54), hex(state, 55, 65)
    job.deadline, job.started = sub(state, 66, 76), sub(state, 77, 87)
    job.finished, job.end_seq = sub(state, 88, 98), sub(state, 99, 110)
    job.size = hex(state, 111, 118)
    local key = hex(state, 120, 122)
    local nul = state:find('\0', 123 + key, true) or #state
    job.key = sub(state, 123, 122 + key)
    job.worker, job.reason = sub(state, 123 + key, nul - 1), sub(state, nul + 1)
end

-- If the caller has the job's `member` of a set, it gives the sequence and the key of a job with a
-- broken record.
local function job_of(id, data, state, member)
    local job = { id = id }
    read_data(job, data)
    if state and is_state(state) then
        read_state(job, state)
        return job
    elseif state then
        job.corrupt, job.formless = true, true
    end
    job.state, job.cancel, job.attempts, job.releases, job.lease_seq = 'p', '0', 0, 0, 0
    job.nonce, job.started, job.finished = NO_NONCE, NOTHING, NOTHING
    job.end_seq, job.worker, job.reason = '000000000000', '', ''
    if job.formless then
        job.seq, job.at, job.deadline = member and sub(member, 1, 12) or nil, 0, NOTHING
        job.key = member and sub(member, 29) or ''
    else
        job.seq, job.at = sub(data, 1, 12), hex(data, 13, 23)
        job.deadline = sub(data, 24, 34)
    end
    return job
end

-- Reads a job; none if it is not stored.
local function load(id)
    local data, state = call('HGET', Q.data, id), call('HGET', Q.state, id)
    return (data or state) and job_of(id, data or '', state)
end

-- The state record of a job, as stored.
local function save(job)
    local state = table.concat({
        job.state, job.cancel, format('%04x%08x%012x', job.attempts, job.releases, job.lease_seq),
        job.nonce, job.seq, hex11(job.at), job.deadline, job.started, job.finished, job.end_seq,
        format('%08x', job.size), job.unique == '' and '0' or '1',
        format('%03x', #job.key), job.key, job.worker, '\0', job.reason,
    })
    write('HSET', Q.state, job.id, state)
    return state
end

return {
    is_readable = is_readable, key_of = key_of, is_state = is_state, job_of = job_of, load = load,
    save = save,
}
