-- Applies an operator's actions to jobs of one queue, one after the other (contract R6). Needs
-- lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua, lib/recent.lua.
-- KEYS: those of the queue.
-- ARGV: per job: action (dead_letter, dead_letter_forced, dead_letter_lease, quarantine, cancel,
-- retry, reschedule, forget, delete, delete_forced); id; text (a reason, a token, a delay in ms); reason of
-- dead_letter_lease; the signature of the reason.
-- Result: per job one of done, already, conflict, lost, unknown, requested, unreadable. It ends early
-- if it has loaded enough.
use(1)

local act = {}

function act.dead_letter(job, reason, force, signature)
    if job.state == 'x' then
        return 'already'
    elseif job.state ~= 'p' and not (force and job.state == 'r') then
        return 'conflict'
    end
    Change.dead_letter(job, reason, signature)
    return 'done'
end

function act.dead_letter_forced(job, reason, _, signature)
    return act.dead_letter(job, reason, true, signature)
end

function act.dead_letter_lease(job, token, reason, signature)
    if seq_hex(job.lease_seq) .. job.nonce ~= token then
        return 'lost'
    elseif job.state == 'x' then
        return 'already'
    elseif job.state ~= 'r' then
        return 'lost'
    end
    Change.dead_letter(job, reason, signature, true)
    return 'done'
end

function act.quarantine(job, token)
    if job.state ~= 'r' or seq_hex(job.lease_seq) .. job.nonce ~= token then
        return 'lost'
    end
    Change.quarantine(job)
    return 'done'
end

function act.cancel(job)
    if job.state == 'p' then
        Change.finish(job, 'n')
        return 'done'
    elseif job.state == 'r' then
        job.cancel = '1'
        Job.save(job)
        return 'requested'
    end
    return job.state == 'n' and 'already' or 'conflict'
end

function act.retry(job, delay)
    if job.state ~= 'x' and job.state ~= 'n' then
        return 'conflict'
    end
    local held = job.unique ~= '' and Change.holder(job.unique)
    if held and held ~= job.id then
        return 'conflict'
    end
    local keeps = job.key ~= '' and call('ZSCORE', Q.held, job.key .. '\0' .. job.seq .. job.id)
    Change.leave(job)
    if not keeps then
        job.seq = seq_hex(call('HINCRBY', Q.meta, 'seq', 1))
    end
    job.state, job.attempts, job.releases, job.at = 'p', 0, 0, now + delay
    job.cancel, job.reason = '0', ''
    local deadline = not job.formless and hex(job.data, DATA.deadline)
    if deadline and deadline > 0 then
        job.deadline = time_hex(job.at + deadline - hex(job.data, DATA.created))
    end
    Change.enter(job)
    if job.unique ~= '' then
        Change.take_unique(job.unique, job.id)
    end
    Job.save(job)
    touch(job.key)
    stirred = true
    return 'done'
end

function act.reschedule(job, delay)
    if job.state ~= 'p' then
        return 'conflict'
    end
    Change.leave(job)
    job.at = now + delay
    Change.enter(job)
    Job.save(job)
    touch(job.key)
    stirred = true
    return 'done'
end

function act.forget(job)
    if job.state == 'r' then
        return 'conflict'
    end
    return call('HDEL', Q.notes, job.id .. 'c') == 1 and 'done' or 'already'
end

function act.delete(job, _, force)
    if job.state == 'r' and not force then
        return 'conflict'
    end
    if job.unique ~= '' and call('HGET', Q.unique, job.unique) then
        if sub(call('HGET', Q.unique, job.unique), UNIQUE.id) == job.id then
            call('HDEL', Q.unique, job.unique)
            call('ZREM', Q.unique_free, job.unique)
        end
    end
    Change.remove(job)
    return 'done'
end

function act.delete_forced(job)
    return act.delete(job, '', true)
end

local answer = {}
for base = 1, #ARGV, 5 do
    if Job.has_loaded_enough() then
        break
    end
    local job = Job.load(ARGV[base + 1])
    local outcome = 'unknown'
    if job and not job.seq then
        outcome = 'unreadable'
    elseif job then
        local reason = ARGV[base + 3] ~= '' and ARGV[base + 3]
        outcome = act[ARGV[base]](job, ARGV[base + 2], reason, ARGV[base + 4])
    end
    answer[#answer + 1] = outcome
    refresh_touched()
end
conclude()
return answer
