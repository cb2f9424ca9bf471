-- Reads the beats of the listed workers, or that of one (contract R3.9).
-- KEYS: the beats of workers; when they run out.
-- ARGV: the worker; none for all of them.
-- Result: now, then the beats: worker, time, content.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = { string.format('%.0f', now) }
local workers
if ARGV[1] then
    local listed = call('ZSCORE', KEYS[2], ARGV[1])
    workers = listed and tonumber(listed) > now and { ARGV[1] } or {}
else
    local from = '(' .. string.format('%.0f', now)
    workers = call('ZRANGE', KEYS[2], from, '+inf', 'BYSCORE')
end
for _, worker in ipairs(workers) do
    local beat = call('HGET', KEYS[1], worker)
    if beat then
        answer[#answer + 1] = worker
        answer[#answer + 1] = string.sub(beat, 1, 13)
        answer[#answer + 1] = string.sub(beat, 14)
    end
end
return answer
