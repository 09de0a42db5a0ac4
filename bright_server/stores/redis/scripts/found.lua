-- Makes a database where there is none. Key: the store. Arguments: an id for it, schema
-- version, oldest version that may open it, shards, now. Returns what there is.
if call('EXISTS', KEYS[1]) == 0 then
  call('HSET', KEYS[1], 'id', ARGV[1], 'version', ARGV[2], 'oldest', ARGV[3],
    'shards', ARGV[4], 'made', ARGV[5])
end
return call('HMGET', KEYS[1], 'id', 'version', 'oldest', 'shards', 'made')
