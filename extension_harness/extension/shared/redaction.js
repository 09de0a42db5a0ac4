// Secrets of the page leave a message before it is written: by key in objects, by text
// pattern in strings. The key stays and the value becomes `[redacted]`.

const REDACTED = "[redacted]";

const TEXT_KEYS = [
  "ctoken",
  "_tb_token_",
  "chatToken",
  "secReqToken",
  "accessToken",
  "refreshToken",
  "sign",
];

const SECRET_KEYS = new Set([
  ...TEXT_KEYS,
  "token",
  "cookie",
  "cookies",
  "csrf",
  "_csrf",
  "encryFeedbackId",
  "encryTradeId",
  "activeAccountIdEncrypt",
]);

const NAMES = TEXT_KEYS.join("|");
// `key=value`, also as a URL parameter; the value ends where a parameter or a word ends.
const ASSIGNED = new RegExp(`(?<![A-Za-z0-9_])(${NAMES})=[^\\s&"'<>#;,)}\\\\]+`, "g");
// `"key":"value"` inside a text; a text that is cut off ends the value, too.
const QUOTED = new RegExp(`("(?:${NAMES})\\\\*"\\s*:\\s*")(?:[^"\\\\]|\\\\.)*`, "gs");
// The same where JSON stands inside JSON: the value ends at a quote with as many backslashes
// before it as its first.
const ESCAPED = new RegExp(
  `("(?:${NAMES})\\\\*"\\s*:\\s*(\\\\+)")(?:(?!(?<!\\\\)\\2").)*`,
  "gs",
);

/**
 * @param {string} text
 * @returns {string} with the values of the page's secrets replaced
 */
export function redactText(text) {
  return text
    .replace(ASSIGNED, `$1=${REDACTED}`)
    .replace(QUOTED, `$1${REDACTED}`)
    .replace(ESCAPED, `$1${REDACTED}`);
}

/** @param {string} key */
function isSecretKey(key) {
  return SECRET_KEYS.has(key) || key.endsWith("Encrypt");
}

/**
 * A copy of a JSON value without the page's secrets, at any depth.
 *
 * @template T
 * @param {T} value
 * @returns {T}
 */
export function redact(value) {
  return /** @type {T} */ (redacted(value));
}

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function redacted(value) {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redacted);
  if (value === null || typeof value !== "object") return value;
  /** @type {Record<string, unknown>} */
  const copy = {};
  for (const [key, inner] of Object.entries(value)) {
    copy[key] = isSecretKey(key) ? REDACTED : redacted(inner);
  }
  return copy;
}
