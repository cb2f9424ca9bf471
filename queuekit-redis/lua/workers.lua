-- Reads the beats of listed workers (contract R3.9).
-- KEYS: WORKERS: the beats, when they run out, ids in order, and orders.
-- ARGV: 1 which: n the one of an id, a those after an id; 2 the id, empty for none; with a: 3 most
-- workers, 4 most bytes.
-- Result: now; if there are more, the id of the last, else empty; then the beats: worker, time,
-- content, orders.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer, bytes = { string.format('%.0f', now), '' }, 0

-- The beat of a worker that is listed.
local function beat_of(worker)
    local listed = call('ZSCORE', KEYS[WORKERS.expiry], worker)
    return listed and tonumber(listed) > now and call('HGET', KEYS[WORKERS.beats], worker)
end

local function add(worker, beat)
    answer[#answer + 1] = worker
    answer[#answer + 1] = string.sub(beat, BEAT.at)
    answer[#answer + 1] = string.sub(beat, BEAT.rest)
    answer[#answer + 1] = call('HGET', KEYS[WORKERS.orders], worker) or ''
    bytes = bytes + #beat
end

if ARGV[1] == 'n' then
    local beat = beat_of(ARGV[2])
    if beat then
        add(ARGV[2], beat)
    end
    return answer
end
local most, most_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
repeat
    local workers = call('ZRANGE', KEYS[WORKERS.ids], from, '+', 'BYLEX', 'LIMIT', 0, most + 1)
    for _, worker in ipairs(workers) do
        local beat = beat_of(worker)
        -- The first fits whatever its size.
        local fits = bytes == 0 or beat and bytes + #beat <= most_bytes
        if beat and (not fits or #answer == most * 4 + 2) then
            answer[2] = answer[#answer - 3]
            return answer
        end
        if beat then
            add(worker, beat)
        end
        from = '(' .. worker
    end
until #workers <= most
return answer
