-- Enters queues in the sorted set of all queues, or none of them.
-- KEYS: the sorted set of all queues.
-- ARGV: 1 most queues; 2 and more names.
-- Result: 1, or how many queues there are and the first name that is one too many.
local call = redis.call
local count = call('ZCARD', KEYS[1])
local entries = {}
for at = 2, #ARGV do
    if not call('ZSCORE', KEYS[1], ARGV[at]) then
        count = count + 1
        if count > tonumber(ARGV[1]) then
            return { count - 1, ARGV[at] }
        end
    end
    entries[#entries + 1] = 0
    entries[#entries + 1] = ARGV[at]
end
call('ZADD', KEYS[1], unpack(entries))
return 1
