-- Reads the ages of the next events of the log (contract R14.6). Needs lib/queue.lua.
-- KEYS: LOG.
-- ARGV: 1 the number after which to begin; 2 most events; 3 how many bytes of deliveries are
-- enough.
-- Result: now; how many events there are; how many come before these; whether more follow; per
-- event its number, its id, when it was stored, its deliveries as emit.lua has them.
local order, records, deliveries = KEYS[LOG.order], KEYS[LOG.records], KEYS[LOG.deliveries]
local found = call('ZRANGE', order, '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2],
    'WITHSCORES')
local answer = { now_text, call('ZCARD', order), call('ZCOUNT', order, '-inf', ARGV[1]), 0 }
local bytes = 0
for item = 1, #found, 2 do
    local number = seq_hex(tonumber(found[item + 1]))
    local record = call('HGET', records, number) or ''
    local its = call('HGET', deliveries, number) or ''
    -- The time of an unreadable event is not known: it counts as old.
    for _, part in ipairs({ found[item + 1], found[item],
        format('%.0f', hex(record, EVENT.emitted) or 0), its }) do
        answer[#answer + 1] = part
    end
    bytes = bytes + #its
    if bytes >= tonumber(ARGV[3]) then
        break
    end
end
if #answer - 4 >= ARGV[2] * 4 or (#answer - 4) / 4 < #found / 2 then
    answer[4] = 1
end
return answer
