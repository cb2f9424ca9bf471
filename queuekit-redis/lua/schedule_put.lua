-- Changes the row of a schedule if it still has the revision that was read (contract R15.2).
-- KEYS: rows, names, due, the last revision.
-- ARGV: 1 name; 2 revision, empty if there was no row; 3 when it is due in ms, empty if never; 4
-- its record after the revision, empty to remove it; 5 most schedules; 6 the revision it goes back
-- to, empty for a new one; 7 a number that the new one must exceed, or empty.
-- Result: its new revision; 0 if others have changed it; or `full`.
local call = redis.call
local row = call('HGET', KEYS[1], ARGV[1])
local revision = row and string.match(row, '^%d+') or ''
if revision ~= ARGV[2] then
    return 0
end
if not row and ARGV[4] ~= '' and call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) then
    return 'full'
end
local number = tonumber(ARGV[6])
if not number then
    local last = math.max(tonumber(call('GET', KEYS[4]) or 0), tonumber(ARGV[7]) or 0)
    number = last + 1
    call('SET', KEYS[4], string.format('%.0f', number))
end
if ARGV[4] == '' then
    call('HDEL', KEYS[1], ARGV[1])
    call('ZREM', KEYS[2], ARGV[1])
    call('ZREM', KEYS[3], ARGV[1])
    return number
end
call('HSET', KEYS[1], ARGV[1], string.format('%.0f', number) .. ARGV[4])
call('ZADD', KEYS[2], 0, ARGV[1])
if ARGV[3] == '' then
    call('ZREM', KEYS[3], ARGV[1])
else
    call('ZADD', KEYS[3], ARGV[3], ARGV[1])
end
return number
