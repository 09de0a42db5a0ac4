-- Revokes a binding; twice changes nothing. Key: bindings. Arguments: its id, now.
-- Returns the binding as it stands, or nothing.
local kept = call('HGET', KEYS[1], ARGV[1])
if kept then
  local version, revoked, rest = string.match(kept, '^(%d+)\n(%d*)\n(.*)$')
  if revoked == '' then
    kept = text(tonumber(version) + 1) .. '\n' .. ARGV[2] .. '\n' .. rest
    call('HSET', KEYS[1], ARGV[1], kept)
  end
end
return kept
