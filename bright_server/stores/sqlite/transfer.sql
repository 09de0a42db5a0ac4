-- A whole store, read page by page and loaded again. See queries.sql for the form.
-- Each page goes on behind a key, and shows it first.

-- name: page_bindings
SELECT binding_id, binding_id, label, accounts, authorization_version, created_at_ms,
    revoked_at_ms, token_digest
FROM binding WHERE binding_id > ? ORDER BY binding_id LIMIT ?

-- name: page_conversations
SELECT conversation, channel_account_id, conversation_id, title, latest_message_at_ms,
    last_sequence, next_time_stamp, history_complete, history_page
FROM conversation WHERE conversation > ? ORDER BY conversation LIMIT ?

-- name: page_messages
-- Those that came in groups: the others are told of with their commits.
SELECT m.position, c.channel_account_id, c.conversation_id, m.sequence,
    m.received_at_ms, m.committed_at_ms, m.message_id, m.sender_id, m.direction,
    m.sent_at_ms, m.kind, m.text, m.content, m.quote, m.recall, m.raw
FROM message AS m
CROSS JOIN conversation AS c ON c.conversation = m.conversation
LEFT JOIN message_detail AS d ON d.position = m.position
LEFT JOIN single_commit AS s
    ON s.origin = 'observed' AND s.tenant = c.channel_account_id
    AND s.sender = c.conversation_id AND s.client_message_id = m.message_id
WHERE m.position > max(?, 0) AND d.position IS NULL AND s.number IS NULL
ORDER BY m.position LIMIT ?

-- name: page_envelopes
SELECT position, envelope_key, body
FROM outbox_envelope WHERE position > ? ORDER BY position LIMIT ?

-- name: page_commits
SELECT s.number, s.origin, s.tenant, s.sender, s.client_message_id, s.identity,
    c.channel_account_id, c.conversation_id, s.message_id, s.sequence, s.state,
    s.created_at_ms, i.frozen, s.log_partition, s.log_offset
FROM single_commit AS s
CROSS JOIN conversation AS c USING (conversation)
LEFT JOIN commit_intent AS i USING (number)
WHERE s.number > ? ORDER BY s.number LIMIT ?

-- name: page_conflicts
SELECT x.conflict, c.channel_account_id, c.conversation_id, x.message_id, x.content,
    x.received_at_ms, x.noted_at_ms
FROM conflict AS x CROSS JOIN conversation AS c USING (conversation)
WHERE x.conflict > ? ORDER BY x.conflict LIMIT ?

-- name: page_anchors
SELECT a.conversation, c.channel_account_id, c.conversation_id, a.message_id,
    a.sent_at_ms, a.anchored_at_ms
FROM anchor AS a CROSS JOIN conversation AS c USING (conversation)
WHERE a.conversation > ? ORDER BY a.conversation LIMIT ?

-- name: page_profiles
SELECT p.conversation, c.channel_account_id, c.conversation_id, p.ali_id, p.profile,
    p.fingerprint, p.observed_at_ms, p.committed_at_ms, p.binding_id
FROM contact_profile AS p CROSS JOIN conversation AS c USING (conversation)
WHERE p.conversation > ? ORDER BY p.conversation LIMIT ?

-- name: page_cards
SELECT r.card, c.channel_account_id, c.conversation_id, r.message_id, r.card_kind,
    r.content, r.committed_at_ms, r.binding_id
FROM rendered_card AS r CROSS JOIN conversation AS c USING (conversation)
WHERE r.card > ? ORDER BY r.card LIMIT ?

-- name: page_card_conflicts
SELECT x.conflict, c.channel_account_id, c.conversation_id, x.message_id, x.card_kind,
    x.content, x.noted_at_ms, x.binding_id
FROM card_conflict AS x CROSS JOIN conversation AS c USING (conversation)
WHERE x.conflict > ? ORDER BY x.conflict LIMIT ?

-- name: page_facts
SELECT f.conversation, c.channel_account_id, c.conversation_id, f.facts, f.fingerprint,
    f.observed_at_ms, f.committed_at_ms, f.binding_id
FROM buyer_facts AS f CROSS JOIN conversation AS c USING (conversation)
WHERE f.conversation > ? ORDER BY f.conversation LIMIT ?

-- name: facts_of_store
SELECT store_id, created_at_ms, schema_version FROM store

-- name: load_bindings
INSERT INTO binding (
    binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms,
    token_digest
) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: load_conversations
INSERT INTO conversation (
    channel_account_id, conversation_id, title, latest_message_at_ms, last_sequence,
    next_time_stamp, history_complete, history_page
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: load_messages
INSERT INTO message (
    conversation, sequence, received_at_ms, committed_at_ms, message_id, sender_id,
    direction, sent_at_ms, kind, text, content, quote, recall, raw, position
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_outbox
INSERT INTO outbox (position, message) VALUES (?1, ?1)

-- name: load_log
INSERT INTO outbox_envelope (position, envelope_key, body) VALUES (?, ?, ?)

-- name: place_of_envelope
SELECT position FROM outbox_envelope WHERE envelope_key = ?

-- name: load_commits
INSERT INTO single_commit (
    conversation, origin, tenant, sender, client_message_id, identity, message_id,
    sequence, state, created_at_ms, log_partition, log_offset
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2
RETURNING number, conversation

-- name: set_state
UPDATE single_commit SET state = ? WHERE number = ?

-- name: load_conflicts
INSERT INTO conflict (
    conversation, message_id, content, received_at_ms, noted_at_ms, content_digest
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_anchors
INSERT INTO anchor (conversation, message_id, sent_at_ms, anchored_at_ms)
SELECT conversation, ?3, ?4, ?5
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_profiles
INSERT INTO contact_profile (
    conversation, ali_id, profile, fingerprint, observed_at_ms, committed_at_ms,
    binding_id
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7, ?8
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_cards
INSERT INTO rendered_card (
    conversation, message_id, card_kind, content, committed_at_ms, binding_id
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_card_conflicts
INSERT INTO card_conflict (
    conversation, message_id, card_kind, content, noted_at_ms, binding_id,
    content_digest
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7, ?8
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: load_facts
INSERT INTO buyer_facts (
    conversation, facts, fingerprint, observed_at_ms, committed_at_ms, binding_id
)
SELECT conversation, ?3, ?4, ?5, ?6, ?7
FROM conversation WHERE channel_account_id = ?1 AND conversation_id = ?2

-- name: make_mark
-- While this table is there the database is not opened as a store.
CREATE TABLE unfinished_copy (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    mark TEXT NOT NULL
) STRICT

-- name: make_envelope_index
CREATE INDEX copied_envelope ON outbox_envelope (envelope_key)

-- name: add_mark
INSERT INTO unfinished_copy (only_row, mark) VALUES (1, ?)

-- name: move_mark
UPDATE unfinished_copy SET mark = ?

-- name: read_mark
SELECT mark FROM unfinished_copy

-- name: drop_mark
DROP TABLE unfinished_copy

-- name: drop_envelope_index
DROP INDEX copied_envelope

-- name: name_store
UPDATE store SET store_id = ?, created_at_ms = ?

-- name: tables
SELECT name FROM sqlite_schema WHERE type = 'table'
