-- Rendered cards of one conversation: the first content of each wins (OT-90).
-- Keys: cards, their conflicts, facts, the shard's list. Arguments: account,
-- conversation, ref, now, binding, then of each card its scope and its content.
-- Returns 0 for a new one, 1 for a repeat, 2 for a conflict.
know(KEYS[3], KEYS[4], ARGV[1], ARGV[2], ARGV[3])
local behind = '\n' .. ARGV[4] .. '\n' .. ARGV[5]
local function numbered(key, content)
  return text(call('HLEN', key)) .. '\n' .. content .. behind
end

local told = {}
for place = 6, #ARGV, 2 do
  local scope, content = ARGV[place], ARGV[place + 1]
  local first = call('HGET', KEYS[1], scope)
  if not first then
    call('HSET', KEYS[1], scope, numbered(KEYS[1], content))
    told[#told + 1] = 0
  elseif string.match(first, '^%d+\n([^\n]*)') == content then
    told[#told + 1] = 1
  else
    call('HSETNX', KEYS[2], scope .. '\n' .. content, numbered(KEYS[2], content))
    told[#told + 1] = 2
  end
end
return told
