-- Keeps a new binding. Keys: bindings, tokens. Arguments: its id, the token's digest,
-- the version, when it was revoked or nothing, and the rest of it. Returns 0 if id or
-- token is taken.
if call('HEXISTS', KEYS[1], ARGV[1]) + call('HEXISTS', KEYS[2], ARGV[2]) > 0 then
  return 0
end
call('HSET', KEYS[1], ARGV[1], ARGV[3] .. '\n' .. ARGV[4] .. '\n' .. ARGV[5])
call('HSET', KEYS[2], ARGV[2], ARGV[1])
return 1
