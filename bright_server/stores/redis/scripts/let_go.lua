-- Lets go of one message of history, if its time is over by this server's clock too: one
-- that asks while its own clock runs ahead takes nothing from the others.
-- Keys: history, expiry. Arguments: its sequence, its name in expiry. Returns 1 if it went.
local ends, now = call('ZSCORE', KEYS[2], ARGV[2]), call('TIME')
if not ends or tonumber(ends) > now[1] * 1000 + math.floor(now[2] / 1000) then
  return 0
end
call('ZREM', KEYS[2], ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
return 1
