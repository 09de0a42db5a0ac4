// The options page: the server's address and the binding token, tried with a real greeting
// before they are saved. A saved token is never shown again.

import { askWorker, readLocal, translated, writeLocal } from "../shared/browser.js";
import { describeError } from "../shared/errors.js";
import { extensionEndpoint } from "../shared/settings.js";
import { translatePage, wordsFor } from "./words.js";

/**
 * @param {string} id
 * @returns {HTMLInputElement & HTMLButtonElement}
 */
function element(id) {
  return /** @type {any} */ (document.getElementById(id));
}

let hasToken = false;

/**
 * @param {"good" | "bad" | "quiet"} mood
 * @param {string} text
 */
function say(mood, text) {
  const outcome = element("outcome");
  outcome.hidden = false;
  outcome.dataset.mood = mood;
  outcome.textContent = text;
}

/**
 * What was typed, when it can be used; says what is wrong when it cannot.
 *
 * @returns {{serverUrl: string, bindingToken: string | null} | null} a null token: the
 *     saved one stays
 */
function typed() {
  const serverUrl = element("server-url").value.trim();
  const token = element("binding-token").value.trim();
  try {
    extensionEndpoint(serverUrl);
  } catch (error) {
    return refuse("server-url", describeError(error).code);
  }
  if (token === "" && !hasToken) return refuse("binding-token", "token_missing");
  return { serverUrl, bindingToken: token === "" ? null : token };
}

/**
 * @param {string} field
 * @param {string} code
 * @returns {null}
 */
function refuse(field, code) {
  element(field).setAttribute("aria-invalid", "true");
  element(field).focus();
  say("bad", wordsFor("error", code));
  return null;
}

/** @param {{serverUrl: string, bindingToken: string | null}} values */
async function save({ serverUrl, bindingToken }) {
  // With what refused the former configuration: the worker that is to hear of the change
  // may be dead, or die of it, and the next one finds both as they belong together.
  const token = bindingToken === null ? {} : { bindingToken };
  await writeLocal({ serverUrl, ...token, stop: null });
  element("binding-token").value = "";
  element("save-anyway").hidden = true;
  await askWorker({ kind: "reconnect" }); // also when nothing changed: it was asked for
  await showSaved();
}

async function showSaved() {
  const { bindingToken, serverUrl } = await readLocal(["serverUrl", "bindingToken"]);
  hasToken = typeof bindingToken === "string" && bindingToken !== "";
  if (typeof serverUrl === "string") element("server-url").value = serverUrl;
  const hint = hasToken ? "optionsTokenSaved" : "optionsTokenHint";
  element("binding-token-hint").textContent = translated(hint);
}

async function testAndSave() {
  element("server-url").removeAttribute("aria-invalid");
  element("binding-token").removeAttribute("aria-invalid");
  element("save-anyway").hidden = true;
  const values = typed();
  if (values === null) return;
  element("save").disabled = true;
  say("quiet", translated("optionsTesting"));
  try {
    const tried = await askWorker({ kind: "test", ...values });
    if (tried.error) {
      const why = wordsFor("error", tried.error.code, tried.error.message);
      say("bad", `${translated("optionsNotSaved")} ${why}`);
      element("save-anyway").hidden = false;
      return;
    }
    await save(values);
    say("good", translated("optionsSaved", [tried.accounts.join(", ")]));
  } catch (error) {
    const { code, message } = describeError(error);
    say("bad", wordsFor("error", code, message));
  } finally {
    element("save").disabled = false;
  }
}

async function saveAnyway() {
  const values = typed();
  if (values === null) return;
  await save(values);
  say("quiet", translated("optionsSavedUntested"));
}

translatePage();
document.title = translated("optionsTitle");
element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void testAndSave();
});
element("save-anyway").addEventListener("click", () => void saveAnyway());
void showSaved();
