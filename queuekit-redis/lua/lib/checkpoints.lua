-- Walks through the checkpoints of a job as they are stored (contract R13.10). It is put before the
-- scripts that do so. Needs lib/queue.lua. Visits each with its name, the place before its head, the
-- place before its result, and that of its last byte.
local function each_checkpoint(stored, visit)
    local to = 0
    while to < #stored do
        local from = to + NOTE.head.to
        -- A broken entry is the last one.
        to = from + (tonumber(sub(stored, to + NOTE.length.from, to + NOTE.length.to)) or #stored)
        local name_from = from + CHECKPOINT.head.to
        local size = tonumber(sub(stored, from + CHECKPOINT.name.from, name_from), 16) or 0
        visit(sub(stored, name_from + 1, name_from + size), from, name_from + size, to)
    end
end

