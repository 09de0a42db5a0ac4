-- Writes a reserved message into history; later it is a no-op (MS-22).
-- Keys: commit, history. Argument: the message behind its sequence.
-- Returns the state before, or 0 if there is no such commit.
local state, sequence = unpack(call('HMGET', KEYS[1], 's', 'q'))
if state == '1' then
  call('ZADD', KEYS[2], sequence, sequence .. ' ' .. ARGV[1])
  call('HSET', KEYS[1], 's', '2')
end
return tonumber(state or '0')
