-- The errors of a group by hour and by day (contract R8.11). Core reads them, and rolls them as this
-- does. Needs lib/queue.lua.

-- Numbers of hours or days, the latest first, with what is counted now, `later` of these units after
-- the group's last error.
local function rolled(numbers, later, most, errors)
    local counts = {}
    for place = 1, later < most and later or 0 do
        counts[place] = 0
    end
    for number in string.gmatch(later < most and numbers or '', '%d+') do
        -- Guard: what is over is forgotten.
        if #counts < most then
            counts[#counts + 1] = tonumber(number)
        end
    end
    -- If the clock was set back, the group has later errors than these.
    local place = math.max(0, -later) + 1
    for gap = #counts + 1, math.min(place, most) do
        counts[gap] = 0
    end
    if place <= most then
        counts[place] = counts[place] + errors
    end
    return table.concat(counts, ',')
end

-- The same. Most errors are of the hour of the last one: then no number but the first is read.
local function added(numbers, later, most, errors)
    local latest = later == 0 and string.match(numbers, '^%d+')
    if latest then
        return latest + errors .. sub(numbers, #latest + 1)
    end
    return rolled(numbers, later, most, errors)
end

-- What follows the head of a group's record, after errors that are counted now.
local function after(record, errors)
    local numbers, last = record and sub(record, GROUP.rest) or '', now
    if record then
        last = tonumber(sub(record, GROUP.last), 16)
    end
    local middle = string.find(numbers, ';', 1, true) or #numbers + 1
    local hours, days = sub(numbers, 1, middle - 1), sub(numbers, middle + 1)
    local hour = floor(now / 3600000) - floor(last / 3600000)
    local day = floor(now / 86400000) - floor(last / 86400000)
    return added(hours, hour, 24, errors) .. ';' .. added(days, day, 7, errors)
end

return { after = after }
