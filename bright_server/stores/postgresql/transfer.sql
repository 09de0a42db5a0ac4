-- A whole store, read page by page and loaded again. See queries.sql for the form.
-- Each page goes on behind a key, and shows it first.

-- name: page_bindings
SELECT binding_id, binding_id, label, accounts, authorization_version, created_at_ms,
    revoked_at_ms, token_digest
FROM binding WHERE binding_id > %s ORDER BY binding_id LIMIT %s

-- name: page_conversations
SELECT conversation, channel_account_id, conversation_id, title, latest_message_at_ms,
    last_sequence, next_time_stamp, history_complete, history_page
FROM conversation WHERE conversation > %s ORDER BY conversation LIMIT %s

-- name: page_messages
-- Those that came in groups, by the runs of the log that they lie in: the one that the
-- key is in, and those behind it.
SELECT o.first_position + m.sequence - o.first_sequence AS position,
    c.channel_account_id, c.conversation_id, m.sequence, m.received_at_ms,
    m.committed_at_ms, m.message_id, m.sender_id, m.direction, m.sent_at_ms, m.kind,
    m.text, m.content, m.quote, m.recall, m.raw
FROM outbox AS o
JOIN message AS m ON m.conversation = o.conversation
    AND m.sequence >= o.first_sequence AND m.sequence < o.first_sequence + o.messages
JOIN conversation AS c ON c.conversation = o.conversation
WHERE o.first_position >= coalesce(
        (
            SELECT max(p.first_position) FROM outbox AS p
            WHERE p.first_position <= %(after)s + 1
        ),
        0
    )
    AND o.first_position + m.sequence - o.first_sequence > %(after)s
ORDER BY o.first_position, m.sequence LIMIT %(limit)s

-- name: page_envelopes
SELECT first_position, envelope_key, body
FROM outbox WHERE first_position > %s AND body IS NOT NULL
ORDER BY first_position LIMIT %s

-- name: page_commits
-- What is left of the record of one that is committed stands in history.
SELECT s.key_digest, s.origin, s.tenant, s.sender, s.client_message_id, s.identity,
    c.channel_account_id, c.conversation_id, s.message_id, s.sequence, s.state,
    s.created_at_ms, s.frozen, s.log_partition, s.log_offset, m.received_at_ms,
    m.message_id, m.sender_id, m.direction, m.sent_at_ms, m.kind, m.text, m.content,
    m.quote, m.recall, m.raw, m.details
FROM single_commit AS s
JOIN conversation AS c ON c.conversation = s.conversation
LEFT JOIN message AS m
    ON m.conversation = s.conversation AND m.sequence = s.sequence AND s.state = 4
WHERE s.key_digest > %s ORDER BY s.key_digest LIMIT %s

-- name: page_conflicts
SELECT x.conflict, c.channel_account_id, c.conversation_id, x.message_id, x.content,
    x.received_at_ms, x.noted_at_ms
FROM conflict AS x JOIN conversation AS c USING (conversation)
WHERE x.conflict > %s ORDER BY x.conflict LIMIT %s

-- name: page_anchors
SELECT a.conversation, c.channel_account_id, c.conversation_id, a.message_id,
    a.sent_at_ms, a.anchored_at_ms
FROM anchor AS a JOIN conversation AS c USING (conversation)
WHERE a.conversation > %s ORDER BY a.conversation LIMIT %s

-- name: page_profiles
SELECT p.conversation, c.channel_account_id, c.conversation_id, p.ali_id, p.profile,
    p.fingerprint, p.observed_at_ms, p.committed_at_ms, p.binding_id
FROM contact_profile AS p JOIN conversation AS c USING (conversation)
WHERE p.conversation > %s ORDER BY p.conversation LIMIT %s

-- name: page_cards
SELECT r.card, c.channel_account_id, c.conversation_id, r.message_id, r.card_kind,
    r.content, r.committed_at_ms, r.binding_id
FROM rendered_card AS r JOIN conversation AS c USING (conversation)
WHERE r.card > %s ORDER BY r.card LIMIT %s

-- name: page_card_conflicts
SELECT x.conflict, c.channel_account_id, c.conversation_id, x.message_id, x.card_kind,
    x.content, x.noted_at_ms, x.binding_id
FROM card_conflict AS x JOIN conversation AS c USING (conversation)
WHERE x.conflict > %s ORDER BY x.conflict LIMIT %s

-- name: page_facts
SELECT f.conversation, c.channel_account_id, c.conversation_id, f.facts, f.fingerprint,
    f.observed_at_ms, f.committed_at_ms, f.binding_id
FROM buyer_facts AS f JOIN conversation AS c USING (conversation)
WHERE f.conversation > %s ORDER BY f.conversation LIMIT %s

-- name: facts_of_store
SELECT store_id, created_at_ms, schema_version FROM store

-- name: other_sessions
-- Of Bright, in this database, as far as this role may see them.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'bright'
    AND pid <> pg_backend_pid()

-- name: lock_copy
SELECT pg_try_advisory_lock(6_011_760_002)

-- name: endless
-- One page may be large, and the last step goes over all of it.
SELECT set_config('statement_timeout', '0', false),
    set_config('idle_in_transaction_session_timeout', '0', false),
    set_config('application_name', 'bright store copy', false)

-- name: is_empty
SELECT NOT EXISTS (SELECT FROM binding) AND NOT EXISTS (SELECT FROM conversation)
    AND NOT EXISTS (SELECT FROM outbox)

-- name: load_bindings
INSERT INTO binding (
    binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms,
    token_digest
) VALUES (%s, %s, %s, %s, %s, %s, %s)

-- name: load_conversations
INSERT INTO conversation (
    channel_account_id, conversation_id, title, latest_message_at_ms, last_sequence,
    next_time_stamp, history_complete, history_page
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)

-- name: find_refs
SELECT c.channel_account_id, c.conversation_id, c.conversation
FROM unnest(%s::text[], %s::text[]) AS wanted (account, name)
JOIN conversation AS c
    ON c.channel_account_id = wanted.account AND c.conversation_id = wanted.name

-- name: load_messages
COPY message (
    conversation, sequence, received_at_ms, committed_at_ms, message_id, sender_id,
    direction, sent_at_ms, kind, text, content, quote, recall, raw
) FROM STDIN

-- name: load_runs
INSERT INTO outbox (first_position, messages, conversation, first_sequence)
VALUES (%s, %s, %s, %s)

-- name: load_log
INSERT INTO outbox (first_position, messages, envelope_digest, envelope_key, body)
VALUES (%s, 1, %s, %s, %s)

-- name: end_log
UPDATE outbox_end SET last_position = greatest(last_position, %s)

-- name: last_position
SELECT last_position FROM outbox_end

-- name: place_of_envelope
SELECT first_position FROM outbox WHERE envelope_digest = %s

-- name: load_commits
INSERT INTO single_commit (
    key_digest, conversation, origin, tenant, sender, client_message_id, identity,
    message_id, sequence, state, created_at_ms, frozen, log_partition, log_offset
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: count_open_commit
UPDATE conversation SET open_commits = open_commits + 1 WHERE conversation = %s

-- name: load_conflicts
INSERT INTO conflict (
    conversation, message_id, content, received_at_ms, noted_at_ms, content_digest
) VALUES (%s, %s, %s, %s, %s, %s)

-- name: load_anchors
INSERT INTO anchor (conversation, message_id, sent_at_ms, anchored_at_ms)
VALUES (%s, %s, %s, %s)

-- name: load_profiles
INSERT INTO contact_profile (
    conversation, ali_id, profile, fingerprint, observed_at_ms, committed_at_ms,
    binding_id
) VALUES (%s, %s, %s, %s, %s, %s, %s)

-- name: load_cards
INSERT INTO rendered_card (
    conversation, message_id, card_kind, content, committed_at_ms, binding_id
) VALUES (%s, %s, %s, %s, %s, %s)

-- name: load_card_conflicts
INSERT INTO card_conflict (
    conversation, message_id, card_kind, content, noted_at_ms, binding_id,
    content_digest
) VALUES (%s, %s, %s, %s, %s, %s, %s)

-- name: load_facts
INSERT INTO buyer_facts (
    conversation, facts, fingerprint, observed_at_ms, committed_at_ms, binding_id
) VALUES (%s, %s, %s, %s, %s, %s)

-- name: make_mark
-- While this table is there the database is not opened as a store.
CREATE TABLE unfinished_copy (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    mark text NOT NULL
)

-- name: add_mark
INSERT INTO unfinished_copy (only_row, mark) VALUES (1, %s)

-- name: move_mark
UPDATE unfinished_copy SET mark = %s

-- name: read_mark
SELECT mark FROM unfinished_copy

-- name: drop_mark
DROP TABLE unfinished_copy

-- name: name_store
UPDATE store SET store_id = %s, created_at_ms = %s

-- name: bound_ids
-- An id outside of these bounds is not looked for.
UPDATE conversation AS c
SET lowest_id = ids.lowest, highest_id = ids.highest
FROM (
    SELECT conversation, min(message_id) AS lowest, max(message_id) AS highest
    FROM (
        SELECT conversation, message_id FROM message WHERE observed
        UNION ALL
        SELECT conversation, message_id COLLATE "C" FROM single_commit
        WHERE origin = 'observed'
    ) AS observed
    GROUP BY conversation
) AS ids
WHERE c.conversation = ids.conversation
