-- Shortens a claim whose place is reserved: the conversation's shard has the rest.
-- Keys: claim, the shard's claims. Argument: its name among the claims. Made anew, for
-- a hash that has once been large is kept like a large one.
call('ZREM', KEYS[2], ARGV[1])
if call('HEXISTS', KEYS[1], 'f') == 1 then
  local account, conversation, origin, tenant, sender, id =
    unpack(call('HMGET', KEYS[1], 'a', 'c', 'o', 't', 'u', 'i'))
  call('DEL', KEYS[1])
  call('HSET', KEYS[1], 'a', account, 'c', conversation, 'o', origin, 't', tenant,
    'u', sender, 'i', id)
end
return 1
