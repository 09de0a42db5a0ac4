-- What every script begins with. Numbers of Lua print themselves as 1e+15, so whatever
-- is kept is spelled by `text`; texts are compared byte by byte, for the server's own
-- order of texts depends on its locale.
local call = redis.call

local function text(number)
  return string.format('%.0f', number)
end

local function is_later_text(one, other)
  for place = 1, math.min(#one, #other) do
    local left, right = string.byte(one, place), string.byte(other, place)
    if left ~= right then
      return left > right
    end
  end
  return #one > #other
end

-- Makes a conversation known: its names in its facts, its ref in its shard's list, which
-- has them in the order in which they became known.
local function know(facts, all, account, conversation, ref)
  if call('HEXISTS', facts, 'account') == 0 then
    call('HSET', facts, 'account', account, 'conversation', conversation)
    call('ZADD', all, call('ZCARD', all), ref)
  end
end

-- When a conversation was last active only moves forward (OT-05).
local function touch(facts, at_ms)
  local known = tonumber(call('HGET', facts, 'latest') or '0')
  if tonumber(at_ms) >= known then
    call('HSET', facts, 'latest', at_ms)
  end
end

-- A member of history is "<sequence> <sent> <received> <committed> <what it says>";
-- times may be from before 1970.
local function said_by(history, sequence)
  local member = call('ZRANGEBYSCORE', history, sequence, sequence)[1]
  if not member then
    return nil
  end
  local _, head_end, sent = string.find(member, '^%d+ (%-?%d+) %-?%d+ %-?%d+ ')
  return string.sub(member, head_end + 1), sent
end

