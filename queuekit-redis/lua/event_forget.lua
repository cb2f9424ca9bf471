-- Removes events from the log, except those whose data a delivery may still need: one that is
-- stored and not completed (contract R14.6). Needs lib/queue.lua.
-- KEYS: those of the log, as in emit.lua; then the data and state of each queue.
-- ARGV: 1 how many queues; their names; then per event its number and its id.
-- Result: how many were removed.
local order, records, large = KEYS[2], KEYS[3], KEYS[4]
local keys, deliveries = KEYS[5], KEYS[6]
local count = tonumber(ARGV[1])
local base_of = {}
for queue = 1, count do
    base_of[ARGV[1 + queue]] = 5 + queue * 2
end

local function is_open(name, id)
    local base = base_of[name]
    -- A delivery in another queue was made since the caller looked.
    if not base then
        return true
    end
    return call('HEXISTS', KEYS[base], id) == 1
        and sub(call('HGET', KEYS[base + 1], id) or '', 1, 1) ~= 'c'
end

local function is_needed(number)
    local its, at = call('HGET', deliveries, number) or '', 1
    while at <= #its do
        local to = at + 1 + (tonumber(sub(its, at, at + 1), 16) or #its)
        if is_open(sub(its, at + 2, to), sub(its, to + 1, to + 16)) then
            return true
        end
        at = to + 17
    end
    return false
end

local removed = 0
for at = 2 + count, #ARGV, 2 do
    local number, id = hex12(tonumber(ARGV[at])), ARGV[at + 1]
    if call('ZSCORE', order, id) == ARGV[at] and not is_needed(number) then
        local record = call('HGET', records, number) or ''
        local kind, key, unique = hex(record, 14, 16), hex(record, 17, 19), hex(record, 20, 22)
        if unique and unique > 0 then
            local field = sub(record, 30, 29 + kind) .. ' '
                .. sub(record, 30 + kind + key, 29 + kind + key + unique)
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
