-- The whole store as records, in the order in which they are shown.

-- name: begin_snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: dump_conversations
SELECT channel_account_id, conversation_id, title, latest_message_at_ms, last_sequence,
    next_time_stamp, history_complete, history_page
FROM conversation ORDER BY conversation

-- name: dump_messages
-- One that a group stored lies in a run of the outbox, which also says its position; of
-- others the commit knows it, once it knows that the log has it.
SELECT c.channel_account_id, c.conversation_id, m.message_id, m.sequence,
    coalesce(o.first_position + m.sequence - o.first_sequence, s.log_offset) AS position,
    m.sender_id, m.direction, coalesce(m.sent_at_ms, m.received_at_ms), m.kind, m.text,
    m.content, m.quote, m.recall, m.raw, m.received_at_ms
FROM message AS m
JOIN conversation AS c USING (conversation)
LEFT JOIN LATERAL (
    SELECT run.first_position, run.first_sequence FROM outbox AS run
    WHERE run.conversation = m.conversation
        AND run.first_sequence <= m.sequence
        AND m.sequence < run.first_sequence + run.messages
    ORDER BY run.first_sequence DESC LIMIT 1
) AS o ON true
LEFT JOIN single_commit AS s
    ON s.conversation = m.conversation AND s.sequence = m.sequence
ORDER BY position

-- name: dump_conflicts
SELECT c.channel_account_id, c.conversation_id, x.message_id, x.content,
    x.received_at_ms, x.noted_at_ms
FROM conflict AS x JOIN conversation AS c USING (conversation) ORDER BY x.conflict

-- name: dump_anchors
SELECT c.channel_account_id, c.conversation_id, a.message_id, a.anchored_at_ms
FROM anchor AS a JOIN conversation AS c USING (conversation) ORDER BY a.conversation

-- name: dump_outbox
-- A run is as many entries as it has messages.
SELECT o.first_position + place.number AS position, c.channel_account_id,
    c.conversation_id, m.message_id, o.body
FROM outbox AS o
CROSS JOIN LATERAL generate_series(0, o.messages - 1) AS place (number)
LEFT JOIN message AS m ON m.conversation = o.conversation
    AND m.sequence = o.first_sequence + place.number
LEFT JOIN conversation AS c ON c.conversation = o.conversation
ORDER BY position

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

-- name: dump_details
-- What a message has that one of a group has not.
SELECT c.channel_account_id, c.conversation_id, m.message_id, m.sent_at_ms, m.details
FROM message AS m JOIN conversation AS c USING (conversation)
WHERE NOT m.observed OR m.sent_at_ms IS NULL OR m.details IS NOT NULL
ORDER BY m.conversation, m.sequence

-- name: dump_commits
SELECT c.channel_account_id, c.conversation_id, s.message_id, s.sequence, s.origin,
    s.tenant, s.sender, s.client_message_id, s.state, s.created_at_ms, s.log_partition,
    s.log_offset
FROM single_commit AS s JOIN conversation AS c USING (conversation)
ORDER BY s.created_at_ms, s.conversation, s.sequence

-- name: dump_recorded
-- Those that the log may have already, without their commits' knowing.
SELECT c.channel_account_id, c.conversation_id, s.sequence, s.identity, s.state, s.frozen,
    s.log_partition, s.log_offset
FROM single_commit AS s JOIN conversation AS c USING (conversation)
WHERE s.state = 2

-- name: dump_place
SELECT first_position FROM outbox WHERE envelope_digest = %s
