-- Compares all data derived from a queue's jobs with their records, and changes nothing. Needs
-- lib/queue.lua, lib/job.lua, lib/partition_key.lua and lib/change.lua of the store.
-- KEYS: those of the queue.
-- ARGV: none.
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
        want(Q.ready, job.seq .. job.id, job.level * LEVEL + job.at)
        if job.attempts > 0 then
            want(Q.failed, job.id, job.at)
        end
        if fair then
            want(Q.waiting, PartitionKey.waiting_member(key, Change.told_as(job)))
        end
    elseif state == 'p' then
        want(Q.waiting, PartitionKey.waiting_member(key, Change.told_as(job)))
        local entry, at, level = Change.told_as(job)
        want(Q.places, PLACE.write({ level = level, at = at, entry = entry }))
        local waiting = PartitionKey.waiting_member(key, entry, at, level)
        if skip and call('ZSCORE', Q.due, waiting) then
            want(Q.due, waiting)
        elseif skip then
            want(Q.later, PartitionKey.later_member(key, Change.told_as(job)))
        end
    elseif state == 'r' then
        want(Q.leased, job.seq .. job.id .. key)
        if key ~= '' then
            want(Q.running, member)
        end
    else
        want(Change.set_of(state), job.end_seq .. job.id, tonumber(job.finished))
        sizes[state] = sizes[state] + job.size
        if call('ZSCORE', Q.held, member) and state == 'x' then
            want(Q.held, member)
        end
    end
    local held = job.unique ~= '' and call('HGET', Q.unique, job.unique)
    if job.unique ~= '' and (state == 'p' or state == 'r') and held ~= job.id then
        find('its idempotency key is not held', job.id)
    end
end

local data = call('HGETALL', Q.data)
for at = 1, #data, 2 do
    local job = Job.job_of(data[at], data[at + 1], call('HGET', Q.state, data[at]))
    if job.seq then
        judge(job)
    else
        find('a waiting job that cannot be read', data[at])
    end
end
for _, id in ipairs(call('HKEYS', Q.state)) do
    if call('HEXISTS', Q.data, id) == 0 then
        find('a state of no job', id)
    end
end
for _, field in ipairs(call('HKEYS', Q.notes)) do
    if call('HEXISTS', Q.data, sub(field, UNIQUE.id)) == 0 then
        find('a note of no job', field)
    end
end
for state, size in pairs(sizes) do
    if tonumber(call('HGET', Q.meta, 'bytes_' .. state) or 0) ~= size then
        find('bytes of the ended', state .. ', wanted ' .. size)
    end
end
if tonumber(call('HGET', Q.meta, 'ends_dead') or 0) ~= call('BITCOUNT', Q.ends) then
    find('dead ones of the last ends', call('HGET', Q.meta, 'ends_dead'))
end

-- Where keys stand.
local records = call('HGETALL', Q.partition_keys)
for at = 1, #records, 2 do
    local key, it = records[at], PartitionKey.of(records[at])
    if it.stands == 'P' then
        local member = PartitionKey.first_of(Q.waiting, key) and sub(it.entry, ENTRY.head)
        local from = '[' .. key .. '\0' .. (member or '')
        local waiting = call('ZRANGE', Q.waiting, from, from .. 'g', 'BYLEX', 'LIMIT', 0, 1)[1]
        waiting = waiting and PartitionKey.waiting_of(waiting, key)
        want(Q.ready, it.entry .. key, waiting and waiting.level * LEVEL + waiting.at)
        if not waiting then
            find('who stands for its key does not wait', key)
        end
    elseif it.stands == 'G' then
        want(Q.turns, key)
    elseif it.stands == 'T' then
        want(Q.alarms, key)
    end
    if it.alarm then
        want(Q.alarms, key)
    end
    local range = { '[' .. key .. '\0', '(' .. key .. '\1' }
    if key ~= '' and it.running ~= call('ZLEXCOUNT', Q.running, range[1], range[2]) then
        find('a key that counts wrong how many of its jobs run: ' .. it.running, key)
    end
    if key ~= '' and not (PartitionKey.first_of(Q.waiting, key)
        or PartitionKey.first_of(Q.running, key)
        or PartitionKey.first_of(Q.held, key)) then
        find('a key without a job', key)
    end
end
for _, member in ipairs(call('ZRANGE', Q.running, 0, -1)) do
    local key = PartitionKey.key_of(member)
    if call('HEXISTS', Q.partition_keys, key) == 0 then
        find('a key that runs and has no record', key)
    end
end
for _, member in ipairs(call('ZRANGE', Q.waiting, 0, -1)) do
    local key = PartitionKey.key_of(member)
    if PartitionKey.free_leases(key) > 0 and PartitionKey.of(key).stands == '-' and not moving then
        find('a key that is left behind', key)
    end
end

local names = {
    [Q.ready] = 'ready', [Q.failed] = 'failed', [Q.waiting] = 'waiting', [Q.places] = 'places',
    [Q.due] = 'due', [Q.later] = 'later', [Q.leased] = 'leased', [Q.running] = 'running',
    [Q.completed] = 'completed', [Q.dead] = 'dead', [Q.cancelled] = 'cancelled',
    [Q.held] = 'held', [Q.turns] = 'turns', [Q.alarms] = 'alarms',
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
