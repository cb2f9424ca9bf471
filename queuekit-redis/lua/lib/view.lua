-- What a reader is told of a job: its id, data, state or empty, ms until its lease runs out or
-- empty, whether it is blocked, errors, result, progress, log lines. Needs lib/job.lua,
-- lib/frontier.lua and lib/payload.lua.
local function view(answer, id, member)
    local data, state = call('HGET', Q.data, id) or '', call('HGET', Q.state, id)
    if data == '' and not state and call('HEXISTS', Q.data, id) == 0 then
        return
    end
    local job = Job.job_of(id, data, state, member)
    local expires, blocked = '', '0'
    if job.state == 'r' then
        local at = call('ZSCORE', Q.leased, job.seq .. id .. job.key)
        expires = format('%.0f', (tonumber(at) or now) - now)
    elseif job.state == 'p' and job.key ~= '' and job.seq then
        blocked = Frontier.is_blocked(job.key, job.seq) and '1' or '0'
    end
    if KEYS[24] then
        data = Payload.whole(data)
    end
    local notes = call('HMGET', Q.notes, id .. 'e', id .. 'r', id .. 'p', id .. 'l')
    for _, part in ipairs({ id, data, state or '', expires, blocked }) do
        answer[#answer + 1] = part
    end
    for at = 1, 4 do
        answer[#answer + 1] = notes[at] or ''
    end
end

return { view = view }
