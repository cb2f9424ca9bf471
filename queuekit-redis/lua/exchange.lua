-- Ends leases, then grants others of the same queue, in one step (contract R3, R4, R5).
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua, lib/recent.lua,
-- lib/reserve.lua, lib/plain.lua, lib/payload.lua.
-- KEYS: those of the queue; for a queue of events also the data of events.
-- ARGV: 1 most jobs to lease; 2 most leases to take back; 3 most jobs to dead-letter; 4 nonce; 5
-- ttl in ms; 6 worker; 7 the bytes of the leases that the call has already; 8 most bytes; 9 how
-- many acks, each from 11 on: id, token (as in STATE), result (+ and its bytes) or empty; 10 how
-- many nacks, each after those: id, token, kind (t retry, l release, f fatal, c cancelled), delay
-- in ms, text: of a release its cause; the signature of a failure.
-- Result: an outcome per ack (A acked, D done before, L lost, N unknown) and per nack (r retrying,
-- x dead, b released, c cancelled, l lost, n unknown), in one text, which ends early if the call
-- has loaded enough; now; how many leases might still be taken back, and how many jobs
-- dead-lettered; ms to the next event, empty if there is none or if all was leased that may be,
-- `more` if something is left to the next call, `moving` if keys are being placed anew; the bytes of
-- the leases, and whether a job did not fit; then per lease its id, state and data.
use(1)

local outcomes = {}
local at = 11
-- Acks and nacks that this call has left to the next one.
local has_left = false

local function ack()
    local count = tonumber(ARGV[9])
    if count == 0 then
        return
    end
    local ids, seen = {}, {}
    for item = 1, count do
        ids[item] = ARGV[at + item * 3 - 3]
    end
    local states = call('HMGET', Q.state, unpack(ids))
    local changed, left, ended, stopped, bytes, done = {}, {}, {}, {}, 0, 0
    local counted = call('HMGET', Q.meta, 'ends', 'ends_dead')
    local ends = tonumber(counted[1] or 0)
    for item = 1, count do
        local id, base = ids[item], at + item * 3 - 3
        -- A call may ack the same lease twice.
        local state, token, result = seen[id] or states[item], ARGV[base + 1], ARGV[base + 2]
        local outcome = 'L'
        if Job.has_loaded_enough() then
            has_left = true
            break
        elseif not state then
            outcome = call('HEXISTS', Q.data, id) == 1 and 'L' or 'N'
        elseif sub(state, STATE.token) == token and Job.is_state(state) then
            if sub(state, STATE.state) == 'r' then
                outcome = 'A'
                ends, done = ends + 1, done + 1
                local end_seq, size = seq_hex(ends), sub(state, STATE.size)
                if result ~= '' then
                    size = format(STATE.size.hex, tonumber(size, 16) + #result - 1)
                    call('HSET', Q.notes, id .. 'r', result)
                end
                bytes = bytes + tonumber(size, 16)
                local key, entry = Job.key_of(state), sub(state, STATE.seq) .. id
                left[done] = entry .. key
                ended[done * 2 - 1], ended[done * 2] = now_text, end_seq .. id
                seen[id] = STATE.with(state, {
                    state = 'c', finished = now_hex, end_seq = end_seq, size = size,
                })
                changed[done * 2 - 1], changed[done * 2] = id, seen[id]
                if key ~= '' then
                    stopped[#stopped + 1] = { key, entry }
                    touch(key)
                elseif fair then
                    -- In a fair queue, the jobs without a key share one turn.
                    touch('')
                end
                if sub(state, STATE.has_unique) == '1' then
                    Change.end_unique(Job.load(id, seen[id]))
                end
            elseif sub(state, STATE.state) == 'c' then
                outcome = 'D'
            end
        end
        outcomes[item] = outcome
    end
    if done > 0 then
        call('ZREM', Q.leased, unpack(left))
        call('ZADD', Q.completed, unpack(ended))
        call('HSET', Q.state, unpack(changed))
        call('HINCRBY', Q.meta, 'bytes_c', bytes)
        call('HINCRBY', Q.meta, 'ends', done)
        if (counted[2] or '0') ~= '0' then
            Change.remember_ends(ends - done + 1, done, false)
        end
    end
    if #stopped > 0 then
        PartitionKey.fetch(touched)
        for _, run in ipairs(stopped) do
            PartitionKey.end_run(run[1], run[2])
        end
    end
    at = at + count * 3
end

local function nack(id, token, kind, delay, text, signature)
    -- The data, which may be large, is read for a valid token only.
    local state = call('HGET', Q.state, id)
    if not state then
        return call('HEXISTS', Q.data, id) == 1 and 'l' or 'n'
    elseif sub(state, STATE.state) ~= 'r' or sub(state, STATE.token) ~= token
        or not Job.is_state(state) then
        return 'l'
    end
    local job = Job.load(id)
    job.nonce = NO_NONCE
    local dies = kind == 'f' or (kind == 't' and job.cancel ~= '1' and job.attempts >= job.max)
    if kind == 't' or kind == 'f' then
        Change.add_failure(job, text)
        Change.count_error(job, signature, 1, dies and 1 or 0)
    end
    if dies then
        job.reason = text
        Change.finish(job, 'x')
        return 'x'
    elseif kind == 'c' or job.cancel == '1' then
        Change.finish(job, 'n')
        return 'c'
    end
    Change.leave(job)
    job.state, job.at = 'p', now + delay
    if kind == 'l' then
        Change.add_release(job, text)
        job.attempts, job.releases = job.attempts - 1, job.releases + 1
    end
    Change.enter(job)
    Job.save(job)
    touch(job.key)
    stirred = true
    return kind == 'l' and 'b' or 'r'
end

ack()
for _ = 1, tonumber(ARGV[10]) do
    has_left = has_left or Job.has_loaded_enough()
    if has_left then
        break
    end
    outcomes[#outcomes + 1] = nack(ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]),
        ARGV[at + 4], ARGV[at + 5])
    at = at + 6
end
-- Before the reserve, which finds the next job of each key in `ready`.
refresh_touched()

local answer = { '', now_ms, ARGV[2], ARGV[3], '', ARGV[7], 0 }
if has_left then
    answer[5] = 'more'
elseif known and ARGV[6] ~= '' then
    if paused then
        answer[5] = paused_until > now and format('%.0f', paused_until - now) or ''
    elseif moving then
        -- Its keys are being placed anew: src/admin.rs continues that.
        answer[5] = 'moving'
    else
        Reserve.reserve(answer)
    end
end
conclude()
answer[1] = table.concat(outcomes)
-- A queue of events: larger payloads are stored once, with their events.
if KEYS[QUEUE.next] then
    for told = 10, #answer, 3 do
        answer[told] = Payload.whole(answer[told])
    end
end
return answer
