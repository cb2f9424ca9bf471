-- Stores new jobs in the queue that is in use (contract R2). It is put before the scripts that do
-- so. Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua. A job is four
-- values: id; + and a delay or @ and an instant, in ms; deadline in ms from now, 0 if none; its
-- data from the version on.

-- Per job that was not created, its number and a reason: `same`, the present and the data of the
-- job with its id, if an earlier job of the call has not had it; or `key` and the id of the holder of its idempotency key; or `full` and nothing.
local answer = {}

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

-- Stores `count` jobs of a list from a place on; in the answer the first of them has the number
-- `number`.
local function enqueue(jobs, from, count, number)
    -- Each id once: a call may name one large job a thousand times.
    local ids, distinct, places, told = {}, {}, {}, {}
    for job = 1, count do
        local id = jobs[from + job * 4 - 4]
        ids[job] = id
        if not places[id] then
            distinct[#distinct + 1] = id
            places[id] = #distinct
        end
    end
    local stored = call('HMGET', Q.data, unpack(distinct))
    local free = max_pending and Change.room() or math.huge
    local seq = call('HINCRBY', Q.meta, 'seq', count) - count
    local data, fresh, keys, stored_now = {}, {}, {}, 0
    for job = 1, count do
        local base = from + job * 4 - 4
        local id, start, static = ids[job], jobs[base + 1], jobs[base + 3]
        local key, unique = keys_of(static)
        local same = stored[places[id]] or fresh[id]
        local held = not same and unique ~= '' and Change.holder(unique, fresh)
        if same then
            refuse(number + job - 1, 'same', now_hex .. (told[id] and '' or same))
            told[id] = true
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
            fresh[id] = text
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
