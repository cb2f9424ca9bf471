-- The keys of a queue, its settings, and the instant of the call.
-- KEYS: those of a queue from `base` on, in the order of `use`, as src/keys.rs builds them.
-- ARGV[1]: the present in ms for tests, or empty for the server's clock.
local call, sub, byte, format = redis.call, string.sub, string.byte, string.format
local floor = math.floor

-- Scores of `ready` are level x LEVEL + ms: exact in a double, and one set serves all priorities.
local LEVEL = 8796093022208
-- A time in the records of a job that is none.
local NOTHING = '00000000000'

-- `now_text` is what a score is told as: the server would print a number at some length.
local now, now11, now13, now_text
if ARGV[1] ~= '' then
    now = tonumber(ARGV[1])
else
    local time = call('TIME')
    now = time[1] * 1000 + floor(time[2] / 1000)
end
now11, now13, now_text = format('%011x', now), format('%013.0f', now), format('%.0f', now)

-- meta, data, state; leased, ready, completed, dead, cancelled; notes, failed, unique (and when it
-- becomes free), ends, wake; of lanes: records, waiting by sequence, by place, due, later; turns,
-- alarms, held, running.
local M, D, S, L, P, C, X, N, O, F, U, UF, E, W, K, KW, KO, KD, KL, G, T, H, R
local per_key, skip, hold, fair, paused, max_pending, dedup, moving, known

local function use(base)
    M, D, S, L, P, C = KEYS[base], KEYS[base + 1], KEYS[base + 2], KEYS[base + 3], KEYS[base + 4],
        KEYS[base + 5]
    X, N, O, F, U, UF = KEYS[base + 6], KEYS[base + 7], KEYS[base + 8], KEYS[base + 9],
        KEYS[base + 10], KEYS[base + 11]
    E, W, K, KW, KO, KD = KEYS[base + 12], KEYS[base + 13], KEYS[base + 14], KEYS[base + 15],
        KEYS[base + 16], KEYS[base + 17]
    KL, G, T, H, R = KEYS[base + 18], KEYS[base + 19], KEYS[base + 20], KEYS[base + 21],
        KEYS[base + 22]
    local settings = call('HMGET', M, 'known', 'paused', 'per_key', 'skip', 'hold', 'fair',
        'max_pending', 'dedup_ms', 'moving')
    known = settings[1]
    paused, skip = settings[2] == '1', settings[4] == '1'
    hold, fair = settings[5] == '1', settings[6] == '1'
    per_key = tonumber(settings[3] or 1)
    max_pending = tonumber(settings[7] or nil)
    dedup = tonumber(settings[8] or 86400000)
    moving = settings[9]
end

-- The queue comes to exist. What an earlier one of its name has left (remove.lua) is its own now.
local function establish()
    call('HSET', M, 'known', '1')
    call('PERSIST', U)
    call('PERSIST', UF)
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

-- Whether the queue gained work, or a key let another job go.
local stirred = false

-- One marker wakes one sleeper; it stays until somebody takes it.
local function wake()
    if call('LLEN', W) == 0 then
        call('LPUSH', W, '1')
    end
end
