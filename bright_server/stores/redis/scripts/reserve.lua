-- Gives a claimed message its place in its conversation; a repeat finds it (MS-20).
-- Keys: commit, facts, commits under way, ids, history, open places, the shard's list.
-- Arguments:
-- identity, what is frozen, when it was made, its name among those under way, account,
-- conversation, ref; of an observation also its id and the digest of its content.
-- Returns "commit" and the fields of its hash, or, of a message that a group has
-- committed, "group", its entry among the ids, and what it says.
local commit, facts, due, ids, history, open, all = unpack(KEYS)
local identity, frozen, made, name, account, conversation, ref, id, digest = unpack(ARGV)
if call('EXISTS', commit) == 0 then
  local entry = id and call('HGET', ids, id)
  if entry then
    local said, sent = said_by(history, string.match(entry, '^%d+'))
    return {'group', entry, said, sent}
  end
  know(facts, all, account, conversation, ref)
  local sequence = text(call('HINCRBY', facts, 'sequence', 1))
  call('HSET', commit, 's', '1', 'd', identity, 'f', frozen, 'q', sequence)
  call('ZADD', due, made, name)
  call('ZADD', open, sequence, sequence)
  if id then
    call('HSET', ids, id, sequence .. ',,' .. digest)
  end
end
return {'commit', call('HGETALL', commit)}
