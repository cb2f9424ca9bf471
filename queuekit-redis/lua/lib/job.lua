-- A job's two records, DATA and STATE of src/layout.rs. Needs lib/queue.lua.

-- Whether the part that the scripts read is well-formed: all but the version is digits.
local function has_form(data)
    local head = sub(data, DATA.head)
    head = DATA.with(head, { version = '0' })
    return #head == DATA.head.to and not head:find('%X')
        and #data >= DATA.head.to + hex(data, DATA.key) + hex(data, DATA.unique)
end

-- Whether its whole head is hexadecimal digits, and its version is 1, as a byte.
local function is_readable(data)
    local _, digits = data:find('^%x+')
    return byte(data, DATA.version) == 49 and (digits or 0) >= DATA.head.to
        and #data >= DATA.head.to + hex(data, DATA.key) + hex(data, DATA.unique)
end

-- The partition key in a state record.
local function key_of(state)
    local key = sub(state, STATE.key)
    return key == STATE.key.zero and ''
        or sub(state, STATE.rest, STATE.head.to + tonumber(key, 16))
end

local function read_data(job, data)
    job.data, job.corrupt = data, not is_readable(data)
    job.formless = job.corrupt and not has_form(data)
    if job.formless then
        job.level, job.max, job.size, job.key, job.unique = 21, 0, 0, '', ''
        return
    end
    job.level, job.max = hex(data, DATA.level), hex(data, DATA.max_attempts)
    job.size, job.until_done = hex(data, DATA.payload), sub(data, DATA.flag) == '1'
    local key_to = DATA.head.to + hex(data, DATA.key)
    job.key = sub(data, DATA.rest, key_to)
    job.unique = sub(data, key_to + 1, key_to + hex(data, DATA.unique))
end

-- Whether a state is well-formed: hexadecimal digits up to the nonce, and from there up to the key.
local function is_state(state)
    local _, head = state:find('^[prcxn]%x+')
    local _, tail = state:find('^%x+', STATE.seq.from)
    return (head or 0) >= STATE.lease_seq.to and (tail or 0) >= STATE.head.to
        and state:find('\0', STATE.rest, true)
end

local function read_state(job, state)
    job.state, job.cancel = sub(state, STATE.state), sub(state, STATE.cancel)
    job.attempts, job.releases = hex(state, STATE.attempts), hex(state, STATE.releases)
    job.lease_seq, job.nonce = hex(state, STATE.lease_seq), sub(state, STATE.nonce)
    job.seq, job.at = sub(state, STATE.seq), hex(state, STATE.scheduled)
    job.deadline, job.started = sub(state, STATE.deadline), sub(state, STATE.started)
    job.finished, job.end_seq = sub(state, STATE.finished), sub(state, STATE.end_seq)
    job.size = hex(state, STATE.size)
    local key_to = STATE.head.to + hex(state, STATE.key)
    local nul = state:find('\0', key_to + 1, true) or #state
    job.key = sub(state, STATE.rest, key_to)
    job.worker, job.reason = sub(state, key_to + 1, nul - 1), sub(state, nul + 1)
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
    job.nonce, job.started, job.finished = NO_NONCE, NO_TIME, NO_TIME
    job.end_seq, job.worker, job.reason = STATE.end_seq.zero, '', ''
    if job.formless then
        job.seq, job.at, job.deadline = member and sub(member, ENTRY.seq) or nil, 0, NO_TIME
        job.key = member and sub(member, ENTRY.rest) or ''
    else
        job.seq, job.at = sub(data, DATA.seq), hex(data, DATA.scheduled)
        job.deadline = sub(data, DATA.deadline)
    end
    return job
end

-- How many bytes of data and notes this script has loaded, and how many are enough: a script that
-- changes many jobs leaves the rest to the next call.
local loaded, ENOUGH_BYTES = 0, 16 * 1024 * 1024

local function count(text)
    loaded = loaded + #text
end

-- Reads a job, whose state the caller may have; none if it is not stored.
local function load(id, state)
    local data = call('HGET', Q.data, id)
    state = state or call('HGET', Q.state, id)
    count(data or '')
    return (data or state) and job_of(id, data or '', state)
end

local function has_loaded_enough()
    return loaded > ENOUGH_BYTES
end

-- The state record of a job, as stored.
local function save(job)
    local head = STATE.write({
        state = job.state, cancel = job.cancel, nonce = job.nonce, seq = job.seq,
        counts = format(STATE.counts.hex, job.attempts, job.releases, job.lease_seq),
        scheduled = time_hex(job.at), deadline = job.deadline, started = job.started,
        finished = job.finished, end_seq = job.end_seq, size = format(STATE.size.hex, job.size),
        has_unique = (job.unique == '' and '0' or '1'), key = format(STATE.key.hex, #job.key),
    })
    local state = head .. job.key .. job.worker .. '\0' .. job.reason
    write('HSET', Q.state, job.id, state)
    return state
end

return {
    has_form = has_form, is_readable = is_readable, key_of = key_of, is_state = is_state,
    job_of = job_of, load = load, count = count, has_loaded_enough = has_loaded_enough, save = save,
}
