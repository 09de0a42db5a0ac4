-- The log that lies in the store's own file. See queries.sql of the store for the form.

-- name: find_place
SELECT m.position
FROM conversation AS c
CROSS JOIN message AS m ON m.conversation = c.conversation
WHERE c.channel_account_id = ? AND c.conversation_id = ? AND m.message_id = ?

-- name: last_position
SELECT coalesce(max(position), 0) FROM outbox

-- name: move_message
UPDATE message SET position = ? WHERE position = ?

-- name: move_detail
UPDATE message_detail SET position = ? WHERE position = ?

-- name: add_entry
INSERT INTO outbox (position, message) VALUES (?, ?)

-- name: add_envelope
INSERT INTO outbox_envelope (position, envelope_key, body) VALUES (?, ?, ?)

-- name: rewrite_probe
UPDATE commit_readiness SET probe = probe

-- name: durability
SELECT (SELECT journal_mode FROM pragma_journal_mode),
    (SELECT synchronous FROM pragma_synchronous)
