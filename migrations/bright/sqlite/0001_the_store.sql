-- The store of one Bright server.
--
-- The growing table is clustered in arrival order: its key is the position, which is
-- gapless and is the outbox's position too. The unique key of a message is short and
-- local (a small integer for the conversation, then the page's id, which increases with
-- time), so that an insert touches the few warm pages at the end of each conversation
-- and costs the same with a million rows behind it.

CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    -- The oldest server whose code reads this schema rightly; an older one must refuse.
    oldest_compatible_version INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE binding (
    binding_id TEXT PRIMARY KEY,
    -- SHA-256 of the token: the token itself is shown once and kept nowhere.
    token_digest BLOB NOT NULL UNIQUE,
    label TEXT NOT NULL,
    accounts TEXT NOT NULL,
    authorization_version INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation (
    conversation INTEGER PRIMARY KEY,
    channel_account_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    title TEXT,
    latest_message_at_ms INTEGER,
    last_sequence INTEGER NOT NULL DEFAULT 0,
    -- History progress as the extension last told it (OT-44); the cursor is JSON, for
    -- the page has numeric and textual ones.
    next_time_stamp TEXT,
    history_complete INTEGER,
    history_page INTEGER,
    UNIQUE (channel_account_id, conversation_id)
) STRICT;

CREATE TABLE message (
    position INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (conversation),
    message_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    sender_id TEXT NOT NULL,
    direction TEXT NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT,
    -- Canonical JSON, so that equal content is equal text.
    content TEXT,
    quote TEXT,
    recall TEXT,
    raw TEXT,
    received_at_ms INTEGER NOT NULL,
    committed_at_ms INTEGER NOT NULL,
    UNIQUE (conversation, message_id)
) STRICT;

-- What the log still has to be told, by reference: no payload is copied.
CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES message (position)
) STRICT;

-- The same scope seen again with other content: the first stays in message, the other is
-- kept here, once for each distinct content.
CREATE TABLE conflict (
    conflict INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (conversation),
    message_id TEXT NOT NULL,
    content_digest BLOB NOT NULL,
    content TEXT NOT NULL,
    received_at_ms INTEGER NOT NULL,
    noted_at_ms INTEGER NOT NULL,
    UNIQUE (conversation, message_id, content_digest)
) STRICT;

CREATE TABLE anchor (
    conversation INTEGER PRIMARY KEY REFERENCES conversation (conversation),
    message_id TEXT NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    anchored_at_ms INTEGER NOT NULL
) STRICT;

-- One row that the readiness probe overwrites: it really goes to disk and never grows.
CREATE TABLE readiness (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    probe INTEGER NOT NULL
) STRICT;
INSERT INTO readiness (only_row, probe) VALUES (1, 0);
