-- Reads history in one direction. Keys: history, expiry. Arguments: "older" or "newer", the
-- anchor or nothing, how many at most, how many bytes at most, the reader's time, ref.
-- Returns the lowest and the highest sequence, and members: enough of them to know
-- where a page ends and whether there is more.
local history, expiry = unpack(KEYS)
local direction, anchor, items, bytes, now, ref = unpack(ARGV)
local NEWER, OLDER, CHUNK = 'ZRANGEBYSCORE', 'ZREVRANGEBYSCORE', 32
local BEGINS = {[NEWER] = '-inf', [OLDER] = '+inf'}
local ENDS = {[NEWER] = '+inf', [OLDER] = '-inf'}
-- What is over for the reader and was not let go of, as where its clock runs ahead of
-- this server's. Most often there is none.
local is_any_over = call('ZCOUNT', expiry, '-inf', now) > 0

local function is_over(sequence)
  local ends = is_any_over and call('ZSCORE', expiry, ref .. ' ' .. sequence)
  return ends and tonumber(ends) <= tonumber(now)
end

-- Returns what the reader sees among the next few, and from where to go on, if at all.
local function see(command, start, most)
  local seen, last = {}, nil
  local some = call(command, history, start, ENDS[command], 'LIMIT', 0, most)
  for _, member in ipairs(some) do
    last = string.match(member, '^%d+')
    if not is_over(last) then
      seen[#seen + 1] = member
    end
  end
  return seen, #some == most and '(' .. last or nil
end

local function first(command)
  local seen, start = {}, BEGINS[command]
  while start and #seen == 0 do
    seen, start = see(command, start, is_any_over and CHUNK or 1)
  end
  return #seen > 0 and string.match(seen[1], '^%d+') or ''
end

local command = direction == 'older' and OLDER or NEWER
local start = anchor == '' and BEGINS[command] or '(' .. anchor
local wanted, size, found = tonumber(items) + 1, 0, {}
-- Records are a little longer here than they count: by their numbers in front.
local limit = tonumber(bytes)
-- Two at least, so that a page of one large message knows whether there is more.
while start and #found < wanted and (size <= limit or #found < 2) do
  local seen
  seen, start = see(command, start, math.min(CHUNK, wanted - #found))
  for _, member in ipairs(seen) do
    found[#found + 1] = member
    size = size + math.max(0, #member - 80)
    if size > limit and #found > 1 then
      break
    end
  end
end
return {first(NEWER), first(OLDER), found}
