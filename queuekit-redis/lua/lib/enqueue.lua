-- Stores new jobs in the queue that is in use (contract R2). It is put before the scripts that do
-- so. Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua. A job is four
-- values: id; + and a delay or @ and an instant, in ms; deadline in ms from now, 0 if none; its
-- data from the version on.

-- Per job that was not created, its number and a reason: `same`, the present and when the job with
-- its id was created, which has its kind and payload; `other` and nothing if that job has not; `key`
-- and the id of the holder of its idempotency key; or `full` and nothing.
local answer = {}

-- Records of the same kind and payload differ in length by less: by their keys and metadata.
local MARGIN = 40960

local function refuse(number, reason, with)
    answer[#answer + 1] = number
    answer[#answer + 1] = reason
    answer[#answer + 1] = with
end

local function start_of(text)
    local value = tonumber(sub(text, TAGGED.rest))
    if sub(text, TAGGED.tag) == '+' then
        return now + value
    end
    return math.max(value, now)
end

-- The scores of jobs that are due at once, by level.
local scores = {}

local function score_now(level)
    scores[level] = scores[level] or format('%.0f', tonumber(level, 16) * LEVEL + now)
    return scores[level]
end

-- The partition key and the idempotency key.
local function keys_of(static)
    if sub(static, STATIC.keys) == STATIC.keys.zero then
        return '', ''
    end
    local key_to = STATIC.head.to + hex(static, STATIC.key)
    return sub(static, STATIC.rest, key_to),
        sub(static, key_to + 1, key_to + hex(static, STATIC.unique))
end

-- A broken record may be empty.
local function length_of(id)
    local length = call('HSTRLEN', Q.data, id)
    return (length > 0 or call('HEXISTS', Q.data, id) == 1) and length
end

-- Whether the data of a stored job was found, in any queue.
local some = false

-- The length of the data under each of these ids; false if there is none. Once data was found, none
-- is read for others: a call may name many large jobs.
local function lengths_of(ids)
    local lengths = {}
    for from = 1, #ids, IDS_AT_ONCE do
        local to = math.min(from + IDS_AT_ONCE - 1, #ids)
        local values = not some and call('HMGET', Q.data, unpack(ids, from, to))
        for at = from, to do
            if values then
                local value = values[at - from + 1]
                lengths[ids[at]], some = value and #value, some or value
            else
                lengths[ids[at]] = length_of(ids[at])
            end
        end
    end
    return lengths
end

-- The kind of a job whose keys end at a place of a record.
local function kind_after(record, keys_to)
    local to = record:find(' ', keys_to + 1, true)
    return to and sub(record, keys_to + 1, to - 1)
end

-- The kind, payload and time of a stored job, even of one that cannot be served; nothing if the
-- lengths of its parts are lost.
local function content_of(data)
    if not Job.has_form(data) then
        return {}
    end
    local keys_to = DATA.head.to + hex(data, DATA.key) + hex(data, DATA.unique)
    local payload = sub(data, #data + 1 - hex(data, DATA.payload))
    return { kind = kind_after(data, keys_to), payload = payload, created = sub(data, DATA.created) }
end

-- Whether the content is that of a job to store.
local function is_same(content, static)
    local size = hex(static, STATIC.payload)
    if #(content.payload or '') ~= size then
        return false
    end
    local keys_to = STATIC.head.to + hex(static, STATIC.key) + hex(static, STATIC.unique)
    return content.kind == kind_after(static, keys_to)
        and content.payload == sub(static, #static + 1 - size)
end

-- Stores `count` jobs of a list from a place on; in the answer the first of them has the number
-- `number`.
local function enqueue(jobs, from, count, number)
    -- Each id once: a call may name one large job a thousand times.
    local ids, distinct, named, contents = {}, {}, {}, {}
    for job = 1, count do
        local id = jobs[from + job * 4 - 4]
        ids[job] = id
        if not named[id] then
            distinct[#distinct + 1] = id
            named[id] = true
        end
    end
    local lengths = lengths_of(distinct)
    local free = max_pending and Change.room() or math.huge
    local seq = call('HINCRBY', Q.meta, 'seq', count) - count
    local data, fresh, keys, stored_now = {}, {}, {}, 0
    for job = 1, count do
        local base = from + job * 4 - 4
        local id, start, static = ids[job], jobs[base + 1], jobs[base + 3]
        local key, unique = keys_of(static)
        local held = not lengths[id] and unique ~= '' and Change.holder(unique, fresh)
        if lengths[id] then
            if not contents[id] and math.abs(lengths[id] - #static) <= MARGIN then
                contents[id] = content_of(fresh[id] or call('HGET', Q.data, id))
            end
            if contents[id] and is_same(contents[id], static) then
                refuse(number + job - 1, 'same', now_hex .. contents[id].created)
            else
                refuse(number + job - 1, 'other', '')
            end
        elseif held then
            refuse(number + job - 1, 'key', held)
        elseif free <= 0 then
            refuse(number + job - 1, 'full', '')
        else
            free, seq = free - 1, seq + 1
            local due = start == '+0' and now or start_of(start)
            local seq_text, at, level = seq_hex(seq), now_hex, sub(static, STATIC.level)
            local entry = seq_text .. id
            if due ~= now then
                at = time_hex(due)
            end
            local ends = jobs[base + 2]
            local deadline = ends == '0' and NO_TIME or time_hex(now + ends)
            local text = DATA.write({
                seq = seq_text, scheduled = at, deadline = deadline, created = now_hex,
                written = static,
            })
            fresh[id], lengths[id] = text, #text
            stored_now = stored_now + 2
            data[stored_now - 1], data[stored_now] = id, text
            if key ~= '' then
                PartitionKey.wait(key, entry, at, level)
                keys[key] = keys[key] or { entry = entry, at = due, level = tonumber(level, 16) }
            else
                local score = due == now and score_now(level) or tonumber(level, 16) * LEVEL + due
                write('ZADD', Q.ready, score, entry)
                if fair then
                    write('ZADD', Q.waiting, 0, PartitionKey.waiting_member('', entry, at, level))
                    touch('')
                end
            end
            if unique ~= '' then
                Change.take_unique(unique, id)
            end
        end
    end
    if next(keys) then
        PartitionKey.join(keys)
    end
    stirred = stored_now > 0
    conclude()
    -- The data is written last: if another program's key is in the way, no job is stored that
    -- nobody serves.
    if stored_now > 0 then
        call('HSET', Q.data, unpack(data))
    end
end
