-- Claims a commit key in its sender's shard. The first claim freezes everything.
-- Keys: claim, the shard's claims. Arguments: identity, account, conversation, what is
-- frozen, when it was made, its name among the claims, and the key's four parts: names
-- of keys are digests, and a copy of the store has to tell them.
-- Returns the claim as it stands: identity, account, conversation, what is frozen; of a
-- settled one the places of identity and frozen are empty.
if call('EXISTS', KEYS[1]) == 0 then
  call('HSET', KEYS[1], 'd', ARGV[1], 'a', ARGV[2], 'c', ARGV[3], 'f', ARGV[4],
    'o', ARGV[7], 't', ARGV[8], 'u', ARGV[9], 'i', ARGV[10])
  call('ZADD', KEYS[2], ARGV[5], ARGV[6])
end
return call('HMGET', KEYS[1], 'd', 'a', 'c', 'f')
