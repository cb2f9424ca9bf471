-- A worker says that it is there (contract R3.9).
-- KEYS: the beats of workers; when they run out.
-- ARGV: 1 the present in ms for tests, or empty; 2 worker; 3 how long it is listed, in ms; 4 what
-- it says; without them only what ran out is forgotten.
-- Result: now, then the beats: worker, when, what it said.
local call = redis.call
local now = tonumber(ARGV[1])
if not now then
    local time = call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
if ARGV[2] then
    for _, gone in ipairs(call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
        call('ZREM', KEYS[2], gone)
        call('HDEL', KEYS[1], gone)
    end
    call('ZADD', KEYS[2], now + ARGV[3], ARGV[2])
    call('HSET', KEYS[1], ARGV[2], string.format('%013.0f', now) .. ARGV[4])
    return {}
end
local answer = { string.format('%.0f', now) }
local from = '(' .. string.format('%.0f', now)
for _, worker in ipairs(call('ZRANGE', KEYS[2], from, '+inf', 'BYSCORE')) do
    local beat = call('HGET', KEYS[1], worker)
    if beat then
        answer[#answer + 1] = worker
        answer[#answer + 1] = string.sub(beat, 1, 13)
        answer[#answer + 1] = string.sub(beat, 14)
    end
end
return answer
