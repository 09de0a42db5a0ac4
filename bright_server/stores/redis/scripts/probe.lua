-- Writes a probe (MS-15). Key: the probe. Argument: its value. Servers share it, and their
-- clocks differ: the greatest stays. It is written either way.
local kept = call('GET', KEYS[1])
if not kept or tonumber(kept) < tonumber(ARGV[1]) then
  kept = ARGV[1]
end
call('SET', KEYS[1], kept)
return 1
