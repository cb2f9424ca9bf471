-- The keys of a queue, its settings, and the notes of what is written. Needs lib/base.lua.
-- KEYS: those of a queue from `base` on.

-- In the records of a job: no nonce.
local NO_NONCE = string.rep('\0', STATE.nonce.width)

-- `now_text` is the present as text for scores: the server would spell a number out at length.
local now_ms, now_text = format(BEAT.at.decimal, now), format('%.0f', now)

-- The names of the queue's keys by part, and its settings.
local Q, per_key, skip, hold, fair, paused, paused_until, max_pending, dedup, moving, known

-- Partition keys that have changed; the records of those that were read; the turn that is served;
-- whether the queue gained work, or a key let another job go.
local touched, partition_keys, clock, stirred

-- What failures and deaths add to error groups; nil if there were none.
local counted

-- Pieces that a script may need: lib/NAME.lua. Most of the cost of a small call is creating
-- functions, so a piece is created at its first use.
local Job, PartitionKey, Change, Frontier, View, Reserve, Plain, Payload, Rank, Recent

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
    if command.size > 2 then
        redis.call(unpack(command, 1, command.size))
    end
end

-- The command that is noted for a key, to which a caller may add values.
local function noting(name, key)
    local command = noted[key]
    -- Bounded, because `unpack` puts every value on the stack of Lua.
    if command and (command[1] ~= name or command.size > 2000) then
        flush(key)
        command = nil
    end
    if not command then
        command = { name, key, size = 2 }
        noted[key] = command
        noted_keys[#noted_keys + 1] = key
    end
    return command
end

-- Notes a member to add or remove, or a field to set. It is written with others at the end, or
-- before its key is read.
local function write(name, key, first, second)
    local command = noting(name, key)
    local size = command.size + 1
    command[size] = first
    if second then
        size = size + 1
        command[size] = second
    end
    command.size = size
end

local function call(name, key, ...)
    -- A read must see what this script has noted before.
    if noted[key] then
        flush(key)
    end
    return redis.call(name, key, ...)
end

local function use(base)
    Q = QUEUE.named(base)
    touched, partition_keys, clock, stirred = {}, {}, nil, false
    local settings = call('HMGET', Q.meta, 'known', 'paused', 'per_key', 'key_on_wait',
        'key_on_dead', 'order', 'max_pending', 'dedup_window_ms', 'moving')
    known, paused_until = settings[1], tonumber(settings[2] or 0)
    -- 1 if the pause has no end.
    paused = paused_until == 1 or paused_until > now
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

local function ms_text(ms)
    return format(UNIQUE.free_at.decimal, ms)
end

local function time_hex(ms)
    return format(STATE.started.hex, ms)
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
    if counted then
        Change.store_errors()
    end
    flush_all()
    if stirred then
        set_marker(Q.wake)
    end
end
