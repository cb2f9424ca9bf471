-- Lists every key of a store, and changes nothing.
-- KEYS: none: of a Cluster, all that the node has.
-- ARGV: 1 a pattern of keys.
-- Result: a line per key, and per part of its value, in order; bytes that cannot be printed escaped.
local lines = {}

local function tell(key, ...)
    local parts = { ... }
    for at, part in ipairs(parts) do
        parts[at] = string.format('%q', part)
    end
    lines[#lines + 1] = key .. ' ' .. table.concat(parts, ' ')
end

local function tell_pairs(key, list)
    for at = 1, #list, 2 do
        tell(key, list[at], list[at + 1])
    end
end

-- When a key expires; -1 if it never does. A server before 7.0 does not give the time.
local function goes_at(key)
    local at = redis.pcall('PEXPIRETIME', key)
    if type(at) == 'table' then
        return redis.call('PTTL', key) == -1 and '-1' or 'at some time'
    end
    return tostring(at)
end

local function tell_all(key)
    local kind = redis.call('TYPE', key).ok
    tell(key, kind, goes_at(key))
    if kind == 'string' then
        tell(key, redis.call('GET', key))
    elseif kind == 'hash' then
        tell_pairs(key, redis.call('HGETALL', key))
    elseif kind == 'zset' then
        tell_pairs(key, redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'))
    elseif kind == 'set' then
        for _, member in ipairs(redis.call('SMEMBERS', key)) do
            tell(key, member)
        end
    elseif kind == 'list' then
        for at, item in ipairs(redis.call('LRANGE', key, 0, -1)) do
            tell(key, tostring(at), item)
        end
    else
        tell(key, 'cannot be told', redis.sha1hex(redis.call('DUMP', key)))
    end
end

for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
    -- The clock of tests is no part of the store.
    if not key:find(':test_clock$') then
        tell_all(key)
    end
end
table.sort(lines)
return lines
