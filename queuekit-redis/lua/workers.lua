-- The workers that are there (contract R3.9).
-- KEYS: the beats of workers; when they run out.
-- ARGV: 1 the present in ms for tests, or empty.
-- Result: now, then the beats: worker, when, what it said.
local call = redis.call
local now = tonumber(ARGV[1])
if not now then
    local time = call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
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
