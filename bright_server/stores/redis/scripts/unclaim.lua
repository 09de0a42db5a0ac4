-- Drops a claim that nothing will be made of: a group has committed the message.
-- Keys: claim, the shard's claims. Argument: its name among the claims.
call('ZREM', KEYS[2], ARGV[1])
return call('DEL', KEYS[1])
