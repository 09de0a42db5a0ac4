// The records of the durable store, named once. Types only; nothing runs here.

/**
 * A message in the normal form, as the page's adapters give it: nothing is certain yet.
 *
 * @typedef {object} Observation
 * @property {string} surface which page surface it came through
 * @property {unknown} [messageId]
 * @property {unknown} [conversationId]
 * @property {unknown} [senderId]
 * @property {unknown} [direction]
 * @property {unknown} [sentAtMs]
 * @property {unknown} [kind]
 * @property {unknown} [text]
 * @property {unknown} [content]
 * @property {unknown} [quote]
 * @property {unknown} [recall]
 * @property {unknown} [raw]
 * @property {unknown} [notAnObject] set where a message should be and something else was
 */

/**
 * What a message is; equal content is equal in all of these.
 *
 * @typedef {object} MessageContent
 * @property {string} messageId
 * @property {string} conversationId
 * @property {string} senderId
 * @property {"inbound" | "outbound"} direction
 * @property {number} sentAtMs
 * @property {string} kind
 * @property {string} [text]
 * @property {Record<string, unknown>} [content]
 * @property {{messageId: string, text?: string}} [quote]
 * @property {{messageId: string}} [recall]
 */

/**
 * A message fact; key: `messageKey`.
 *
 * @typedef {MessageContent & {
 *   key: string,
 *   channelAccountId: string,
 *   contentDigest: string,
 *   observedAtMs: number,
 *   raw?: Record<string, unknown>,
 * }} MessageRecord
 */

/** @typedef {"awaiting_anchor" | "pending_ack" | "confirmed" | "anomaly" | "rejected"} CandidateStatus */

/**
 * The upload state of one fact (OT-06); key: `candidateKey`.
 *
 * @typedef {object} CandidateRecord
 * @property {string} candidateKey
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {string} messageId
 * @property {number} sentAtMs
 * @property {CandidateStatus} status
 * @property {number} observedAtMs
 * @property {number} [confirmedAtMs]
 * @property {number} [sequence] the server's own, where it gave one
 * @property {string} [code] why it was rejected
 */

/**
 * Where a conversation stands (OT-05); key: `conversationKey`.
 *
 * @typedef {object} CheckpointRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {"paging" | "uploading" | "completed"} phase
 * @property {"full" | "incremental"} syncMode
 * @property {"none" | "awaiting" | "met" | "not_found"} anchorState
 * @property {string | null} anchorMessageId the local anchor: proven by a snapshot
 * @property {number | null} [anchorSeenAtMs] its time, once this scan was shown it
 * @property {number | null} pageTimeStamp cursor that the last stored page was asked with
 * @property {number | null} nextTimeStamp cursor of the next page; null: from the newest
 * @property {boolean} historyComplete
 * @property {string | null} latestMessageId newest confirmed message
 * @property {string | null} latestCandidateKey its candidate
 * @property {number | null} latestMessageAtMs from the conversation list alone
 * @property {number | null} scannedActivityMs activity time that the last scan covers
 * @property {boolean} completionSent
 * @property {number} lastObservedAtMs
 * @property {string | null} result why the conversation is not going on, or how it ended
 * @property {number} pages pages of history stored so far
 * @property {number} [failedAtMs] when a page failed to give its history, last
 * @property {number} [scannedThroughMs] the latest time that the chat service had given in
 *     any conversation of the account when the last scan began: what was said before it,
 *     that scan has found
 * @property {boolean} [isBehind] Bright has an anchor that was never seen here, or a page
 *     lost what it saw: walk again, and claim nothing before
 */

/**
 * An observation that cannot be a fact (OT-32); its key is a digest, so that the same one
 * seen again stays one.
 *
 * @typedef {object} AnomalyRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId "" where the observation names none
 * @property {string} code
 * @property {string | null} messageId
 * @property {string} surface
 * @property {number} observedAtMs
 * @property {unknown} observed what was seen, redacted and cut to a bound
 */

/**
 * A conversation as the list gave it; key: `conversationKey`.
 *
 * @typedef {object} BootstrapRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {number | null} latestMessageAtMs
 * @property {string} [title]
 * @property {number} listedAtMs
 */

/** @typedef {"pending_ack" | "confirmed" | "anomaly" | "rejected"} CardStatus */

/**
 * A card as the page rendered it, its first content and its way to Bright (OT-90); key:
 * `cardKey`.
 *
 * @typedef {object} CardRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {string} messageId
 * @property {string} candidateKey of the message that it belongs to
 * @property {string} cardKind
 * @property {unknown} content
 * @property {string} contentDigest
 * @property {CardStatus} status
 * @property {number} observedAtMs
 * @property {number} [confirmedAtMs]
 * @property {string} [code] why it is an anomaly or rejected
 */

/**
 * What a conversation's list says of the contact, cleaned: no secrets, no encrypted ids, no
 * placeholders.
 *
 * @typedef {object} Profile
 * @property {string} [name]
 * @property {string} [companyName]
 * @property {string} [loginId]
 * @property {string} [country] two capital letters
 * @property {string} [level] `L1` to `L4`
 * @property {string} [portrait] an address
 */

/**
 * A profile that Bright has not confirmed yet (OT-81).
 *
 * @typedef {object} PendingProfile
 * @property {string | null} aliId
 * @property {Profile} profile
 * @property {string} fingerprint
 * @property {number} observedAtMs
 */

/**
 * The contact of one conversation (OT-80); key: `conversationKey`.
 *
 * @typedef {object} ProfileRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {string | null} aliId as last confirmed
 * @property {Profile | null} profile as last confirmed
 * @property {string | null} lastUploadedFingerprint
 * @property {number} uploadedObservedAtMs
 * @property {number} rejectedObservedAtMs
 * @property {number} updatedAtMs
 * @property {number | null} lastUploadedAtMs
 * @property {PendingProfile} [pending] only while there is one: without it the record has
 *     no entry in the index of pending ones (OT-19)
 */

/**
 * What is known of a conversation's buyer; key: `conversationKey`.
 *
 * @typedef {object} BuyerFactsRecord
 * @property {string} key
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {Record<string, unknown>} facts
 * @property {string} fingerprint
 * @property {number} observedAtMs
 * @property {string | null} uploadedFingerprint null until an ACK
 */

export {};
