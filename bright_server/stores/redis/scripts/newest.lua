-- What a page showed of a contact or buyer: the latest wins, strictly (OT-81).
-- Keys: the ledger's hash, facts, the shard's list. Arguments: account, conversation,
-- ref, when it was observed, then fields and values. Returns 1 if it won.
know(KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local known = call('HGET', KEYS[1], 'observedAtMs')
if known and tonumber(ARGV[4]) <= tonumber(known) then
  return 0
end
call('DEL', KEYS[1])
call('HSET', KEYS[1], 'observedAtMs', ARGV[4], unpack(ARGV, 5))
return 1
