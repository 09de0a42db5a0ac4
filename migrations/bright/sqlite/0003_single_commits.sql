-- Messages that are committed one by one, step by step: reserved, recorded, published,
-- committed. Those that come in groups have no row here and pay nothing for it.

CREATE TABLE single_commit (
    -- Grows with each reservation, and orders those of one moment.
    number INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    sender TEXT NOT NULL,
    client_message_id TEXT NOT NULL,
    -- The canonical identity of the request that was first: its digest, or in full.
    identity BLOB NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversation (conversation),
    sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    -- 1 reserved, 2 recorded, 3 outboxed, 4 committed; forward only.
    state INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    -- The place in the log.
    log_partition TEXT,
    log_offset INTEGER,
    UNIQUE (origin, tenant, sender, client_message_id)
) STRICT;

-- All that the later steps of a commit need; let go of once it is committed. It stands
-- apart, so that its room is used again: a row that shrinks leaves holes.
CREATE TABLE commit_intent (
    number INTEGER PRIMARY KEY REFERENCES single_commit (number),
    frozen BLOB NOT NULL
) STRICT;

-- What recovery looks for: a commit leaves it when it is done.
CREATE INDEX unfinished_commit ON single_commit (created_at_ms, number) WHERE state < 4;

-- Where readers of a conversation have to stop: what is under way may come before what
-- is there.
CREATE INDEX open_place ON single_commit (conversation, sequence) WHERE state < 4;

-- What a message has that a page's messages do not. A record that is not in the log yet
-- stands in `message` at the negative number of its commit; publishing gives it the next
-- position, here as there.
CREATE TABLE message_detail (
    position INTEGER PRIMARY KEY REFERENCES message (position),
    -- The page's time, where there is one: `message` has the server's for want of it.
    sent_at_ms INTEGER,
    custom_type TEXT,
    body_reference TEXT,
    -- A JSON list.
    mentions TEXT,
    reply_to TEXT,
    history_expires_at_ms INTEGER
) STRICT;

CREATE INDEX message_expiry ON message_detail (history_expires_at_ms)
WHERE history_expires_at_ms IS NOT NULL;

-- The frozen bytes of what was published one by one: they say for whom it is, too.
CREATE TABLE outbox_envelope (
    position INTEGER PRIMARY KEY REFERENCES outbox (position),
    envelope_key TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- As `readiness`, for the way that single commits take.
CREATE TABLE commit_readiness (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    probe INTEGER NOT NULL
) STRICT;
INSERT INTO commit_readiness (only_row, probe) VALUES (1, 0);
