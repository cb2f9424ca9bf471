-- The keys of a queue, its settings, and the instant of the call.
-- KEYS: those of a queue from `base` on, in the order of `use`, as src/keys.rs builds them.
local sub, byte, format, floor = string.sub, string.byte, string.format, math.floor

-- Scores of `ready` are level x LEVEL + ms: exact in a double, and one set serves all priorities.
local LEVEL = 8796093022208
-- In the records of a job: no time, and no nonce.
local NOTHING, NO_NONCE = '00000000000', string.rep('\0', 16)

-- `now_text` is the present as text for scores: the server would spell a number out at length.
local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local now11, now13, now_text = format('%011x', now), format('%013.0f', now), format('%.0f', now)

-- The names of the queue's keys by part, and its settings.
local Q, per_key, skip, hold, fair, paused, max_pending, dedup, moving, known

-- Partition keys that have changed; the records of those that were read; the turn that is served;
-- whether the queue gained work, or a key let another job go.
local touched, partition_keys, clock, stirred

-- Pieces that a script may need: lib/NAME.lua. Most of the cost of a small call is creating
-- functions, so a piece is created at its first use.
local Job, PartitionKey, Change, Frontier, View, Reserve, Payload

local function piece(make)
    return setmetatable({}, {
        __index = function(self, name)
            setmetatable(self, nil)
            for its, value in pairs(make()) do
                self[its] = value
            end
            return self[name]
        end,
    })
end

-- Noted writes: a command for each key, and the order of the keys.
local noted, noted_keys = {}, {}

local function flush(key)
    local command = noted[key]
    noted[key] = nil
    redis.call(unpack(command, 1, command.size))
end

-- Notes a member to add or remove, or a field to set. It is written with others at the end, or
-- before its key is read.
local function write(name, key, first, second)
    local command = noted[key]
    if command and (command[1] ~= name or command.size > 2000) then
        flush(key)
        command = nil
    end
    if not command then
        command = { name, key, size = 2 }
        noted[key] = command
        noted_keys[#noted_keys + 1] = key
    end
    local size = command.size + 1
    command[size] = first
    if second then
        size = size + 1
        command[size] = second
    end
    command.size = size
end

local function call(name, key, ...)
    if noted[key] then
        flush(key)
    end
    return redis.call(name, key, ...)
end

local function use(base)
    Q = {
        meta = KEYS[base], data = KEYS[base + 1], state = KEYS[base + 2], leased = KEYS[base + 3],
        ready = KEYS[base + 4], completed = KEYS[base + 5], dead = KEYS[base + 6],
        cancelled = KEYS[base + 7], notes = KEYS[base + 8], failed = KEYS[base + 9],
        unique = KEYS[base + 10], unique_free = KEYS[base + 11], ends = KEYS[base + 12],
        wake = KEYS[base + 13], partition_keys = KEYS[base + 14], waiting = KEYS[base + 15],
        places = KEYS[base + 16], due = KEYS[base + 17], later = KEYS[base + 18],
        turns = KEYS[base + 19], alarms = KEYS[base + 20], held = KEYS[base + 21],
        running = KEYS[base + 22],
    }
    touched, partition_keys, clock, stirred = {}, {}, nil, false
    local settings = call('HMGET', Q.meta, 'known', 'paused', 'per_key', 'key_on_wait',
        'key_on_dead', 'order', 'max_pending', 'dedup_window_ms', 'moving')
    known, paused = settings[1], settings[2] == '1'
    skip, hold, fair = settings[4] == 'skip', settings[5] == 'hold', settings[6] == 'fair'
    per_key = tonumber(settings[3] or 1)
    max_pending = tonumber(settings[7] or nil)
    dedup = tonumber(settings[8] or 86400000)
    moving = settings[9]
end

-- Creates the queue. It takes over what an earlier queue of its name has left (remove.lua).
local function establish()
    call('HSET', Q.meta, 'known', '1')
    call('PERSIST', Q.unique)
    call('PERSIST', Q.unique_free)
end

local function ms13(ms)
    return format('%013.0f', ms)
end

local function hex11(ms)
    return format('%011x', ms)
end

local function hex12(number)
    return format('%012x', number)
end

-- Caches numbers as text: lengths, levels and times repeat often.
local numbers = {}

local function hex(text, from, to)
    local digits = sub(text, from, to)
    local number = numbers[digits]
    if not number then
        number = tonumber(digits, 16)
        numbers[digits] = number
    end
    return number
end

-- Sets the marker, which wakes one sleeper and stays until one takes it.
local function wake()
    if call('LLEN', Q.wake) == 0 then
        call('LPUSH', Q.wake, '1')
    end
end

-- Notes that a key has changed.
local function touch(key)
    touched[key] = true
    stirred = stirred or key ~= ''
end

-- Puts the touched keys where their next jobs are served.
local function refresh_touched()
    if next(touched) then
        local keys = touched
        touched = {}
        PartitionKey.refresh_all(keys)
    end
end

-- Writes all notes, in the order in which the keys were first noted.
local function flush_all()
    for _, key in ipairs(noted_keys) do
        if noted[key] then
            flush(key)
        end
    end
    noted_keys = {}
end

-- Ends a script that has changed jobs: writes the rest, and wakes a sleeper.
local function conclude()
    refresh_touched()
    if next(partition_keys) then
        PartitionKey.store()
    end
    flush_all()
    if stirred then
        wake()
    end
end
