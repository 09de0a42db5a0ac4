-- A claim that a conversation is complete up to a message (OT-50). Keys: facts, ids,
-- history, open places. Arguments: the message's id, now, the time of the latest message.
-- Returns nothing if the message is not stored; else the anchor as it stands, its time,
-- and 1 if this claim moved it.
local facts, ids, history, open = unpack(KEYS)
local entry = call('HGET', ids, ARGV[1])
local sequence = entry and string.match(entry, '^%d+')
local said, sent
if sequence and not call('ZSCORE', open, sequence) then
  said, sent = said_by(history, sequence)
end
if not said then
  return {}
end
local anchor, anchor_sent, anchored = unpack(call('HMGET', facts, 'anchor', 'anchor_sent', 'anchored'))
-- Forward only: by the message's time, then by its id.
local moves = not anchor or tonumber(sent) > tonumber(anchor_sent)
  or (tonumber(sent) == tonumber(anchor_sent) and is_later_text(ARGV[1], anchor))
if moves then
  anchor, anchored = ARGV[1], ARGV[2]
  call('HSET', facts, 'anchor', anchor, 'anchor_sent', sent, 'anchored', anchored)
end
touch(facts, ARGV[3])
return {anchor, anchored, moves and 1 or 0}
