-- Compares the parts of the log of events with each other, and changes nothing.
-- Needs lib/queue.lua of the store.
-- KEYS: LOG.
-- ARGV: none.
-- Result: a line for each thing that is wrong.
local order, records, data = KEYS[LOG.order], KEYS[LOG.records], KEYS[LOG.data]
local keys, deliveries = KEYS[LOG.keys], KEYS[LOG.deliveries]
local wrong, large, unique, named = {}, 0, 0, 0

local function find(what)
    if #wrong < 50 then
        wrong[#wrong + 1] = what
    end
end

local all = call('ZRANGE', order, 0, -1, 'WITHSCORES')
for item = 1, #all, 2 do
    local number = seq_hex(tonumber(all[item + 1]))
    local record = call('HGET', records, number)
    if not record then
        find(number .. ': no record')
    else
        if sub(record, EVENT.apart) == '1' then
            large = large + 1
            if call('HSTRLEN', data, number) ~= hex(record, EVENT.data) then
                find(number .. ': its data is not there')
            end
        end
        local kind_to = EVENT.head.to + hex(record, EVENT.kind)
        local key_to = kind_to + hex(record, EVENT.key)
        local length = hex(record, EVENT.unique)
        if length > 0 then
            unique = unique + 1
            local its = sub(record, key_to + 1, key_to + length)
            if call('HGET', keys, sub(record, EVENT.rest, kind_to) .. ' ' .. its) ~= all[item] then
                find(number .. ': its key is not its own')
            end
        end
    end
    named = named + call('HEXISTS', deliveries, number)
end
for what, count in pairs({ records = #all / 2, data = large, keys = unique, deliveries = named }) do
    local key = ({ records = records, data = data, keys = keys, deliveries = deliveries })[what]
    if call('HLEN', key) ~= count then
        find(what .. ': ' .. call('HLEN', key) .. ' and not ' .. count)
    end
end
return wrong
