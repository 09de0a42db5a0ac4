-- How far a conversation's history is read (OT-44). Keys: facts, the shard's list.
-- Arguments: account, conversation, ref, next, complete, page, and the time of its
-- latest message where that is known.
know(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
call('HSET', KEYS[1], 'next', ARGV[4], 'complete', ARGV[5], 'page', ARGV[6])
if ARGV[7] then
  touch(KEYS[1], ARGV[7])
end
return 1
