-- Stores events that are not in the log yet, and deliveries of events, in one step (contract R14).
-- Needs lib/queue.lua, lib/job.lua, lib/partition_key.lua, lib/change.lua, lib/enqueue.lua.
-- KEYS: LOG; then the keys of each queue.
-- ARGV: 1 whether queues may be created here; 2 the version of the settings by which deliveries
-- were found, or empty: then the events are in the log already; 3 how many events; from 4 on, per
-- event: its id; type, space and idempotency key, or empty; its record from the version on; its
-- data (for an event in the log, the id alone); then per queue: its name; how many deliveries; per
-- delivery: the number of its event; its id; delay in ms; its data from the version on, without the
-- payload.
-- Result: `stale`, the version and the settings if they have another version, and nobody changes
-- them for the next HELD ms: the caller finds the deliveries again meanwhile; `unknown` and the number of the first queue that
-- does not exist: nothing was stored; else per event E emitted, D and an id: an equal event is
-- stored (followed by its age in ms, if the id is its own), C another event has its id, L it is in
-- the log, G it is gone; then the numbers of the deliveries that were not stored.
--
-- A record is stored under the event's number, as in `order`. `deliveries` lists the deliveries
-- that have no copy of the data.
local meta, order, records = KEYS[LOG.meta], KEYS[LOG.order], KEYS[LOG.records]
local large, keys, deliveries = KEYS[LOG.data], KEYS[LOG.keys], KEYS[LOG.deliveries]
local is_new = ARGV[2] ~= ''

local HELD = 250

if is_new and (call('HGET', meta, 'version') or '0') ~= ARGV[2] then
    call('SET', KEYS[LOG.held], '', 'PX', HELD)
    return { 'stale', call('HGET', meta, 'version') or '0', call('HGET', meta, 'body') or '' }
end
for base = LOG.count + 1, #KEYS, QUEUE.count do
    if ARGV[1] == '0' and call('HEXISTS', KEYS[base], 'known') == 0 then
        return { 'unknown', (base - LOG.count - 1) / QUEUE.count }
    end
end

-- The outcomes of the events; the events with deliveries, by number, and by id.
local outcomes, events, by_id = {}, {}, {}

local function event_of(number, record, data)
    return {
        number = number, record = record, data = data, apart = sub(record, EVENT.apart) == '1',
    }
end

-- An event of the log, by its place; none if it is not there or cannot be read. If its data is
-- large, its deliveries need only the number.
local function stored_event(place)
    local number = place and seq_hex(tonumber(place))
    local record = number and call('HGET', records, number) or ''
    if #record < EVENT.head.to or sub(record, EVENT.head):find('%X') then
        return nil
    end
    local is_apart = sub(record, EVENT.apart) == '1'
    local data = not is_apart and sub(record, #record + 1 - hex(record, EVENT.data))
    return event_of(number, record, data)
end

-- Whether a stored event has the same type and data as another. Its data is read once, and only if
-- it has the same length.
local function are_equal(one, other)
    local function type_of(record)
        return sub(record, EVENT.rest, EVENT.head.to + hex(record, EVENT.kind))
    end
    if type_of(one.record) ~= type_of(other.record) then
        return false
    end
    if not one.data and call('HSTRLEN', large, one.number) == #other.data then
        one.data = call('HGET', large, one.number)
    end
    return one.data == other.data
end

-- The ids of `count` events, which are `width` arguments apart, and their places in the log.
local function places_of(count, width)
    local ids = {}
    for item = 1, count do
        ids[item] = ARGV[4 + (item - 1) * width]
    end
    return ids, count > 0 and call('ZMSCORE', order, unpack(ids)) or {}
end

-- Numbers the new events of an emit, and notes them to be stored.
local function admit(count)
    local ids, places = places_of(count, 4)
    local taken, fresh, new = {}, {}, 0
    for item, id in ipairs(ids) do
        local base = 4 + (item - 1) * 4
        local unique, data = ARGV[base + 1], ARGV[base + 3]
        local record = EVENT.write({ emitted = now_hex, written = ARGV[base + 2] })
        local event = event_of(nil, record, data)
        local same = by_id[id] or stored_event(places[item])
        local holder = unique ~= '' and (taken[unique] or call('HGET', keys, unique))
        if same then
            by_id[id] = same
            local age = math.max(now - hex(same.record, EVENT.emitted), 0)
            outcomes[item] = are_equal(same, event) and 'D' .. id .. format('%.0f', age) or 'C'
        elseif holder then
            outcomes[item] = 'D' .. holder
        else
            outcomes[item], new = 'E', new + 1
            events[item], by_id[id], fresh[new] = event, event, item
            if unique ~= '' then
                taken[unique] = id
            end
        end
    end
    local last = new > 0 and call('HINCRBY', meta, 'seq', new) or 0
    for place, item in ipairs(fresh) do
        events[item].number = seq_hex(last - new + place)
    end
    return { ids = ids, taken = taken, fresh = fresh, last = last }
end

-- Stores the records first, because deliveries depend on them: nothing may name a record that is
-- missing.
local function store_records(admitted)
    for _, item in ipairs(admitted.fresh) do
        local event = events[item]
        if event.apart then
            write('HSET', records, event.number, event.record)
            write('HSET', large, event.number, event.data)
        else
            write('HSET', records, event.number, event.record .. event.data)
        end
    end
end

-- Adds the events to the log last: if an emit fails before that, its repetition stores the
-- deliveries.
local function store_places(admitted)
    local new = #admitted.fresh
    for place, item in ipairs(admitted.fresh) do
        write('ZADD', order, admitted.last - new + place, admitted.ids[item])
    end
    for unique, id in pairs(admitted.taken) do
        write('HSET', keys, unique, id)
    end
end

-- Finds the events of the log that are delivered again.
local function find(count)
    local _, places = places_of(count, 1)
    for item = 1, count do
        events[item] = stored_event(places[item])
        outcomes[item] = events[item] and 'L' or 'G'
    end
end

-- A delivery's data from the version on.
local function static_of(event, head)
    local flag, size, payload = '0', sub(event.record, EVENT.data), event.data
    if event.apart then
        flag, size, payload = '2', format(STATIC.payload.hex, #event.number), event.number
    end
    return STATIC.with(head, { flag = flag, payload = size }) .. payload
end

-- By event number: the text added to its deliveries; and the numbers by which the script reports
-- deliveries that were not stored.
local added, called, unstored = {}, {}, {}

local function add(event, name, id)
    local its = added[event.number]
    if not its then
        local old = not is_new and call('HGET', deliveries, event.number)
        its = { old or '' }
        added[event.number] = its
    end
    local entry = format(DELIVERY.name.hex, #name) .. name .. id
    if its[1] == '' or not its[1]:find(entry, 1, true) then
        its[#its + 1] = entry
    end
end

local function deliver(base, at, first)
    local name, jobs = ARGV[at], {}
    local begun = #called
    for delivery = 1, tonumber(ARGV[at + 1]) do
        local from, size = at + delivery * 4 - 2, #jobs
        local event = events[tonumber(ARGV[from])]
        if event then
            jobs[size + 1], jobs[size + 2] = ARGV[from + 1], '+' .. ARGV[from + 2]
            jobs[size + 3], jobs[size + 4] = '0', static_of(event, ARGV[from + 3])
            called[#called + 1] = first + delivery - 1
            if event.apart then
                add(event, name, ARGV[from + 1])
            end
        else
            unstored[#unstored + 1] = first + delivery - 1
        end
    end
    if #jobs > 0 then
        use(base)
        if not known then
            establish()
        end
        -- The event is stored already, and a slow consumer must not keep it from others (R14.7).
        max_pending = nil
        enqueue(jobs, 1, #jobs / 4, begun + 1)
    end
end

local count = tonumber(ARGV[3])
local admitted = is_new and admit(count)
if admitted then
    store_records(admitted)
else
    find(count)
end
local at, first = 4 + count * (is_new and 4 or 1), 0
for base = LOG.count + 1, #KEYS, QUEUE.count do
    deliver(base, at, first)
    first = first + tonumber(ARGV[at + 1])
    at = at + 2 + tonumber(ARGV[at + 1]) * 4
end
for number, its in pairs(added) do
    write('HSET', deliveries, number, table.concat(its))
end
if admitted then
    store_places(admitted)
end
flush_all()
for item = 1, #answer, 3 do
    unstored[#unstored + 1] = called[answer[item]]
end
for item, number in ipairs(unstored) do
    outcomes[count + item] = number
end
return outcomes
