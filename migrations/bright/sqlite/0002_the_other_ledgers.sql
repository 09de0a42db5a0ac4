-- Profiles, rendered cards and buyer facts: ledgers beside the messages, which they
-- leave alone. A conversation's small key stands for account and conversation id, so no
-- fact is keyed by the contact's own id (OT-80, OT-87).

-- The newest profile of a conversation's contact: latest wins, strictly, by the time of
-- observation (OT-81). What it says is canonical JSON.
CREATE TABLE contact_profile (
    conversation INTEGER PRIMARY KEY REFERENCES conversation (conversation),
    ali_id TEXT,
    profile TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    observed_at_ms INTEGER NOT NULL,
    committed_at_ms INTEGER NOT NULL,
    -- The binding that told it: where an operator looks when it is wrong.
    binding_id TEXT NOT NULL
) STRICT;

-- A card of a message as the page rendered it: the first content wins (OT-90).
CREATE TABLE rendered_card (
    card INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (conversation),
    message_id TEXT NOT NULL,
    card_kind TEXT NOT NULL,
    content TEXT NOT NULL,
    committed_at_ms INTEGER NOT NULL,
    binding_id TEXT NOT NULL,
    UNIQUE (conversation, message_id, card_kind)
) STRICT;

-- The same card seen again with other content, once for each distinct content.
CREATE TABLE card_conflict (
    conflict INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (conversation),
    message_id TEXT NOT NULL,
    card_kind TEXT NOT NULL,
    content_digest BLOB NOT NULL,
    content TEXT NOT NULL,
    noted_at_ms INTEGER NOT NULL,
    binding_id TEXT NOT NULL,
    UNIQUE (conversation, message_id, card_kind, content_digest)
) STRICT;

-- The newest facts of a conversation's buyer: latest wins, as for profiles.
CREATE TABLE buyer_facts (
    conversation INTEGER PRIMARY KEY REFERENCES conversation (conversation),
    facts TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    observed_at_ms INTEGER NOT NULL,
    committed_at_ms INTEGER NOT NULL,
    binding_id TEXT NOT NULL
) STRICT;
