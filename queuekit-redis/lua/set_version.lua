-- Sets the version of the stored data, unless another program has changed it meanwhile.
-- KEYS: 1 the version.
-- ARGV: 1 what was read there, empty if nothing; 2 what to write.
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[2])
end
