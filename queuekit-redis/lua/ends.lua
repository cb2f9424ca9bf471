-- Reads the newest ends of jobs of a queue before places (contract R8.7).
-- Needs lib/queue.lua, lib/rank.lua.
-- KEYS: those of the queue.
-- ARGV: 1 most ends of each; then for each the section: completed, dead, cancelled; and the place:
-- the score, and the member.
-- Result: for each a list of scores and members, the newest first.
use(1)
local most = tonumber(ARGV[1])
local answer = {}
for at = 2, #ARGV, 3 do
    local section = ARGV[at]
    local set = section == 'completed' and Q.completed or section == 'dead' and Q.dead
        or Q.cancelled
    local below = Rank.before(set, tonumber(ARGV[at + 1]), ARGV[at + 2])
    local from = call('ZCARD', set) - below
    local members = call('ZRANGE', set, from, from + most - 1, 'REV', 'WITHSCORES')
    local ends = {}
    for item = 1, #members, 2 do
        ends[item], ends[item + 1] = format('%.0f', tonumber(members[item + 1])), members[item]
    end
    answer[#answer + 1] = ends
end
return answer
