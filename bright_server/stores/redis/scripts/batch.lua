-- An observed batch of one conversation: all steps of all its messages at once (MS-23).
-- Keys: facts, ids, history, open places, conflicts, log, log's last number, the
-- shard's list.
-- Arguments: account, conversation, ref, received, now, then of each message its id,
-- the time it was sent, its canonical content, its raw form or nothing.
-- Returns the first new sequence, how many are new, and of each other message its index
-- from 0, its sequence, and 1 for a repeat or 2 for a conflict. Returns nothing, and has
-- done nothing, if a message of the batch is being committed by itself: that is no
-- ground for an ACK yet.
local facts, ids, history, open, conflicts, log, log_last, all = unpack(KEYS)
local account, conversation, ref, received, now = unpack(ARGV, 1, 5)
local HEAD, WIDTH, CHUNK = 5, 4, 500
local size = (#ARGV - HEAD) / WIDTH

local function part(index, which)
  return ARGV[HEAD + (index - 1) * WIDTH + which]
end

local function entries_of_ids()
  local found = {}
  for start = 1, size, CHUNK do
    local wanted = {}
    for index = start, math.min(start + CHUNK - 1, size) do
      wanted[#wanted + 1] = part(index, 1)
    end
    for _, each in ipairs(call('HMGET', ids, unpack(wanted))) do
      found[#found + 1] = each
    end
  end
  return found
end

-- An entry is the sequence and the place in the log; or, of a message that was reserved
-- by itself, the sequence, nothing, and the SHA-1 of its content.
local function is_same(entry, content)
  local sequence, digest = string.match(entry, '^(%d+),%d*,?(%w*)$')
  if digest ~= '' then
    return digest == redis.sha1hex(content), sequence
  end
  local said = said_by(history, sequence)
  -- What history has let go of can no longer be told from another.
  local same = not said or string.sub(said, 1, #content + 1) == content .. '\n'
  return same, sequence
end

local function note_conflict(id, content)
  local number = text(call('HLEN', conflicts))
  call('HSETNX', conflicts, content .. '\n' .. id, number .. ' ' .. received .. ' ' .. now)
end

local found = entries_of_ids()
for index = 1, size do
  local place = found[index] and string.match(found[index], '^(%d+),,')
  if place and call('ZSCORE', open, place) then
    return {}
  end
end

know(facts, all, account, conversation, ref)
local last = tonumber(call('HGET', facts, 'sequence') or '0')
local mine, new, others = {}, {}, {}
for index = 1, size do
  local id, content = part(index, 1), part(index, 3)
  local same, sequence
  if found[index] then
    same, sequence = is_same(found[index], content)
    sequence = tonumber(sequence)
  elseif mine[id] then
    sequence = mine[id][1]
    same = mine[id][2] == content
  else
    new[#new + 1] = index
    mine[id] = {last + #new, content}
  end
  if sequence then
    others[#others + 1] = index - 1
    others[#others + 1] = sequence
    others[#others + 1] = same and 1 or 2
    if not same then
      note_conflict(id, content)
    end
  end
end

if #new > 0 then
  local position = call('INCRBY', log_last, #new) - #new
  for start = 1, #new, CHUNK do
    local fields, members = {}, {}
    for place = start, math.min(start + CHUNK - 1, #new) do
      local index, sequence = new[place], text(last + place)
      local id, sent, content, raw = part(index, 1), part(index, 2), part(index, 3), part(index, 4)
      fields[#fields + 1] = id
      fields[#fields + 1] = sequence .. ',' .. text(position + place)
      members[#members + 1] = sequence
      members[#members + 1] = sequence .. ' ' .. sent .. ' ' .. received .. ' ' .. now .. ' '
        .. content .. '\n' .. raw .. '\n' .. id
    end
    call('HSET', ids, unpack(fields))
    call('ZADD', history, unpack(members))
  end
  -- One entry for all of them: the log refers, it does not copy.
  call('XADD', log, text(position + 1) .. '-0', 'c', ref, 'q', text(last + 1), 'n', text(#new))
  call('HSET', facts, 'sequence', text(last + #new))
end
return {last + 1, #new, others}
