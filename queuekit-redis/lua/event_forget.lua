-- Removes events from the log, except those whose data a delivery may still need: one that is
-- stored and not completed (contract R14.6). Needs lib/queue.lua.
-- KEYS: LOG; then JOBS of each queue.
-- ARGV: 1 how many queues; their names; then per event its number and its id.
-- Result: how many were removed.
local order, records, large = KEYS[LOG.order], KEYS[LOG.records], KEYS[LOG.data]
local keys, deliveries = KEYS[LOG.keys], KEYS[LOG.deliveries]
local count = tonumber(ARGV[1])
local base_of = {}
for queue = 1, count do
    base_of[ARGV[1 + queue]] = LOG.count + (queue - 1) * JOBS.count
end

local function is_open(name, id)
    local base = base_of[name]
    -- A delivery in another queue was made since the caller looked.
    if not base then
        return true
    end
    return call('HEXISTS', KEYS[base + JOBS.data], id) == 1
        and sub(call('HGET', KEYS[base + JOBS.state], id) or '', STATE.state) ~= 'c'
end

local function is_needed(number)
    local its, to = call('HGET', deliveries, number) or '', 0
    while to < #its do
        local from = to + DELIVERY.name.to
        to = from + (hex(its, to + DELIVERY.name.from, from) or #its)
        if is_open(sub(its, from + 1, to), sub(its, to + 1, to + DELIVERY.id.width)) then
            return true
        end
        to = to + DELIVERY.id.width
    end
    return false
end

local removed = 0
for at = 2 + count, #ARGV, 2 do
    local number, id = seq_hex(tonumber(ARGV[at])), ARGV[at + 1]
    if call('ZSCORE', order, id) == ARGV[at] and not is_needed(number) then
        local record = call('HGET', records, number) or ''
        local kind, key = hex(record, EVENT.kind), hex(record, EVENT.key)
        local unique = hex(record, EVENT.unique)
        if unique and unique > 0 then
            local kind_to = EVENT.head.to + kind
            local key_to = kind_to + key
            local field = sub(record, EVENT.rest, kind_to) .. ' '
                .. sub(record, key_to + 1, key_to + unique)
            if call('HGET', keys, field) == id then
                call('HDEL', keys, field)
            end
        end
        call('ZREM', order, id)
        call('HDEL', records, number)
        call('HDEL', large, number)
        call('HDEL', deliveries, number)
        removed = removed + 1
    end
end
return removed
