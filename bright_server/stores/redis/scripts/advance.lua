-- Moves a commit on. Keys: commit, commits under way, expiry, open places. Arguments: "publish",
-- "commit" or "both"; partition and offset; its name among those under way; the
-- message's id; when history may let go of it or nothing, and its name for that.
-- Returns a word, the state, and of a committed one message id, sequence, partition,
-- offset. Nothing is written unless all is.
local commit, due, expiry, open = unpack(KEYS)
local step, partition, offset, name, message_id, expires, expiring = unpack(ARGV)
local state, kept_partition, kept_offset, sequence, kept_id, identity =
  unpack(call('HMGET', commit, 's', 'p', 'o', 'q', 'm', 'd'))
if not state then
  return {'unknown'}
end
if state == '1' or (state == '2' and step == 'commit') then
  return {'state', state}
end
if state ~= '2' then
  if step ~= 'commit' and (kept_partition ~= partition or kept_offset ~= offset) then
    return {'other', state}
  end
  partition, offset = kept_partition, kept_offset
end
if state == '4' then
  return {'committed', state, kept_id or message_id, sequence, partition, offset}
end
if step == 'publish' then
  call('HSET', commit, 's', '3', 'p', partition, 'o', offset)
  return {'published', '3'}
end
-- Made anew, for a hash that has once been large is kept like a large one (MS-13).
call('DEL', commit)
call('HSET', commit, 's', '4', 'd', identity, 'm', message_id, 'q', sequence,
  'p', partition, 'o', offset)
call('ZREM', due, name)
call('ZREM', open, sequence)
if expires ~= '' then
  call('ZADD', expiry, expires, expiring)
end
return {'committed', '4', message_id, sequence, partition, offset}
