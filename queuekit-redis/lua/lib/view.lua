-- A job as readers get it: its id, data, state or empty, ms until its lease runs out or empty,
-- whether it is blocked, errors, result, progress, log lines, releases. Needs lib/job.lua, lib/frontier.lua
-- and lib/payload.lua.

-- How many bytes of jobs this script has read: a script that reads many jobs stops in time.
local read = 0

-- The bytes of a job's payload, where that is with its data, and of all that may be large.
local function sizes(job, data)
    local own, payload = 0, 0
    if KEYS[QUEUE.next] and sub(data, DATA.flag) == '2' then
        payload = Payload.length(data)
    elseif not job.corrupt then
        own = hex(data, DATA.payload)
        payload = own
    end
    local result = call('HSTRLEN', Q.notes, job.id .. 'r')
    return own, payload + result + call('HSTRLEN', Q.notes, job.id .. 'l')
end

-- Adds a job to the answer. If its payload, result and log lines have more than `most` bytes, it
-- leaves them and the progress out, so that the data says that its payload is empty. Returns how
-- many bytes it left out; none if the job is not stored.
local function view(answer, id, member, most)
    local data, state = call('HGET', Q.data, id) or '', call('HGET', Q.state, id)
    if data == '' and not state and call('HEXISTS', Q.data, id) == 0 then
        return
    end
    local job = Job.job_of(id, data, state, member)
    read = read + #data
    local expires, blocked = '', '0'
    if job.state == 'r' then
        local at = call('ZSCORE', Q.leased, job.seq .. id .. job.key)
        expires = format('%.0f', (tonumber(at) or now) - now)
    elseif job.state == 'p' and job.key ~= '' and job.seq then
        blocked = Frontier.is_blocked(job.key, job.seq) and '1' or '0'
    end
    local left_out, notes = 0, nil
    local own, large = 0, 0
    if most then
        own, large = sizes(job, data)
    end
    if most and large > most then
        left_out = large
        if own > 0 then
            data = sub(data, 1, #data - own)
            data = DATA.with(data, { payload = DATA.payload.zero })
        end
        local ends = call('HMGET', Q.notes, id .. 'e', id .. 'b')
        notes = { ends[1], false, false, false, ends[2] }
    else
        if KEYS[QUEUE.next] then
            data = Payload.whole(data)
            read = read + #data
        end
        notes = call('HMGET', Q.notes, id .. 'e', id .. 'r', id .. 'p', id .. 'l',
            id .. 'b')
    end
    for _, part in ipairs({ id, data, state or '', expires, blocked }) do
        answer[#answer + 1] = part
    end
    for at = 1, 5 do
        answer[#answer + 1] = notes[at] or ''
        read = read + #answer[#answer]
    end
    return left_out
end

return {
    view = view,
    -- Counts bytes of a job that the script has read itself.
    count = function(bytes)
        read = read + bytes
    end,
    read = function()
        return read
    end,
}
