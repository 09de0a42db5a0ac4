-- Appends an envelope to the shard's log, once for its key. Keys: log, its last number,
-- its keys. Arguments: key, body. Returns its number.
local there = call('HGET', KEYS[3], ARGV[1])
if there then
  return tonumber(there)
end
local number = call('INCR', KEYS[2])
call('XADD', KEYS[1], text(number) .. '-0', 'k', ARGV[1], 'b', ARGV[2])
call('HSET', KEYS[3], ARGV[1], text(number))
return number
