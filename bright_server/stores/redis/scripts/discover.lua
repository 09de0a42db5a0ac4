-- One conversation of the page's list. Keys: facts, the shard's list. Arguments: account,
-- conversation, ref, the time of its latest message, and its title where it has one.
-- Returns its anchor: message id and time, or nothing.
know(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
touch(KEYS[1], ARGV[4])
if ARGV[5] then
  call('HSET', KEYS[1], 'title', ARGV[5])
end
return call('HMGET', KEYS[1], 'anchor', 'anchored')
