-- Single commits, step by step, and pages of history. See queries.sql for the form.

-- name: savepoint
SAVEPOINT step

-- name: release
RELEASE step

-- name: rollback_to
ROLLBACK TO step

-- name: has_single_observations
SELECT EXISTS (SELECT 1 FROM single_commit WHERE origin = 'observed')

-- name: has_open_sends
SELECT EXISTS (SELECT 1 FROM single_commit WHERE state < 4 AND origin = 'sent')

-- name: find_open_sends
-- Those of some conversations that are on their way: their ids are taken, too.
SELECT s.tenant, s.sender, s.client_message_id, s.number, s.identity, s.conversation,
    c.channel_account_id, c.conversation_id, s.sequence, s.message_id, s.state, i.frozen,
    s.log_partition, s.log_offset
FROM json_each(?) AS wanted
CROSS JOIN single_commit AS s
    ON s.conversation = wanted.value AND s.state < 4 AND s.origin = 'sent'
CROSS JOIN conversation AS c ON c.conversation = s.conversation
LEFT JOIN commit_intent AS i ON i.number = s.number

-- name: find_commit
SELECT s.number, s.identity, s.conversation, c.channel_account_id, c.conversation_id,
    s.sequence, s.message_id, s.state, i.frozen, s.log_partition, s.log_offset
FROM single_commit AS s
JOIN conversation AS c USING (conversation)
LEFT JOIN commit_intent AS i USING (number)
WHERE s.origin = ? AND s.tenant = ? AND s.sender = ? AND s.client_message_id = ?

-- name: find_observed_commits
-- Those single commits that are of the same scopes as a group's messages.
SELECT s.tenant, s.sender, s.client_message_id, s.number, s.identity, s.conversation, c.channel_account_id,
    c.conversation_id, s.sequence, s.message_id, s.state, i.frozen, s.log_partition,
    s.log_offset
FROM json_each(?) AS wanted
CROSS JOIN single_commit AS s
    ON s.origin = 'observed'
    AND s.tenant = json_extract(wanted.value, '$[0]')
    AND s.sender = json_extract(wanted.value, '$[1]')
    AND s.client_message_id = json_extract(wanted.value, '$[2]')
CROSS JOIN conversation AS c ON c.conversation = s.conversation
LEFT JOIN commit_intent AS i ON i.number = s.number

-- name: find_grouped
-- A message that a group has committed: it is in the log, and no commit's.
SELECT m.sequence, m.position, m.message_id, m.sender_id, m.direction, m.sent_at_ms,
    m.kind, m.text, m.content, m.quote, m.recall, m.raw
FROM conversation AS c
CROSS JOIN message AS m ON m.conversation = c.conversation
LEFT JOIN message_detail AS d ON d.position = m.position
WHERE c.channel_account_id = ? AND c.conversation_id = ? AND m.message_id = ?
    AND m.position > 0 AND d.position IS NULL

-- name: is_taken
-- Whether a message of this id is there already, or on its way.
SELECT EXISTS (SELECT 1 FROM message AS m WHERE m.conversation = c.conversation
        AND m.message_id = ?3)
    OR EXISTS (SELECT 1 FROM single_commit AS s WHERE s.conversation = c.conversation
        AND s.state < 4 AND s.message_id = ?3)
FROM conversation AS c
WHERE c.channel_account_id = ?1 AND c.conversation_id = ?2

-- name: next_sequence
UPDATE conversation SET last_sequence = last_sequence + 1
WHERE channel_account_id = ? AND conversation_id = ?
RETURNING conversation, last_sequence

-- name: add_commit
INSERT INTO single_commit (
    origin, tenant, sender, client_message_id, identity, conversation, sequence,
    message_id, state, created_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
RETURNING number

-- name: add_intent
INSERT INTO commit_intent (number, frozen) VALUES (?, ?)

-- name: drop_intent
DELETE FROM commit_intent WHERE number = ?

-- name: add_message
INSERT INTO message (
    position, conversation, message_id, sequence, sender_id, direction, sent_at_ms, kind,
    text, content, quote, recall, raw, received_at_ms, committed_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_detail
INSERT INTO message_detail (
    position, sent_at_ms, custom_type, body_reference, mentions, reply_to,
    history_expires_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: set_recorded
UPDATE single_commit SET state = 2 WHERE number = ?

-- name: set_outboxed
UPDATE single_commit SET state = 3, log_partition = ?, log_offset = ? WHERE number = ?

-- name: set_committed
-- What an ACK needs stays: identity, coordinates, publication (MS-13).
UPDATE single_commit
SET state = 4, log_partition = ?, log_offset = ?
WHERE number = ?

-- name: unfinished_commits
SELECT s.created_at_ms, s.number, s.identity, s.sequence, s.state,
    coalesce(i.frozen, x''), s.log_partition, s.log_offset
FROM single_commit AS s LEFT JOIN commit_intent AS i USING (number)
WHERE s.state < 4 AND s.created_at_ms < ? AND (s.created_at_ms, s.number) > (?, ?)
ORDER BY s.created_at_ms, s.number LIMIT ?

-- name: hold_lease
-- One that ends a whole time later than the asker's would was taken by a clock that ran
-- ahead: it is none.
INSERT INTO lease (name, holder, until_ms) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
WHERE lease.holder = excluded.holder OR lease.until_ms <= ?
    OR lease.until_ms > excluded.until_ms + ?
RETURNING holder

-- name: write_commit_probe
UPDATE commit_readiness SET probe = probe + 1 RETURNING probe

-- name: read_commit_probe
SELECT probe FROM commit_readiness

-- name: find_ref
SELECT conversation FROM conversation
WHERE channel_account_id = ? AND conversation_id = ?

-- name: history_bounds
SELECT min(m.sequence), max(m.sequence)
FROM message AS m LEFT JOIN message_detail AS d ON d.position = m.position
WHERE m.conversation = ? AND coalesce(d.history_expires_at_ms > ?, TRUE)

-- name: history_newer
SELECT m.position FROM message AS m LEFT JOIN message_detail AS d USING (position)
WHERE m.conversation = ? AND coalesce(d.history_expires_at_ms > ?, TRUE)
    AND m.sequence > ?
ORDER BY m.sequence LIMIT ?

-- name: history_older
SELECT m.position FROM message AS m LEFT JOIN message_detail AS d USING (position)
WHERE m.conversation = ? AND coalesce(d.history_expires_at_ms > ?, TRUE)
    AND m.sequence < ?
ORDER BY m.sequence DESC LIMIT ?

-- name: history_record
SELECT m.sequence, m.received_at_ms, d.position IS NOT NULL, d.sent_at_ms, d.custom_type,
    d.body_reference, d.mentions, d.reply_to, d.history_expires_at_ms, m.message_id,
    m.sender_id, m.direction, m.sent_at_ms, m.kind, m.text, m.content, m.quote, m.recall,
    m.raw
FROM message AS m LEFT JOIN message_detail AS d USING (position)
WHERE m.position = ?
