-- Single commits, step by step, and pages of history. See queries.sql for the form.
-- Whoever changes a commit has locked its conversation.

-- name: find_commit
SELECT s.conversation, s.sequence, s.identity, s.state, s.frozen, s.log_partition,
    s.log_offset, s.message_id, c.channel_account_id, c.conversation_id
FROM single_commit AS s JOIN conversation AS c USING (conversation)
WHERE s.key_digest = %s

-- name: touch_conversation
-- The weakest lock: it keeps nobody waiting, and it is written to the server's log.
SELECT c.conversation
FROM unnest(%s::text[], %s::text[]) AS wanted (account, name)
JOIN conversation AS c
    ON c.channel_account_id = wanted.account AND c.conversation_id = wanted.name
FOR KEY SHARE OF c

-- name: find_grouped
-- A message that a group has committed, with its place in the run that holds it.
SELECT m.sequence, m.message_id, m.sender_id, m.direction, m.sent_at_ms, m.kind, m.text,
    m.content, m.quote, m.recall, m.raw, o.first_position + m.sequence - o.first_sequence
FROM conversation AS c
JOIN message AS m ON m.conversation = c.conversation
CROSS JOIN LATERAL (
    SELECT run.first_position, run.first_sequence, run.messages FROM outbox AS run
    WHERE run.conversation = m.conversation AND run.first_sequence <= m.sequence
    ORDER BY run.first_sequence DESC LIMIT 1
) AS o
WHERE c.channel_account_id = %s AND c.conversation_id = %s AND m.message_id = %s
    AND m.observed AND m.sequence < o.first_sequence + o.messages

-- name: add_commit
INSERT INTO single_commit (
    key_digest, conversation, sequence, created_at_ms, state, origin, tenant, sender,
    client_message_id, message_id, identity, frozen
) VALUES (%s, %s, %s, %s, 1, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key_digest) DO NOTHING
RETURNING sequence

-- name: take_sequence
UPDATE conversation
SET last_sequence = %s, lowest_id = %s, highest_id = %s, open_commits = open_commits + 1
WHERE conversation = %s

-- name: add_message
INSERT INTO message (
    conversation, sequence, sent_at_ms, received_at_ms, committed_at_ms, observed,
    message_id, sender_id, direction, kind, text, content, quote, recall, raw, details
) VALUES (%s, %s, %s, %s, NULL, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: set_recorded
UPDATE single_commit SET state = 2 WHERE key_digest = %s

-- name: set_outboxed
UPDATE single_commit SET state = 3, log_partition = %s, log_offset = %s
WHERE key_digest = %s

-- name: set_committed
-- What an ACK needs stays: identity, coordinates, publication (MS-13).
UPDATE single_commit
SET state = 4, log_partition = %s, log_offset = %s, frozen = NULL
WHERE key_digest = %s

-- name: show_message
UPDATE message SET committed_at_ms = %s, history_expires_at_ms = %s
WHERE conversation = %s AND sequence = %s

-- name: end_commits
UPDATE conversation SET open_commits = open_commits - %s WHERE conversation = %s

-- name: unfinished_commits
SELECT s.created_at_ms, s.conversation, s.sequence, s.identity, s.state, s.frozen,
    s.log_partition, s.log_offset
FROM single_commit AS s
WHERE s.state < 4 AND s.created_at_ms < %s
    AND (s.created_at_ms, s.conversation, s.sequence) > (%s, %s, %s)
ORDER BY s.created_at_ms, s.conversation, s.sequence LIMIT %s

-- name: hold_lease
-- By this server's clock, which is the same for all who ask. One that ends a whole time
-- later than the asker's would was taken while the clock ran ahead: it is none.
INSERT INTO lease (name, holder, until_ms)
VALUES (
    %(name)s, %(holder)s,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + %(ttl_ms)s
)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
WHERE lease.holder = excluded.holder
    OR lease.until_ms <= floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
    OR lease.until_ms > excluded.until_ms + %(ttl_ms)s
RETURNING holder

-- name: history_bounds
SELECT c.conversation,
    (
        SELECT m.sequence FROM message AS m WHERE m.conversation = c.conversation
            AND (m.history_expires_at_ms IS NULL OR m.history_expires_at_ms > %(now_ms)s)
        ORDER BY m.sequence LIMIT 1
    ),
    (
        SELECT m.sequence FROM message AS m WHERE m.conversation = c.conversation
            AND (m.history_expires_at_ms IS NULL OR m.history_expires_at_ms > %(now_ms)s)
        ORDER BY m.sequence DESC LIMIT 1
    )
FROM conversation AS c WHERE c.channel_account_id = %(account)s
    AND c.conversation_id = %(name)s

-- name: history_newer
SELECT p.sequence, p.received_at_ms, p.message_id, p.sender_id, p.direction, p.sent_at_ms,
    p.kind, p.text, p.content, p.quote, p.recall, p.raw, p.details
FROM (
    SELECT m.*, sum(
        octet_length(coalesce(m.text, '')) + octet_length(coalesce(m.content, ''))
        + octet_length(coalesce(m.quote, '')) + octet_length(coalesce(m.recall, ''))
        + octet_length(coalesce(m.raw, '')) + octet_length(coalesce(m.details, ''))
    ) OVER (ORDER BY m.sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS before
    FROM message AS m
    WHERE m.conversation = %(conversation)s AND m.sequence > %(anchor)s
        AND (m.history_expires_at_ms IS NULL OR m.history_expires_at_ms > %(now_ms)s)
    ORDER BY m.sequence LIMIT %(limit)s
) AS p
-- One more than fits, which shows that there is more; not all that may follow.
WHERE coalesce(p.before, 0) <= %(max_bytes)s
ORDER BY p.sequence

-- name: history_older
SELECT p.sequence, p.received_at_ms, p.message_id, p.sender_id, p.direction, p.sent_at_ms,
    p.kind, p.text, p.content, p.quote, p.recall, p.raw, p.details
FROM (
    SELECT m.*, sum(
        octet_length(coalesce(m.text, '')) + octet_length(coalesce(m.content, ''))
        + octet_length(coalesce(m.quote, '')) + octet_length(coalesce(m.recall, ''))
        + octet_length(coalesce(m.raw, '')) + octet_length(coalesce(m.details, ''))
    ) OVER (
        ORDER BY m.sequence DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
    ) AS before
    FROM message AS m
    WHERE m.conversation = %(conversation)s AND m.sequence < %(anchor)s
        AND (m.history_expires_at_ms IS NULL OR m.history_expires_at_ms > %(now_ms)s)
    ORDER BY m.sequence DESC LIMIT %(limit)s
) AS p
WHERE coalesce(p.before, 0) <= %(max_bytes)s
ORDER BY p.sequence DESC
