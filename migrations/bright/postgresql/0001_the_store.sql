-- The store of any number of Bright servers on one PostgreSQL.
--
-- Text that identifies is compared by code points (COLLATE "C"), whatever the database's
-- own language is: ids are no words. What is JSON stays text: jsonb knows no \u0000 and
-- does not keep the spelling by which equal content is equal text.
--
-- The growing table has no foreign key: each row of it would be looked up once more. Its
-- rows are written under their conversation's lock, which proves as much.

CREATE TABLE store (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    store_id text NOT NULL,
    schema_version integer NOT NULL,
    -- The oldest server whose code reads this schema rightly; an older one must refuse.
    oldest_compatible_version integer NOT NULL,
    created_at_ms bigint NOT NULL
);

CREATE TABLE binding (
    binding_id text COLLATE "C" PRIMARY KEY,
    -- SHA-256 of the token: the token itself is shown once and kept nowhere.
    token_digest bytea NOT NULL UNIQUE,
    label text NOT NULL,
    accounts text NOT NULL,
    authorization_version bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    revoked_at_ms bigint
);

-- Whoever changes anything of a conversation locks its row first; of several, in the
-- order of their keys. So its numbers have no gap, and nobody waits in a circle.
CREATE TABLE conversation (
    conversation bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    latest_message_at_ms bigint,
    last_sequence bigint NOT NULL DEFAULT 0,
    -- How many single commits of it are not done; observed groups look for them if any.
    open_commits integer NOT NULL DEFAULT 0,
    history_page bigint,
    history_complete boolean,
    channel_account_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    -- The bounds of the page's ids in it: an id outside is certainly new.
    lowest_id text COLLATE "C" NOT NULL DEFAULT '',
    highest_id text COLLATE "C" NOT NULL DEFAULT '',
    title text,
    -- History progress as the extension last told it (OT-44); the cursor is JSON, for
    -- the page has numeric and textual ones.
    next_time_stamp text,
    UNIQUE (channel_account_id, conversation_id)
) WITH (fillfactor = 60);

CREATE TABLE message (
    conversation bigint NOT NULL,
    sequence bigint NOT NULL,
    -- The page's time; null where there is none, of a message that was sent.
    sent_at_ms bigint,
    received_at_ms bigint NOT NULL,
    -- Null: recorded, not committed yet.
    committed_at_ms bigint,
    -- After which history may let go of it.
    history_expires_at_ms bigint,
    -- Whether a page showed it: then message_id is the page's, and its scope.
    observed boolean NOT NULL DEFAULT true,
    message_id text COLLATE "C" NOT NULL,
    sender_id text NOT NULL,
    direction text NOT NULL,
    kind text NOT NULL,
    text text,
    -- Canonical JSON, so that equal content is equal text.
    content text,
    quote text,
    recall text,
    raw text,
    -- What a message has that a page's messages have not, as a JSON object.
    details text,
    PRIMARY KEY (conversation, sequence)
);
CREATE UNIQUE INDEX message_scope ON message (conversation, message_id) WHERE observed;

-- What the log still has to be told, by reference: one row for a run of messages with
-- consecutive sequences and positions, no payload is copied. What was published alone
-- has its envelope here: it says for whom it is.
CREATE TABLE outbox (
    first_position bigint PRIMARY KEY,
    messages integer NOT NULL CHECK (messages > 0),
    conversation bigint,
    first_sequence bigint,
    -- SHA-256 of the envelope's key, which may be longer than an index takes.
    envelope_digest bytea,
    envelope_key text,
    body bytea,
    CHECK ((conversation IS NULL) = (first_sequence IS NULL)),
    CHECK ((conversation IS NULL) <> (body IS NULL)),
    CHECK (body IS NULL OR messages = 1),
    CHECK ((body IS NULL) = (envelope_key IS NULL)),
    CHECK ((body IS NULL) = (envelope_digest IS NULL))
);
CREATE UNIQUE INDEX outbox_run ON outbox (conversation, first_sequence)
WHERE conversation IS NOT NULL;
CREATE UNIQUE INDEX outbox_envelope ON outbox (envelope_digest)
WHERE envelope_digest IS NOT NULL;

-- The last position given. Taken last in a transaction, and held until it is on disk: so
-- positions have no gap, and a reader that has seen one has seen all before it.
CREATE TABLE outbox_end (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    last_position bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO outbox_end (only_row, last_position) VALUES (1, 0);

-- Messages that are committed one by one, step by step. Those that come in groups have
-- no row here and pay nothing for it.
CREATE TABLE single_commit (
    -- SHA-256 of the key, which may be longer than an index takes.
    key_digest bytea PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation (conversation),
    sequence bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    -- 1 reserved, 2 recorded, 3 outboxed, 4 committed; forward only.
    state smallint NOT NULL CHECK (state BETWEEN 1 AND 4),
    origin text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL,
    client_message_id text COLLATE "C" NOT NULL,
    message_id text NOT NULL,
    -- The canonical identity of the request that was first: its digest, or in full.
    identity bytea NOT NULL,
    -- All that the later steps need; let go of once it is committed.
    frozen bytea,
    -- The place in the log.
    log_partition text,
    log_offset bigint,
    CHECK ((state >= 3) = (log_offset IS NOT NULL)),
    CHECK ((log_partition IS NULL) = (log_offset IS NULL)),
    CHECK (state = 4 OR frozen IS NOT NULL)
) WITH (fillfactor = 70);
-- What recovery looks for, and what ends a reader's page: a commit leaves both when it
-- is done.
CREATE INDEX unfinished_commit ON single_commit (created_at_ms, conversation, sequence)
WHERE state < 4;
CREATE INDEX open_place ON single_commit (conversation, sequence) WHERE state < 4;

-- The same scope seen again with other content: the first stays in message, the other is
-- kept here, once for each distinct content.
CREATE TABLE conflict (
    conflict bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation (conversation),
    message_id text COLLATE "C" NOT NULL,
    content_digest bytea NOT NULL,
    content text NOT NULL,
    received_at_ms bigint NOT NULL,
    noted_at_ms bigint NOT NULL,
    UNIQUE (conversation, message_id, content_digest)
);

CREATE TABLE anchor (
    conversation bigint PRIMARY KEY REFERENCES conversation (conversation),
    message_id text COLLATE "C" NOT NULL,
    sent_at_ms bigint NOT NULL,
    anchored_at_ms bigint NOT NULL
);

-- The newest profile of a conversation's contact: latest wins, strictly, by the time of
-- observation (OT-81). What it says is canonical JSON.
CREATE TABLE contact_profile (
    conversation bigint PRIMARY KEY REFERENCES conversation (conversation),
    ali_id text,
    profile text NOT NULL,
    fingerprint text NOT NULL,
    observed_at_ms bigint NOT NULL,
    committed_at_ms bigint NOT NULL,
    -- The binding that told it: where an operator looks when it is wrong.
    binding_id text NOT NULL
);

-- A card of a message as the page rendered it: the first content wins (OT-90).
CREATE TABLE rendered_card (
    card bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation (conversation),
    message_id text COLLATE "C" NOT NULL,
    card_kind text COLLATE "C" NOT NULL,
    content text NOT NULL,
    committed_at_ms bigint NOT NULL,
    binding_id text NOT NULL,
    UNIQUE (conversation, message_id, card_kind)
);

-- The same card seen again with other content, once for each distinct content.
CREATE TABLE card_conflict (
    conflict bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation (conversation),
    message_id text COLLATE "C" NOT NULL,
    card_kind text COLLATE "C" NOT NULL,
    content_digest bytea NOT NULL,
    content text NOT NULL,
    noted_at_ms bigint NOT NULL,
    binding_id text NOT NULL,
    UNIQUE (conversation, message_id, card_kind, content_digest)
);

-- The newest facts of a conversation's buyer: latest wins, as for profiles.
CREATE TABLE buyer_facts (
    conversation bigint PRIMARY KEY REFERENCES conversation (conversation),
    facts text NOT NULL,
    fingerprint text NOT NULL,
    observed_at_ms bigint NOT NULL,
    committed_at_ms bigint NOT NULL,
    binding_id text NOT NULL
);

-- Who recovers commits just now, by this server's own clock.
CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until_ms bigint NOT NULL
);

-- One row that the readiness probe overwrites: it really goes to disk and never grows.
CREATE TABLE readiness (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    probe bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO readiness (only_row, probe) VALUES (1, 0);
