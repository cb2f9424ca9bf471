-- Reads the beats of the listed workers, or that of one (contract R3.9).
-- KEYS: WORKERS: the beats, and when they run out.
-- ARGV: the worker; none for all of them.
-- Result: now, then the beats: worker, time, content.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = { string.format('%.0f', now) }
local workers
if ARGV[1] then
    local listed = call('ZSCORE', KEYS[WORKERS.expiry], ARGV[1])
    workers = listed and tonumber(listed) > now and { ARGV[1] } or {}
else
    local from = '(' .. string.format('%.0f', now)
    workers = call('ZRANGE', KEYS[WORKERS.expiry], from, '+inf', 'BYSCORE')
end
for _, worker in ipairs(workers) do
    local beat = call('HGET', KEYS[WORKERS.beats], worker)
    if beat then
        answer[#answer + 1] = worker
        answer[#answer + 1] = string.sub(beat, BEAT.at)
        answer[#answer + 1] = string.sub(beat, BEAT.rest)
    end
end
return answer
