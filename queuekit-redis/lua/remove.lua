-- Removes a queue with all its jobs (contract R6.7). What it held is freed beside the calls.
-- Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 2 whether jobs may be there that do not run.
-- Result: 1 if it was removed, 0 if there is none; else how many jobs there are, and how many run.
use(1)
if not known then
    return 0
end
local jobs, running = call('HLEN', D), call('ZCARD', L)
if running > 0 or (jobs > 0 and ARGV[2] == '0') then
    return { jobs, running }
end
call('UNLINK', unpack(KEYS))
return 1
