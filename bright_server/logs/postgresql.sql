-- The log in PostgreSQL: single envelopes. Runs of observed messages are added by the
-- store's own groups. A line `-- name: x` opens the statement x.

-- name: lock_outbox_end
-- Whoever appends holds the end until that is on disk; the next statement sees all.
SELECT last_position FROM outbox_end FOR NO KEY UPDATE

-- name: append_envelope
-- An envelope that is there has its first place; a new one takes the next.
WITH known AS (
    SELECT first_position FROM outbox WHERE envelope_digest = %(digest)s
),
taken AS (
    UPDATE outbox_end SET last_position = last_position + 1
    WHERE NOT EXISTS (SELECT FROM known)
    RETURNING last_position
),
added AS (
    INSERT INTO outbox (first_position, messages, envelope_digest, envelope_key, body)
    SELECT last_position, 1, %(digest)s, %(key)s, %(body)s FROM taken
    RETURNING first_position
)
SELECT first_position FROM known UNION ALL SELECT first_position FROM added
