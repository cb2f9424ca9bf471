-- Stands before every script of a store under test: `TIME` answers what the tests' clock says. It
-- answers the last microsecond of a millisecond, so that a script which rounded up would be early.
-- CLOCK, how a script reads the number that tests have written, and STANDS are put in: the ms at
-- which the clock stands, or how many ms it is ahead of the server's.
local server, clock = redis, tonumber(CLOCK)
local redis = setmetatable({
    call = function(name, ...)
        if name ~= 'TIME' then
            return server.call(name, ...)
        end
        local ms = clock
        if not STANDS then
            local time = server.call('TIME')
            ms = ms + time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local seconds = math.floor(ms / 1000)
        local micros = (ms - seconds * 1000) * 1000 + 999
        return { string.format('%.0f', seconds), string.format('%.0f', micros) }
    end,
}, { __index = server })
