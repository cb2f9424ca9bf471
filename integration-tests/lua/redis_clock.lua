-- Is put before every script of a store under test, so that `TIME` answers the clock of the test.
-- It answers the last microsecond of a millisecond: a script that rounded up would be early.
-- The harness replaces CLOCK by an expression that reads the number the test has written, and
-- STANDS by whether that is the ms at which the clock stands, or how many ms it is ahead of the
-- server's.
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
