-- Reads entries of the audit log, newest first (contract R8.6).
-- KEYS: the entries, newest first. Their numbers have no gaps.
-- ARGV: 1 the number they are before, empty for the newest; 2 most entries.
-- Result: per entry its number, its time in ms and its act, with a space between them.
local call = redis.call
local latest = call('LINDEX', KEYS[1], 0)
if not latest then
    return {}
end
local seq = tonumber(string.match(latest, '^%d+'))
local before = tonumber(ARGV[1]) or seq + 1
local first = math.max(0, seq + 1 - before)
return call('LRANGE', KEYS[1], first, first + ARGV[2] - 1)
