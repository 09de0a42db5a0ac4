-- The statements of observed groups, readiness, bindings and reading. A line
-- `-- name: x` opens the statement x. Sets of keys come in as arrays and are joined, so a
-- group of thousands of messages is a handful of statements.

-- name: begin
BEGIN

-- name: commit
COMMIT

-- name: store
SELECT store_id, schema_version FROM store

-- name: set_session
-- Nothing that the server, the database or the role is set to makes an ACK less durable,
-- or a statement endless. A stronger setting stays.
SELECT set_config(
        'synchronous_commit',
        CASE current_setting('synchronous_commit')
            WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on'
        END,
        false
    ),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('statement_timeout', %(statement_ms)s, false),
    set_config('idle_in_transaction_session_timeout', %(idle_ms)s, false),
    set_config('jit', 'off', false)

-- name: durability
SELECT pg_is_in_recovery(),
    current_setting('fsync'),
    current_setting('full_page_writes'),
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
    current_setting('default_transaction_read_only'),
    current_setting('server_encoding')

-- name: may_commit
-- The last word before a COMMIT, sent with it: an error of its own ends the transaction.
-- No setting has these names, so asking for one is that error; see durability.py.
SELECT CASE
    WHEN (SELECT store_id FROM store) IS DISTINCT FROM %s
        THEN current_setting('bright.another_store')
    WHEN current_setting('fsync') <> 'on' THEN current_setting('bright.fsync')
    WHEN current_setting('full_page_writes') <> 'on'
        THEN current_setting('bright.full_page_writes')
    WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
        THEN current_setting('bright.synchronous_commit')
END

-- name: same_store
-- Sent with whatever is read: from here on the tables cannot be dropped until it is.
SELECT CASE
    WHEN (SELECT store_id FROM store) IS DISTINCT FROM %s
        THEN current_setting('bright.another_store')
    ELSE current_setting('synchronous_standby_names')
END

-- name: session_durability
SELECT current_setting('synchronous_commit')

-- name: grants_may_be_judged
-- Shared by groups, taken alone by whoever revokes: a group that was judged before a
-- revocation is on disk before the revocation is.
SELECT pg_advisory_xact_lock_shared(6_011_760_060)

-- name: grants_are_changed
SELECT pg_advisory_xact_lock(6_011_760_060)

-- name: lock_conversations
SELECT c.channel_account_id, c.conversation_id, c.conversation, c.last_sequence,
    c.lowest_id, c.highest_id, c.open_commits
FROM unnest(%s::text[], %s::text[]) AS wanted (account, name)
JOIN conversation AS c
    ON c.channel_account_id = wanted.account AND c.conversation_id = wanted.name
ORDER BY c.channel_account_id, c.conversation_id
FOR NO KEY UPDATE OF c

-- name: add_conversations
INSERT INTO conversation (channel_account_id, conversation_id)
SELECT account, name FROM unnest(%s::text[], %s::text[]) AS wanted (account, name)
ORDER BY account COLLATE "C", name COLLATE "C"
ON CONFLICT DO NOTHING

-- name: find_messages
SELECT m.conversation, m.sequence, m.message_id, m.sender_id, m.direction, m.sent_at_ms,
    m.kind, m.text, m.content, m.quote, m.recall
FROM unnest(%s::bigint[], %s::text[]) AS wanted (conversation, message_id)
JOIN message AS m
    ON m.conversation = wanted.conversation AND m.message_id = wanted.message_id
    AND m.observed

-- name: find_open_commits
SELECT conversation, identity, sequence, state, frozen, log_partition, log_offset
FROM single_commit
WHERE conversation = ANY(%s::bigint[]) AND state < 4 AND origin = 'observed'

-- name: copy_messages
COPY message (
    conversation, message_id, sequence, sender_id, direction, sent_at_ms, kind, text,
    received_at_ms, committed_at_ms
) FROM STDIN

-- name: copy_messages_with_parts
COPY message (
    conversation, message_id, sequence, sender_id, direction, sent_at_ms, kind, text,
    received_at_ms, committed_at_ms, content, quote, recall, raw
) FROM STDIN

-- name: set_sequences
UPDATE conversation AS c
SET last_sequence = new.last_sequence, lowest_id = new.lowest_id,
    highest_id = new.highest_id
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[])
    AS new (conversation, last_sequence, lowest_id, highest_id)
WHERE c.conversation = new.conversation

-- name: add_outbox
-- The places are counted from 1; whoever takes the end holds it until it has committed.
WITH taken AS (
    UPDATE outbox_end SET last_position = last_position + %s
    RETURNING last_position - %s AS before
)
INSERT INTO outbox (first_position, messages, conversation, first_sequence)
SELECT taken.before + run.place, run.messages, run.conversation, run.first_sequence
FROM taken, unnest(%s::bigint[], %s::integer[], %s::bigint[], %s::bigint[])
    AS run (place, messages, conversation, first_sequence)

-- name: add_conflicts
INSERT INTO conflict (
    conversation, message_id, content_digest, content, received_at_ms, noted_at_ms
)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::bytea[], %s::text[], %s::bigint[], %s::bigint[]
)
ON CONFLICT DO NOTHING

-- name: discover
UPDATE conversation AS c
SET latest_message_at_ms = greatest(c.latest_message_at_ms, new.at_ms),
    title = coalesce(new.title, c.title)
FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS new (conversation, at_ms, title)
WHERE c.conversation = new.conversation

-- name: store_progress
UPDATE conversation AS c
SET next_time_stamp = new.cursor, history_complete = new.complete,
    history_page = new.page,
    latest_message_at_ms = greatest(c.latest_message_at_ms, new.at_ms)
FROM unnest(%s::bigint[], %s::text[], %s::boolean[], %s::bigint[], %s::bigint[])
    AS new (conversation, cursor, complete, page, at_ms)
WHERE c.conversation = new.conversation

-- name: find_anchors
SELECT conversation, message_id, sent_at_ms, anchored_at_ms
FROM anchor WHERE conversation = ANY(%s::bigint[])

-- name: find_claimed
SELECT m.conversation, m.message_id, m.sent_at_ms
FROM unnest(%s::bigint[], %s::text[]) AS wanted (conversation, message_id)
JOIN message AS m
    ON m.conversation = wanted.conversation AND m.message_id = wanted.message_id
    AND m.observed
WHERE m.committed_at_ms IS NOT NULL

-- name: put_anchors
INSERT INTO anchor (conversation, message_id, sent_at_ms, anchored_at_ms)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[])
ON CONFLICT (conversation) DO UPDATE SET
    message_id = excluded.message_id,
    sent_at_ms = excluded.sent_at_ms,
    anchored_at_ms = excluded.anchored_at_ms

-- name: touch_activity
-- A proven claim also tells when the conversation was last active (OT-05).
UPDATE conversation AS c
SET latest_message_at_ms = greatest(c.latest_message_at_ms, new.at_ms)
FROM unnest(%s::bigint[], %s::bigint[]) AS new (conversation, at_ms)
WHERE c.conversation = new.conversation

-- name: find_profiles
SELECT conversation, observed_at_ms FROM contact_profile
WHERE conversation = ANY(%s::bigint[])

-- name: put_profiles
INSERT INTO contact_profile (
    conversation, ali_id, profile, fingerprint, observed_at_ms, committed_at_ms, binding_id
)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::text[]
)
ON CONFLICT (conversation) DO UPDATE SET
    ali_id = excluded.ali_id,
    profile = excluded.profile,
    fingerprint = excluded.fingerprint,
    observed_at_ms = excluded.observed_at_ms,
    committed_at_ms = excluded.committed_at_ms,
    binding_id = excluded.binding_id

-- name: find_facts
SELECT conversation, observed_at_ms FROM buyer_facts
WHERE conversation = ANY(%s::bigint[])

-- name: put_facts
INSERT INTO buyer_facts (
    conversation, facts, fingerprint, observed_at_ms, committed_at_ms, binding_id
)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[]
)
ON CONFLICT (conversation) DO UPDATE SET
    facts = excluded.facts,
    fingerprint = excluded.fingerprint,
    observed_at_ms = excluded.observed_at_ms,
    committed_at_ms = excluded.committed_at_ms,
    binding_id = excluded.binding_id

-- name: find_cards
SELECT r.conversation, r.message_id, r.card_kind, r.content
FROM unnest(%s::bigint[], %s::text[], %s::text[])
    AS wanted (conversation, message_id, card_kind)
JOIN rendered_card AS r
    ON r.conversation = wanted.conversation AND r.message_id = wanted.message_id
    AND r.card_kind = wanted.card_kind

-- name: add_cards
INSERT INTO rendered_card (
    conversation, message_id, card_kind, content, committed_at_ms, binding_id
)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[]
)

-- name: add_card_conflicts
INSERT INTO card_conflict (
    conversation, message_id, card_kind, content_digest, content, noted_at_ms, binding_id
)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::text[], %s::bytea[], %s::text[], %s::bigint[],
    %s::text[]
)
ON CONFLICT DO NOTHING

-- name: read_messages
-- With the newest profile of the contact, both of one moment (OT-86). They end before a
-- place that is reserved and not committed.
SELECT m.sequence, m.message_id, m.sender_id, m.direction,
    coalesce(m.sent_at_ms, m.received_at_ms), m.kind, m.text, m.content, m.quote,
    m.recall, m.raw, p.ali_id, p.observed_at_ms, p.profile
FROM conversation AS c
JOIN message AS m ON m.conversation = c.conversation
LEFT JOIN contact_profile AS p ON p.conversation = c.conversation
WHERE c.channel_account_id = %s AND c.conversation_id = %s AND m.sequence > %s
    AND (c.open_commits = 0 OR m.sequence < (
        SELECT coalesce(min(s.sequence), c.last_sequence + 1) FROM single_commit AS s
        WHERE s.conversation = c.conversation AND s.state < 4
    ))
ORDER BY m.sequence LIMIT %s

-- name: write_probe
-- Several servers count each for itself: what is read back is at least one's own.
UPDATE readiness SET probe = greatest(probe, %s)

-- name: rewrite_probe
UPDATE readiness SET probe = probe RETURNING probe

-- name: use_room_of_the_database
-- Where the messages are, wherever this server keeps what is temporary.
SET LOCAL temp_tablespaces = ''

-- name: make_room
CREATE TEMPORARY TABLE room_for_messages (filling text NOT NULL) ON COMMIT DROP

-- name: fill_room
INSERT INTO room_for_messages SELECT repeat('x', row_bytes)
FROM (VALUES (%s::integer, %s::integer)) AS wanted (rows, row_bytes),
    generate_series(1, wanted.rows)

-- name: read_probe
SELECT probe FROM readiness

-- name: add_binding
INSERT INTO binding (
    binding_id, token_digest, label, accounts, authorization_version, created_at_ms,
    revoked_at_ms
) VALUES (%s, %s, %s, %s, %s, %s, %s)

-- name: all_bindings
SELECT binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms
FROM binding ORDER BY created_at_ms, binding_id

-- name: binding_by_digest
SELECT binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms
FROM binding WHERE token_digest = %s

-- name: bindings_by_ids
SELECT binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms
FROM binding WHERE binding_id = ANY(%s::text[])

-- name: revoke_binding
UPDATE binding
SET revoked_at_ms = %s, authorization_version = authorization_version + 1
WHERE binding_id = %s AND revoked_at_ms IS NULL
