-- Every statement of the embedded store. A line `-- name: x` opens the statement x.
-- Sets of keys come in as JSON and are joined, so a group of thousands of messages is a
-- handful of statements.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: store
SELECT store_id, schema_version FROM store

-- name: last_position
-- Below zero stand records that are not in the log yet.
SELECT coalesce(max(position), 0) FROM message WHERE position > 0

-- name: add_conversations
INSERT INTO conversation (channel_account_id, conversation_id) VALUES (?, ?)
ON CONFLICT DO NOTHING

-- name: find_conversations
SELECT c.channel_account_id, c.conversation_id, c.conversation, c.last_sequence,
    (SELECT coalesce(min(message_id), '') FROM message WHERE conversation = c.conversation),
    (SELECT coalesce(max(message_id), '') FROM message WHERE conversation = c.conversation)
FROM json_each(?) AS wanted
CROSS JOIN conversation AS c
    ON c.channel_account_id = json_extract(wanted.value, '$[0]')
    AND c.conversation_id = json_extract(wanted.value, '$[1]')

-- name: find_messages
SELECT m.conversation, m.sequence, m.message_id, m.sender_id, m.direction, m.sent_at_ms,
    m.kind, m.text, m.content, m.quote, m.recall
FROM json_each(?) AS wanted
CROSS JOIN json_each(wanted.value) AS id
CROSS JOIN message AS m
    ON m.conversation = CAST(wanted.key AS INTEGER) AND m.message_id = id.value

-- name: add_plain_messages
INSERT INTO message (
    position, conversation, message_id, sequence, sender_id, direction, sent_at_ms, kind,
    text, received_at_ms, committed_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_messages_with_parts
INSERT INTO message (
    position, conversation, message_id, sequence, sender_id, direction, sent_at_ms, kind,
    text, received_at_ms, committed_at_ms, content, quote, recall, raw
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_outbox
INSERT INTO outbox (position, message)
SELECT position, position FROM message WHERE position BETWEEN ? AND ?

-- name: set_last_sequences
UPDATE conversation SET last_sequence = ? WHERE conversation = ?

-- name: add_conflicts
INSERT INTO conflict (
    conversation, message_id, content_digest, content, received_at_ms, noted_at_ms
) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: discover
INSERT INTO conversation (
    channel_account_id, conversation_id, latest_message_at_ms, title
) VALUES (?, ?, ?, ?)
ON CONFLICT (channel_account_id, conversation_id) DO UPDATE SET
    latest_message_at_ms = max(
        coalesce(latest_message_at_ms, 0), excluded.latest_message_at_ms
    ),
    title = coalesce(excluded.title, title)

-- name: find_anchors
SELECT c.channel_account_id, c.conversation_id, a.message_id, a.anchored_at_ms
FROM json_each(?) AS wanted
CROSS JOIN conversation AS c
    ON c.channel_account_id = json_extract(wanted.value, '$[0]')
    AND c.conversation_id = json_extract(wanted.value, '$[1]')
JOIN anchor AS a ON a.conversation = c.conversation

-- name: store_progress
INSERT INTO conversation (
    channel_account_id, conversation_id, next_time_stamp, history_complete, history_page,
    latest_message_at_ms
) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (channel_account_id, conversation_id) DO UPDATE SET
    next_time_stamp = excluded.next_time_stamp,
    history_complete = excluded.history_complete,
    history_page = excluded.history_page,
    latest_message_at_ms = max(
        coalesce(latest_message_at_ms, 0),
        coalesce(excluded.latest_message_at_ms, latest_message_at_ms)
    )

-- name: claim_anchors
-- An anchor moves forward only: by the claimed message's time, then by its id. The
-- filter also drops claims whose message is not stored, or not in the log yet.
INSERT INTO anchor (conversation, message_id, sent_at_ms, anchored_at_ms)
SELECT m.conversation, m.message_id, m.sent_at_ms, json_extract(claim.value, '$[3]')
FROM json_each(?) AS claim
CROSS JOIN conversation AS c
    ON c.channel_account_id = json_extract(claim.value, '$[0]')
    AND c.conversation_id = json_extract(claim.value, '$[1]')
CROSS JOIN message AS m
    ON m.conversation = c.conversation
    AND m.message_id = json_extract(claim.value, '$[2]')
    AND m.position > 0
WHERE true
ON CONFLICT (conversation) DO UPDATE SET
    message_id = excluded.message_id,
    sent_at_ms = excluded.sent_at_ms,
    anchored_at_ms = excluded.anchored_at_ms
WHERE (excluded.sent_at_ms, excluded.message_id) > (anchor.sent_at_ms, anchor.message_id)
RETURNING conversation, message_id

-- name: find_claimed
SELECT claim.key, m.conversation, a.message_id, a.anchored_at_ms
FROM json_each(?) AS claim
CROSS JOIN conversation AS c
    ON c.channel_account_id = json_extract(claim.value, '$[0]')
    AND c.conversation_id = json_extract(claim.value, '$[1]')
CROSS JOIN message AS m
    ON m.conversation = c.conversation
    AND m.message_id = json_extract(claim.value, '$[2]')
    AND m.position > 0
JOIN anchor AS a ON a.conversation = c.conversation

-- name: touch_activity
-- A proven claim also tells when the conversation was last active (OT-05).
UPDATE conversation SET latest_message_at_ms = max(coalesce(latest_message_at_ms, 0), ?)
WHERE channel_account_id = ? AND conversation_id = ?

-- name: find_refs
SELECT c.channel_account_id, c.conversation_id, c.conversation
FROM json_each(?) AS wanted
CROSS JOIN conversation AS c
    ON c.channel_account_id = json_extract(wanted.value, '$[0]')
    AND c.conversation_id = json_extract(wanted.value, '$[1]')

-- name: put_profile
-- Latest wins, strictly, by the time of observation (OT-81); a row comes back if it won.
INSERT INTO contact_profile (
    conversation, ali_id, profile, fingerprint, observed_at_ms, committed_at_ms, binding_id
) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (conversation) DO UPDATE SET
    ali_id = excluded.ali_id,
    profile = excluded.profile,
    fingerprint = excluded.fingerprint,
    observed_at_ms = excluded.observed_at_ms,
    committed_at_ms = excluded.committed_at_ms,
    binding_id = excluded.binding_id
WHERE excluded.observed_at_ms > contact_profile.observed_at_ms
RETURNING conversation

-- name: put_facts
INSERT INTO buyer_facts (
    conversation, facts, fingerprint, observed_at_ms, committed_at_ms, binding_id
) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (conversation) DO UPDATE SET
    facts = excluded.facts,
    fingerprint = excluded.fingerprint,
    observed_at_ms = excluded.observed_at_ms,
    committed_at_ms = excluded.committed_at_ms,
    binding_id = excluded.binding_id
WHERE excluded.observed_at_ms > buyer_facts.observed_at_ms
RETURNING conversation

-- name: find_cards
SELECT r.conversation, r.message_id, r.card_kind, r.content
FROM json_each(?) AS wanted
CROSS JOIN rendered_card AS r
    ON r.conversation = json_extract(wanted.value, '$[0]')
    AND r.message_id = json_extract(wanted.value, '$[1]')
    AND r.card_kind = json_extract(wanted.value, '$[2]')

-- name: add_card
INSERT INTO rendered_card (
    conversation, message_id, card_kind, content, committed_at_ms, binding_id
) VALUES (?, ?, ?, ?, ?, ?)

-- name: add_card_conflict
INSERT INTO card_conflict (
    conversation, message_id, card_kind, content_digest, content, noted_at_ms, binding_id
) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: read_messages
-- With the newest profile of the contact, both of one moment (OT-86). They end before
-- the first place that is open still, so that who reads on misses nothing.
SELECT m.sequence, m.message_id, m.sender_id, m.direction, m.sent_at_ms, m.kind, m.text,
    m.content, m.quote, m.recall, m.raw, p.ali_id, p.observed_at_ms, p.profile
FROM conversation AS c
CROSS JOIN message AS m ON m.conversation = c.conversation
LEFT JOIN contact_profile AS p ON p.conversation = c.conversation
WHERE c.channel_account_id = ?1 AND c.conversation_id = ?2 AND m.sequence > ?3
    AND m.sequence < coalesce(
        (
            SELECT min(s.sequence)
            FROM conversation AS k JOIN single_commit AS s USING (conversation)
            WHERE k.channel_account_id = ?1 AND k.conversation_id = ?2 AND s.state < 4
        ),
        9223372036854775807
    )
ORDER BY m.sequence LIMIT ?4

-- name: write_probe
UPDATE readiness SET probe = max(probe, ?)

-- name: rewrite_probe
UPDATE readiness SET probe = probe

-- name: cache_size
PRAGMA cache_size

-- name: small_cache
PRAGMA cache_size=10

-- name: fill_room
INSERT INTO commit_intent (number, frozen) VALUES (-1, zeroblob(?))

-- name: read_probe
SELECT probe FROM readiness

-- name: add_binding
INSERT INTO binding (
    binding_id, token_digest, label, accounts, authorization_version, created_at_ms,
    revoked_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: all_bindings
SELECT binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms
FROM binding ORDER BY created_at_ms, binding_id

-- name: binding_by_digest
SELECT binding_id, label, accounts, authorization_version, created_at_ms, revoked_at_ms
FROM binding WHERE token_digest = ?

-- name: bindings_by_ids
SELECT b.binding_id, b.label, b.accounts, b.authorization_version, b.created_at_ms,
    b.revoked_at_ms
FROM json_each(?) AS wanted CROSS JOIN binding AS b
    ON b.binding_id = wanted.value

-- name: revoke_binding
UPDATE binding
SET revoked_at_ms = ?, authorization_version = authorization_version + 1
WHERE binding_id = ? AND revoked_at_ms IS NULL

-- name: dump_conversations
SELECT c.channel_account_id, c.conversation_id, c.title, c.latest_message_at_ms,
    c.last_sequence, c.next_time_stamp, c.history_complete, c.history_page
FROM conversation AS c ORDER BY c.conversation

-- name: dump_messages
-- One that is recorded and not in the log yet has no position.
SELECT c.channel_account_id, c.conversation_id, m.message_id, m.sequence,
    CASE WHEN m.position > 0 THEN m.position END,
    m.sender_id, m.direction, m.sent_at_ms, m.kind, m.text, m.content, m.quote,
    m.recall, m.raw, m.received_at_ms
FROM message AS m JOIN conversation AS c USING (conversation) ORDER BY m.position

-- name: dump_conflicts
SELECT c.channel_account_id, c.conversation_id, x.message_id, x.content,
    x.received_at_ms, x.noted_at_ms
FROM conflict AS x JOIN conversation AS c USING (conversation) ORDER BY x.conflict

-- name: dump_anchors
SELECT c.channel_account_id, c.conversation_id, a.message_id, a.anchored_at_ms
FROM anchor AS a JOIN conversation AS c USING (conversation) ORDER BY a.conversation

-- name: dump_profiles
SELECT c.channel_account_id, c.conversation_id, p.ali_id, p.observed_at_ms, p.fingerprint,
    p.profile, p.committed_at_ms, p.binding_id
FROM contact_profile AS p JOIN conversation AS c USING (conversation)
ORDER BY p.conversation

-- name: dump_cards
SELECT c.channel_account_id, c.conversation_id, r.message_id, r.card_kind, r.content,
    r.committed_at_ms, r.binding_id
FROM rendered_card AS r JOIN conversation AS c USING (conversation) ORDER BY r.card

-- name: dump_card_conflicts
SELECT c.channel_account_id, c.conversation_id, x.message_id, x.card_kind, x.content,
    x.noted_at_ms, x.binding_id
FROM card_conflict AS x JOIN conversation AS c USING (conversation) ORDER BY x.conflict

-- name: dump_facts
SELECT c.channel_account_id, c.conversation_id, f.observed_at_ms, f.fingerprint, f.facts,
    f.committed_at_ms, f.binding_id
FROM buyer_facts AS f JOIN conversation AS c USING (conversation) ORDER BY f.conversation

-- name: dump_outbox
SELECT o.position, c.channel_account_id, c.conversation_id, m.message_id
FROM outbox AS o
JOIN message AS m ON m.position = o.message
JOIN conversation AS c USING (conversation)
ORDER BY o.position

-- name: dump_details
SELECT c.channel_account_id, c.conversation_id, m.message_id, d.sent_at_ms, d.custom_type,
    d.body_reference, d.mentions, d.reply_to, d.history_expires_at_ms
FROM message_detail AS d
JOIN message AS m USING (position)
JOIN conversation AS c USING (conversation)
ORDER BY d.position

-- name: dump_commits
SELECT c.channel_account_id, c.conversation_id, s.message_id, s.sequence, s.origin,
    s.tenant, s.sender, s.client_message_id, s.state, s.created_at_ms, s.log_partition,
    s.log_offset
FROM single_commit AS s JOIN conversation AS c USING (conversation) ORDER BY s.number
