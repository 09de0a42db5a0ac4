// The popup's question before a conversation is begun anew (OT-20), and what came of it.

import { askWorker, translated } from "../shared/browser.js";
import { describeError } from "../shared/errors.js";
import { wordsFor } from "./words.js";

/** @typedef {import("../background/status.js").ConversationStatus} ConversationStatus */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
function element(id) {
  return /** @type {T} */ (document.getElementById(id));
}

/** @type {{channelAccountId: string, conversationId: string} | null} */
let asked = null;

/**
 * @param {ConversationStatus & {channelAccountId: string}} conversation
 * @returns {HTMLButtonElement} opens the question
 */
export function rebuildButton({ channelAccountId, conversationId, title }) {
  const button = document.createElement("button");
  button.className = "plain";
  button.dataset.rebuild = conversationId;
  button.textContent = "\u21bb";
  button.title = translated("rebuild", [title]);
  button.setAttribute("aria-label", button.title);
  button.addEventListener("click", () => {
    asked = { channelAccountId, conversationId };
    element("rebuild-question").textContent = translated("rebuildQuestion", [title]);
    element("rebuild-outcome").hidden = true;
    element("rebuild-confirm").hidden = false;
    /** @type {HTMLDialogElement} */ (element("rebuild")).showModal();
  });
  return button;
}

async function rebuild() {
  if (asked === null) return;
  /** @type {HTMLButtonElement} */
  const confirm = element("rebuild-confirm");
  confirm.disabled = true;
  try {
    const { error } = await askWorker({ kind: "rebuild", ...asked });
    if (error === undefined) return close();
    told(wordsFor("error", error.code, error.message));
  } catch (error) {
    const { code, message } = describeError(error);
    told(wordsFor("error", code, message));
  } finally {
    confirm.disabled = false;
  }
}

/** @param {string} words why nothing was forgotten */
function told(words) {
  element("rebuild-outcome").textContent = words;
  element("rebuild-outcome").hidden = false;
}

function close() {
  asked = null;
  /** @type {HTMLDialogElement} */ (element("rebuild")).close();
}

element("rebuild-confirm").addEventListener("click", () => void rebuild());
element("rebuild-cancel").addEventListener("click", close);
