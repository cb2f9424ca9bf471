-- Compares all that is derived of a queue's jobs with their records, and changes nothing.
-- Needs lib/queue.lua, lib/job.lua, lib/lane.lua and lib/change.lua of the store.
-- KEYS: those of the queue.
-- ARGV: 1 the present in ms for tests, or empty.
-- Result: a line for each thing that is wrong.
use(1)

local wrong, wanted, sizes = {}, {}, { c = 0, x = 0, n = 0 }

local function readable(text)
    return (tostring(text):gsub('[^%w%p ]', function(byte)
        return format('\\%02x', byte:byte())
    end))
end

local function find(what, of)
    if #wrong < 50 then
        wrong[#wrong + 1] = what .. ': ' .. readable(of)
    end
end

local function want(set, member, score)
    wanted[set] = wanted[set] or {}
    wanted[set][member] = score or false
end

local function judge(job)
    local state, key, member = job.state, job.key, job.key .. '\0' .. (job.seq or '') .. job.id
    if state == 'p' and key == '' then
        want(P, job.seq .. job.id, job.level * LEVEL + job.at)
        if job.attempts > 0 then
            want(F, job.id, job.at)
        end
        if fair then
            want(KW, waiting_member(key, job))
        end
    elseif state == 'p' then
        want(KW, waiting_member(key, job))
        want(KO, place_of(job))
        if skip and call('ZSCORE', KD, waiting_member(key, job)) then
            want(KD, waiting_member(key, job))
        elseif skip then
            want(KL, later_member(key, job))
        end
    elseif state == 'r' then
        want(L, job.seq .. job.id .. key)
        if key ~= '' then
            want(R, member)
        end
    else
        want(set_of(state), job.end_seq .. job.id, tonumber(job.finished))
        sizes[state] = sizes[state] + job.size
        if call('ZSCORE', H, member) and state == 'x' then
            want(H, member)
        end
    end
    local held = job.unique ~= '' and call('HGET', U, job.unique)
    if job.unique ~= '' and (state == 'p' or state == 'r') and held ~= job.id then
        find('its idempotency key is not held', job.id)
    end
end

local data = call('HGETALL', D)
for at = 1, #data, 2 do
    local job = job_of(data[at], data[at + 1], call('HGET', S, data[at]))
    if job.seq then
        judge(job)
    else
        find('a waiting job that cannot be read', data[at])
    end
end
for _, id in ipairs(call('HKEYS', S)) do
    if call('HEXISTS', D, id) == 0 then
        find('a state of no job', id)
    end
end
for _, field in ipairs(call('HKEYS', O)) do
    if call('HEXISTS', D, sub(field, 1, 16)) == 0 then
        find('a note of no job', field)
    end
end
for state, size in pairs(sizes) do
    if tonumber(call('HGET', M, 'bytes_' .. state) or 0) ~= size then
        find('bytes of the ended', state .. ', wanted ' .. size)
    end
end
if tonumber(call('HGET', M, 'ends_dead') or 0) ~= call('BITCOUNT', E) then
    find('dead ones of the last ends', call('HGET', M, 'ends_dead'))
end

-- Where keys stand.
local records = call('HGETALL', K)
for at = 1, #records, 2 do
    local key, it = records[at], lane(records[at])
    if it.stands == 'P' then
        local member = first_of(KW, key) and sub(it.entry, 1, 28)
        local from = '[' .. key .. '\0' .. (member or '')
        local waiting = call('ZRANGE', KW, from, from .. ':', 'BYLEX', 'LIMIT', 0, 1)[1]
        waiting = waiting and waiting_of(waiting, key)
        want(P, it.entry .. key, waiting and waiting.level * LEVEL + waiting.at)
        if not waiting then
            find('who stands for its key does not wait', key)
        end
    elseif it.stands == 'G' then
        want(G, key)
    elseif it.stands == 'T' then
        want(T, key)
    end
    if it.alarm then
        want(T, key)
    end
    if key ~= '' and not (first_of(KW, key) or first_of(R, key) or first_of(H, key)) then
        find('a lane of no job', key)
    end
end
for _, member in ipairs(call('ZRANGE', KW, 0, -1)) do
    local key = sub(member, 1, member:find('\0', 1, true) - 1)
    if free_leases(key) > 0 and lane(key).stands == '-' and not moving then
        find('a key that is left behind', key)
    end
end

local names = {
    [P] = 'ready', [F] = 'failed', [KW] = 'waiting', [KO] = 'places', [KD] = 'due', [KL] = 'later',
    [L] = 'leased', [R] = 'running', [C] = 'completed', [X] = 'dead', [N] = 'cancelled',
    [H] = 'held', [G] = 'turns', [T] = 'alarms',
}
for set, name in pairs(names) do
    local members, all = call('ZRANGE', set, 0, -1, 'WITHSCORES'), wanted[set] or {}
    for at = 1, #members, 2 do
        local score = all[members[at]]
        if score == nil then
            find('not to be in ' .. name, members[at])
        elseif score and score ~= tonumber(members[at + 1]) then
            find('wrong place in ' .. name, members[at])
        end
    end
    for member in pairs(all) do
        if not call('ZSCORE', set, member) then
            find('missing in ' .. name, member)
        end
    end
end
return wrong
