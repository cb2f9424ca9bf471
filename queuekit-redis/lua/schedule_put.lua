-- Changes the row of a schedule if it still has the revision that was read (contract R15.2).
-- KEYS: SCHEDULES.
-- ARGV: 1 name; 2 revision, empty if there was no row; 3 when it is due in ms, empty if never; 4
-- its record after the revision, empty to remove it; 5 most schedules; 6 the revision it goes back
-- to, empty for a new one; 7 a number that the new one must exceed, or empty.
-- Result: its new revision; 0 if others have changed it; or `full`.
local call = redis.call
local row = call('HGET', KEYS[SCHEDULES.rows], ARGV[1])
local revision = row and string.match(row, '^%d+') or ''
if revision ~= ARGV[2] then
    return 0
end
if not row and ARGV[4] ~= '' and call('HLEN', KEYS[SCHEDULES.rows]) >= tonumber(ARGV[5]) then
    return 'full'
end
local number = tonumber(ARGV[6])
if not number then
    local last = tonumber(call('GET', KEYS[SCHEDULES.revision]) or 0)
    last = math.max(last, tonumber(ARGV[7]) or 0)
    number = last + 1
    call('SET', KEYS[SCHEDULES.revision], string.format('%.0f', number))
end
if ARGV[4] == '' then
    call('HDEL', KEYS[SCHEDULES.rows], ARGV[1])
    call('ZREM', KEYS[SCHEDULES.names], ARGV[1])
    call('ZREM', KEYS[SCHEDULES.due], ARGV[1])
    return number
end
call('HSET', KEYS[SCHEDULES.rows], ARGV[1], string.format('%.0f', number) .. ARGV[4])
call('ZADD', KEYS[SCHEDULES.names], 0, ARGV[1])
if ARGV[3] == '' then
    call('ZREM', KEYS[SCHEDULES.due], ARGV[1])
else
    call('ZADD', KEYS[SCHEDULES.due], ARGV[3], ARGV[1])
end
return number
