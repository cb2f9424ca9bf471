-- Replaces the number of an event in a delivery by the event's data (see emit.lua). Needs
-- lib/queue.lua. KEYS: after those of the queue: the data of events.

-- The number of the event, which the delivery has for its payload.
local function number_of(data)
    return sub(data, -NUMBER.head.width)
end

-- A job's data with its payload; unchanged if the event is gone.
local function whole(data)
    if sub(data, DATA.flag) ~= '2' then
        return data
    end
    local payload = call('HGET', KEYS[QUEUE.next], number_of(data))
    if not payload then
        return data
    end
    local rest = #data - NUMBER.head.width
    data = DATA.with(data, { flag = '0', payload = format(DATA.payload.hex, #payload) })
    return sub(data, 1, rest) .. payload
end

-- The bytes of that payload; 0 if the event is gone.
local function length(data)
    return call('HSTRLEN', KEYS[QUEUE.next], number_of(data))
end

return { whole = whole, length = length }
