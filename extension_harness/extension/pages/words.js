// Words of the two pages: translated texts, errors in words, ages.

import { translated } from "../shared/browser.js";

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** The language of the texts, which a browser in a third language does not have. */
const language = () => translated("language");

/** Fills every element that names a text, and says the document's language. */
export function translatePage() {
  document.documentElement.lang = language();
  for (const element of document.querySelectorAll("[data-text]")) {
    const name = /** @type {HTMLElement} */ (element).dataset.text ?? "";
    element.textContent = translated(name);
  }
}

/**
 * The words for a stable code; a code without words of its own is named.
 *
 * @param {"error" | "result" | "anomaly" | "trouble"} family
 * @param {string} code
 * @param {string} [message] the technical words, where there are any
 * @param {string} [account] the account that it is about, where that is known
 */
export function wordsFor(family, code, message, account = "") {
  const known = translated(`${family}_${code}`, [account]);
  if (known !== "") return known;
  return family === "error"
    ? translated("error_other", [message || code, code])
    : translated(`${family}_other`, [code]);
}

/**
 * @param {number} milliseconds
 * @returns {string} in the largest unit that fits
 */
export function ageWords(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < MINUTE) return translated("ageSeconds", [String(seconds)]);
  if (seconds < HOUR) {
    return translated("ageMinutes", [String(Math.floor(seconds / MINUTE))]);
  }
  if (seconds < DAY)
    return translated("ageHours", [String(Math.floor(seconds / HOUR))]);
  return translated("ageDays", [String(Math.floor(seconds / DAY))]);
}

/** @param {number} count */
export function countWords(count) {
  return count.toLocaleString(language());
}
