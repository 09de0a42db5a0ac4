-- Takes or prolongs a lease. Key: the lease. Arguments: its holder, how long it lasts.
-- Returns 1, or 0 if somebody else holds it; it ends by the server's own clock. One that
-- lasts more than twice that long was taken while that clock ran ahead: it is none.
local holder = call('GET', KEYS[1])
if holder and holder ~= ARGV[1]
    and call('PTTL', KEYS[1]) <= 2 * ARGV[2] then
  return 0
end
call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
