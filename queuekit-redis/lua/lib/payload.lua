-- Replaces the number of an event in a delivery by the event's data (see emit.lua). Needs
-- lib/queue.lua. KEYS[24]: the data of events.

-- A job's data with its payload; unchanged if the event is gone.
local function whole(data)
    if sub(data, 49, 49) ~= '2' then
        return data
    end
    local payload = call('HGET', KEYS[24], sub(data, -12))
    if not payload then
        return data
    end
    return sub(data, 1, 48) .. '0' .. sub(data, 50, 58) .. format('%07x', #payload)
        .. sub(data, 66, -13) .. payload
end

-- The bytes of that payload; 0 if the event is gone.
local function length(data)
    return call('HSTRLEN', KEYS[24], sub(data, -12))
end

return { whole = whole, length = length }
