-- Reads history in one direction. Key: history. Arguments: "older" or "newer", the
-- anchor or nothing, how many at most, how many bytes at most.
-- Returns the lowest and the highest sequence, and members: enough of them to know
-- where a page ends and whether there is more.
local history = KEYS[1]
local direction, anchor, items, bytes = unpack(ARGV)
local command, start, stop = 'ZRANGEBYSCORE', '-inf', '+inf'
if anchor ~= '' then
  start = '(' .. anchor
end
if direction == 'older' then
  command, stop = 'ZREVRANGEBYSCORE', '-inf'
  if anchor == '' then
    start = '+inf'
  end
end
local CHUNK, wanted, size, found = 32, tonumber(items) + 1, 0, {}
-- Records are a little longer here than they count: by their numbers in front.
local limit = tonumber(bytes)
-- Two at least, so that a page of one large message knows whether there is more.
while #found < wanted and (size <= limit or #found < 2) do
  local some = call(command, history, start, stop, 'LIMIT', #found, math.min(CHUNK, wanted - #found))
  if #some == 0 then
    break
  end
  for _, member in ipairs(some) do
    found[#found + 1] = member
    size = size + math.max(0, #member - 80)
    if size > limit and #found > 1 then
      break
    end
  end
end
local lowest = call('ZRANGE', history, 0, 0, 'WITHSCORES')[2]
local highest = call('ZRANGE', history, -1, -1, 'WITHSCORES')[2]
return {lowest or '', highest or '', found}
