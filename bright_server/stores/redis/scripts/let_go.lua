-- Lets go of one message of history whose time is over. Keys: history, expiry.
-- Arguments: its sequence, its name in expiry.
call('ZREM', KEYS[2], ARGV[2])
return call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
