-- What every script on a queue begins with: the instant of the call, the forms of numbers, and the
-- marker.
--
-- Names in capitals like STATE and QUEUE are records and keys of src/layout.rs. A script is sent
-- with their numbers instead; src/layout/lua.rs has the forms.
local sub, byte, format, floor = string.sub, string.byte, string.format, math.floor

-- Scores of `ready` are level x LEVEL + ms: exact in a double, and one set serves all priorities.
local LEVEL = 8796093022208
-- How many ids of new jobs are looked up at once: the data of stored ones comes with them, and may
-- be large.
local IDS_AT_ONCE = 8
-- In the records of a job: no time.
local NO_TIME = STATE.started.zero

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local now_hex = format(STATE.started.hex, now)

local function seq_hex(number)
    return format(STATE.seq.hex, number)
end

-- Sets a queue's marker, which wakes one sleeper and stays until one takes it.
local function set_marker(key)
    if redis.call('LLEN', key) == 0 then
        redis.call('LPUSH', key, '1')
    end
end
