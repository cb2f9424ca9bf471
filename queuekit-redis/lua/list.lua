-- Reads jobs of one section of a queue, in its order, after a place (contract R8.2).
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/frontier.lua, lib/view.lua,
-- lib/payload.lua, lib/rank.lua.
-- KEYS: those of the queue; for a queue of events also the data of events.
-- ARGV: 1 the section: leased, completed, dead, cancelled, waiting, keyed; 2 the place after which
-- to begin, empty for the beginning; 3 most jobs; 4, 5 of the ended ones only those that ended at
-- this time or later, and before that; empty if there is no such bound; 6 a text that the data of
-- the jobs that the caller looks for contains, empty for any.
-- Result: now; the place at which it ended, empty if there are no more; then per job its place, how
-- many bytes of it are left out, and the values of lib/view.lua. A large job is answered without
-- what is large, because the caller may not want it: lua/get.lua reads it whole. An ended job whose
-- data lacks the text is answered as its place, '-' and its id.
--
-- A place has, for leased and ended jobs, the score and the member; for waiting ones the member of
-- `places`; with `keyed` the member of `waiting`. These two begin with a letter, p or
-- k: if a queue changed its order meanwhile, its waiting jobs are read from the beginning.
use(1)
local section, after, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ended_from, ended_to, text = ARGV[4], ARGV[5], ARGV[6]
-- Jobs without a key are in `waiting` in fair queues only, and not all of them while keys are
-- placed anew.
if section == 'waiting' and fair and not moving then
    section = 'keyed'
end
-- A call stops once it has looked at this many entries, or has read this many bytes of jobs.
local ENOUGH, ENOUGH_BYTES = 2000, 1048576
-- A job whose large parts have at most this many bytes is answered whole.
local SMALL = 4096
local answer = { now_ms, '' }

local function after_of(letter)
    return sub(after, TAGGED.tag) == letter and sub(after, TAGGED.rest) or ''
end

local function is_enough()
    return Frontier.examined() > ENOUGH or View.read() >= ENOUGH_BYTES
end

local function tell(place, id, member)
    local before = #answer
    answer[before + 1], answer[before + 2] = place, 0
    local left_out = View.view(answer, id, member, SMALL)
    answer[before + 2] = left_out
    if not left_out then
        answer[before + 1] = nil
    end
end

local function by_time(set, newest_first)
    local total = call('ZCARD', set)
    local from, last = 0, total
    if newest_first then
        from = ended_to == '' and 0 or call('ZCOUNT', set, ended_to, '+inf')
        last = total - (ended_from == '' and 0 or call('ZCOUNT', set, '-inf', '(' .. ended_from))
    end
    if after ~= '' then
        local score, member = tonumber(sub(after, SCORED.score)), sub(after, SCORED.rest)
        -- Skips the one at the place itself, which was the last of the page before.
        from = newest_first and total - Rank.before(set, score, member)
            or Rank.after(set, score, member)
    end
    local order = newest_first and { 'REV', 'WITHSCORES' } or { 'WITHSCORES' }
    local beyond = math.min(from + most, last)
    local members = beyond > from and call('ZRANGE', set, from, beyond - 1, unpack(order)) or {}
    for item = 1, #members, 2 do
        local score = tonumber(members[item + 1])
        local place = format(SCORED.score.decimal, score) .. members[item]
        local id = sub(members[item], ENTRY.id)
        local data = newest_first and text ~= '' and call('HGET', Q.data, id)
        if data and not data:find(text, 1, true) then
            View.count(#data)
            local before = #answer
            answer[before + 1], answer[before + 2], answer[before + 3] = place, '-', id
        else
            tell(place, id, members[item])
        end
        answer[2] = place
        if View.read() >= ENOUGH_BYTES then
            return
        end
    end
    if beyond == last or #members < most * 2 then
        answer[2] = ''
    end
end

local function by_key()
    local from = after_of('k')
    from = from == '' and '-' or '(' .. from
    local members = call('ZRANGE', Q.waiting, from, '+', 'BYLEX', 'LIMIT', 0, most)
    for _, member in ipairs(members) do
        local key = PartitionKey.key_of(member)
        local waiting = PartitionKey.waiting_of(member, key)
        answer[2] = 'k' .. member
        tell(answer[2], sub(waiting.entry, ENTRY.id), waiting.entry .. key)
        if is_enough() then
            return
        end
    end
    if #members < most then
        answer[2] = ''
    end
end

-- Merges the jobs without a key and those with one. The next job of each key is in both.
local function by_place()
    local from, place = 0, after_of('p')
    if place ~= '' then
        local level, at = hex(place, PLACE.level), hex(place, PLACE.at)
        from = Rank.after(Q.ready, level * LEVEL + at, sub(place, PLACE.entry) .. '\255')
    end
    local ready = call('ZRANGE', Q.ready, from, from + most - 1, 'WITHSCORES')
    local places = call('ZRANGE', Q.places, place == '' and '-' or '(' .. place, '+', 'BYLEX',
        'LIMIT', 0, most)
    local item, other = 1, 1
    while not is_enough() do
        local one, its = nil, places[other]
        if ready[item] then
            local score = tonumber(ready[item + 1])
            local level = floor(score / LEVEL)
            one = PLACE.write({
                level = format(PLACE.level.hex, level), at = time_hex(score - level * LEVEL),
                entry = sub(ready[item], ENTRY.head),
            })
        end
        -- The entries after the end of a full window are not known.
        if (not one and #ready == most * 2) or (not its and #places == most) then
            return
        elseif not one and not its then
            answer[2] = ''
            return
        end
        if one and (not its or one <= its) then
            answer[2] = 'p' .. one
            tell(answer[2], sub(one, PLACE.id), ready[item])
            item, other = item + 2, its == one and other + 1 or other
        else
            answer[2] = 'p' .. its
            tell(answer[2], sub(its, PLACE.id))
            other = other + 1
        end
    end
end

if section == 'leased' then
    by_time(Q.leased)
elseif section == 'completed' then
    by_time(Q.completed, true)
elseif section == 'dead' then
    by_time(Q.dead, true)
elseif section == 'cancelled' then
    by_time(Q.cancelled, true)
elseif section == 'keyed' then
    by_key()
else
    by_place()
end
return answer
