-- Compares the parts of the log of events with each other, and changes nothing.
-- Needs lib/queue.lua of the store.
-- KEYS: those of the log, as emit.lua has them.
-- ARGV: none.
-- Result: a line for each thing that is wrong.
local order, records, data, keys, deliveries = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local wrong, large, unique, named = {}, 0, 0, 0

local function find(what)
    if #wrong < 50 then
        wrong[#wrong + 1] = what
    end
end

local all = call('ZRANGE', order, 0, -1, 'WITHSCORES')
for item = 1, #all, 2 do
    local number = hex12(tonumber(all[item + 1]))
    local record = call('HGET', records, number)
    if not record then
        find(number .. ': no record')
    else
        if sub(record, 13, 13) == '1' then
            large = large + 1
            if call('HSTRLEN', data, number) ~= hex(record, 23, 29) then
                find(number .. ': its data is not there')
            end
        end
        local kind, key, length = hex(record, 14, 16), hex(record, 17, 19), hex(record, 20, 22)
        if length > 0 then
            unique = unique + 1
            local its = sub(record, 30 + kind + key, 29 + kind + key + length)
            if call('HGET', keys, sub(record, 30, 29 + kind) .. ' ' .. its) ~= all[item] then
                find(number .. ': its key is not its own')
            end
        end
    end
    named = named + call('HEXISTS', deliveries, number)
end
for what, count in pairs({ records = #all / 2, data = large, keys = unique, deliveries = named }) do
    local at = ({ records = 3, data = 4, keys = 5, deliveries = 6 })[what]
    if call('HLEN', KEYS[at]) ~= count then
        find(what .. ': ' .. call('HLEN', KEYS[at]) .. ' and not ' .. count)
    end
end
return wrong
