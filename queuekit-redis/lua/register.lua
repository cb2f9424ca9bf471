-- Enters queues in the set of all queues, or none of them.
-- KEYS: the set of all queues.
-- ARGV: 1 most queues; 2 and more names.
-- Result: 1, or how many queues there are and the first name that is one too many.
local call = redis.call
local count = call('SCARD', KEYS[1])
for at = 2, #ARGV do
    if call('SISMEMBER', KEYS[1], ARGV[at]) == 0 then
        count = count + 1
        if count > tonumber(ARGV[1]) then
            return { count - 1, ARGV[at] }
        end
    end
end
call('SADD', KEYS[1], unpack(ARGV, 2))
return 1
