-- Removes a queue with all its jobs (contract R6.7). The server frees their memory in the
-- background. Needs lib/queue.lua.
-- KEYS: those of the queue.
-- ARGV: 1 whether the queue may have jobs that do not run; 2 empty, or the cursor of the step
-- before; 3 most idempotency keys to look at.
-- Result: 1 if it was removed, 0 if there is none; a text, the cursor of this step, if there is
-- more to do; else how many jobs there are, and how many run.
--
-- Idempotency keys that outlived their jobs outlive the queue too (contract R2.5); those of jobs
-- that were removed with it do not count any more, and are forgotten in steps.
use(1)

-- Removes everything; returns a text if idempotency keys are kept.
local function remove()
    local last = call('ZRANGE', Q.unique_free, -1, -1, 'WITHSCORES')[2]
    local left = last and last - now or 0
    if left <= 0 then
        call('UNLINK', unpack(KEYS))
        return 1
    end
    for _, key in ipairs({ Q.unique, Q.unique_free }) do
        call('PEXPIRE', key, format('%.0f', left))
    end
    local gone = {}
    for _, key in ipairs(KEYS) do
        if key ~= Q.unique and key ~= Q.unique_free then
            gone[#gone + 1] = key
        end
    end
    call('UNLINK', unpack(gone))
    return '0'
end

-- Forgets keys of jobs that are gone; not those of a queue that was created again meanwhile.
local function forget(cursor)
    local scanned = call('HSCAN', Q.unique, cursor, 'COUNT', ARGV[3])
    local found = scanned[2]
    for at = 1, #found, 2 do
        local unique, text = found[at], found[at + 1]
        if #text <= UNIQUE.head.to and call('HEXISTS', Q.data, sub(text, UNIQUE.id)) == 0 then
            call('HDEL', Q.unique, unique)
            call('ZREM', Q.unique_free, unique)
        end
    end
    return scanned[1] == '0' and 1 or scanned[1]
end

if ARGV[2] ~= '' then
    return forget(ARGV[2])
elseif not known then
    return 0
end
local jobs, running = call('HLEN', Q.data), call('ZCARD', Q.leased)
if running > 0 or (jobs > 0 and ARGV[1] == '0') then
    return { jobs, running }
end
return remove()
