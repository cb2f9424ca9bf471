-- Turns the set of all queues, which versions 1 and 2 kept, into a sorted set.
-- KEYS: 1 the set of all queues.
local names = redis.pcall('SMEMBERS', KEYS[1])
if names.err then
    return -- It is sorted already.
end
redis.call('UNLINK', KEYS[1])
for _, name in ipairs(names) do
    redis.call('ZADD', KEYS[1], 0, name)
end
