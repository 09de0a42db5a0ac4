-- Shortens a claim whose place is reserved: the conversation's shard has the rest.
-- Keys: claim, the shard's claims. Argument: its name among the claims. Made anew, for
-- a hash that has once been large is kept like a large one.
call('ZREM', KEYS[2], ARGV[1])
if call('HEXISTS', KEYS[1], 'f') == 1 then
  local account, conversation = unpack(call('HMGET', KEYS[1], 'a', 'c'))
  call('DEL', KEYS[1])
  call('HSET', KEYS[1], 'a', account, 'c', conversation)
end
return 1
