-- Reads events of the log, in their order (contract R14).
-- Needs lib/queue.lua.
-- KEYS: LOG.
-- ARGV: 1 the number after which to begin, or empty; then 2 the event after which to begin, or
-- empty; 3 most events; 4 how many bytes are enough.
-- Result: `gone` if the event after which to begin is gone; else now; whether more follow; the
-- number of the last event of all; per event its number, its id, its record with its data.
local order, records, large = KEYS[LOG.order], KEYS[LOG.records], KEYS[LOG.data]
local after = ARGV[1]
if after == '' and ARGV[2] ~= '' then
    after = call('ZSCORE', order, ARGV[2])
    if not after then
        return 'gone'
    end
end
local last = call('ZRANGE', order, -1, -1, 'WITHSCORES')
local answer, bytes = { now_text, '0', last[2] or '0' }, 0
local from = after == '' and '-inf' or '(' .. after
local found = call('ZRANGE', order, from, '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
for item = 1, #found, 2 do
    local number = seq_hex(tonumber(found[item + 1]))
    local record = call('HGET', records, number) or ''
    if sub(record, EVENT.apart) == '1' then
        record = record .. (call('HGET', large, number) or '')
    end
    local told = #answer
    answer[told + 1], answer[told + 2], answer[told + 3] = found[item + 1], found[item], record
    bytes = bytes + #record
    if bytes >= tonumber(ARGV[4]) then
        break
    end
end
-- Only a page that is not full shows that the log ends there.
if #answer - 3 >= ARGV[3] * 3 or (#answer - 3) / 3 < #found / 2 then
    answer[2] = '1'
end
return answer
