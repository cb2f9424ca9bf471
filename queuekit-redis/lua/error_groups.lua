-- The error groups of a queue (contract R8.4). Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: none of its own.
-- Result: per group two texts: kind, NUL, signature; its record, GROUP.
use(1)
return call('HGETALL', Q.groups)
