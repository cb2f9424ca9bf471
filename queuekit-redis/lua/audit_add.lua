-- Adds an entry to the audit log, and removes the oldest (contract R8.6).
-- KEYS: the entries, newest first.
-- ARGV: 1 the act, as JSON; 2 how many are kept.
-- Result: the entry's number.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = call('LINDEX', KEYS[1], 0)
local seq = (latest and tonumber(string.match(latest, '^%d+')) or 0) + 1
call('LPUSH', KEYS[1], string.format('%.0f %.0f %s', seq, now, ARGV[1]))
-- Guard: only the latest entries are kept.
call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
return seq
