-- Changes the settings of events if they still have the version that was read (contract R14.4).
-- Needs lib/queue.lua.
-- KEYS: LOG.
-- ARGV: 1 the version that was read; 2 the settings; 3 a nonce that identifies this call.
-- Result: 1 if they are changed, also by an earlier attempt of this call; 0 if others have changed
-- them; -N if an emit holds them for the next N ms.
local stored = call('HMGET', KEYS[LOG.meta], 'version', 'by')
if stored[2] == ARGV[3] then
    return 1
elseif (stored[1] or '0') ~= ARGV[1] then
    return 0
end
local held = call('PTTL', KEYS[LOG.held])
if held > 0 then
    return -held
end
-- The time keeps a server that has lost its last changes from using a number twice.
local version = math.max(tonumber(ARGV[1]) + 1, now)
call('HSET', KEYS[LOG.meta], 'version', format('%.0f', version), 'body', ARGV[2], 'by', ARGV[3])
return 1
