// The popup: asks the worker how things stand, again and again while it is open.

import { askWorker, openOptions, translated } from "../shared/browser.js";
import { rebuildButton } from "./rebuilding.js";
import { ageWords, countWords, translatePage, wordsFor } from "./words.js";

const REFRESH_MS = 1_000;

/** @typedef {import("../background/status.js").AccountStatus} AccountStatus */
/** @typedef {import("../background/status.js").ConversationStatus} ConversationStatus */
/** @typedef {ConversationStatus & {channelAccountId: string}} ShownConversation */

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Changes a text only when it is another one, so that a screen reader is not told again.
 *
 * @param {string} id
 * @param {string} text
 */
function say(id, text) {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

/** @type {Record<string, {name: string, mood: string}>} */
const STATES = {
  off: { name: "connectionOff", mood: "quiet" },
  unconfigured: { name: "connectionUnconfigured", mood: "bad" },
  stopped: { name: "connectionStopped", mood: "bad" },
  connecting: { name: "connectionConnecting", mood: "warn" },
  online: { name: "connectionOnline", mood: "good" },
  waiting: { name: "connectionWaiting", mood: "warn" },
};

/** @param {any} status */
function showState({ connection, nowMs }) {
  const { name, mood } = STATES[connection.state] ?? STATES.off;
  element("state").dataset.mood = mood;
  element("state").dataset.state = connection.state;
  say("state-name", translated(name));
  say("state-detail", stateDetail(connection, nowMs));
  element("reconnect").hidden = !["stopped", "waiting"].includes(connection.state);
}

/**
 * @param {any} connection
 * @param {number} nowMs
 */
function stateDetail(connection, nowMs) {
  const { state, stop, trouble, retryAtMs, accounts } = connection;
  if (state === "online") return (accounts ?? []).join(", ");
  if (state === "off" || state === "unconfigured") {
    return translated(`${STATES[state].name}Detail`);
  }
  if (stop) {
    return wordsFor("error", stop.code ?? `closed_${stop.closeCode}`, stop.reason);
  }
  const why = trouble ? wordsFor("error", trouble.code, trouble.message) : "";
  if (retryAtMs === null) return why;
  const seconds = String(Math.max(0, Math.ceil((retryAtMs - nowMs) / 1_000)));
  return `${why} ${translated("retryIn", [seconds])}`.trim();
}

/** @param {any} status */
function showFault({ lastFault, nowMs }) {
  element("last-error").hidden = lastFault === null;
  if (lastFault === null) return;
  const { code, message, account } = lastFault;
  say("last-error-text", wordsFor("error", code, message, account ?? ""));
  say("last-error-age", ageWords(nowMs - lastFault.atMs));
}

/**
 * @param {AccountStatus[]} accounts
 * @param {number} nowMs
 */
function showTotals(accounts, nowMs) {
  /** @param {(account: AccountStatus) => number} part */
  const sum = (part) => accounts.reduce((total, account) => total + part(account), 0);
  const pending = sum((account) => account.pending + account.awaiting);
  const refused = sum((account) => account.rejected);
  say("confirmed", countWords(sum((account) => account.confirmed)));
  say("pending", countWords(pending));
  const done = countWords(sum((account) => account.completed));
  say("completed", `${done}/${countWords(sum((account) => account.conversations))}`);
  say("anomaly-count", countWords(sum((account) => account.anomalies)));
  const since = accounts.flatMap((account) => account.oldestPendingAtMs ?? []);
  const oldest =
    since.length > 0
      ? translated("oldestPending", [ageWords(nowMs - Math.min(...since))])
      : pending === 0 && accounts.length > 0
        ? translated("nothingPending")
        : "";
  const refusal =
    refused > 0 ? `${countWords(refused)} ${translated("totalRejected")}` : "";
  say("oldest", [oldest, refusal].filter(Boolean).join(" · "));
}

/** @param {AccountStatus[]} accounts */
function showConversations(accounts) {
  const shown = accounts.flatMap(({ channelAccountId, shown: some }) =>
    some.map((each) => ({ ...each, channelAccountId })),
  );
  const all = accounts.reduce((total, account) => total + account.conversations, 0);
  element("conversations").hidden = shown.length === 0;
  element("conversations-none").hidden = shown.length > 0;
  element("conversations-more").hidden = shown.length >= all;
  say(
    "conversations-more",
    translated("conversationsMore", [countWords(shown.length), countWords(all)]),
  );
  showRows(shown);
}

let pagesShown = "";

/** @param {import("../background/status.js").PageStatus[]} pages */
function showPages(pages) {
  const saying = JSON.stringify(pages);
  if (saying === pagesShown) return;
  pagesShown = saying;
  element("pages").hidden = pages.length === 0;
  element("pages-none").hidden = pages.length > 0;
  element("pages").replaceChildren(...pages.map(pageRow));
}

/** @param {import("../background/status.js").PageStatus} page */
function pageRow({ channelAccountId, isForeign, troubles }) {
  const row = document.createElement("li");
  const isBad = isForeign || troubles.length > 0;
  row.dataset.mood = isBad ? "bad" : "good";
  row.dataset.account = channelAccountId ?? "";
  row.dataset.troubles = troubles.join(" ");
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = channelAccountId ?? translated("pageUnknown");
  const words = document.createElement("span");
  words.className = "quiet";
  const foreign = isForeign ? [translated("pageForeign")] : [];
  const said = [...foreign, ...troubles.map((each) => wordsFor("trouble", each))];
  words.textContent = isBad ? said.join(" ") : translated("pageWell");
  row.append(name, words);
  return row;
}

let rowsShown = "";

/**
 * Makes the rows anew only when they say something else, and leaves the focus where it was.
 *
 * @param {ShownConversation[]} shown
 */
function showRows(shown) {
  const saying = JSON.stringify(shown);
  if (saying === rowsShown) return;
  rowsShown = saying;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const name = focused?.dataset.rebuild;
  const rows = shown.map(conversationRow);
  element("conversations").replaceChildren(...rows);
  if (name === undefined) return;
  const again = rows.find((row) => row.dataset.conversation === name);
  again?.querySelector("button")?.focus();
}

/** @param {ShownConversation} conversation */
function conversationRow(conversation) {
  const row = document.createElement("li");
  row.dataset.conversation = conversation.conversationId;
  row.dataset.mood = moodOf(conversation);
  const line = document.createElement("div");
  line.className = "line";
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = conversation.title;
  name.title = conversation.conversationId;
  const standing = document.createElement("span");
  standing.className = "quiet";
  standing.textContent = standingWords(conversation);
  line.append(name, standing, rebuildButton(conversation));
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.value = conversation.progress;
  bar.setAttribute("aria-label", `${conversation.title}: ${standing.textContent}`);
  row.append(line, bar);
  return row;
}

/** @param {ConversationStatus} conversation */
function moodOf({ phase, result }) {
  if (phase === "completed" || result === "no_valid_messages") return "good";
  return result === null ? "quiet" : "bad";
}

/** @param {ConversationStatus} conversation */
function standingWords({ phase, result, pages, pending, confirmed }) {
  if (result !== null) return wordsFor("result", result);
  if (phase === "completed") {
    return translated("phase_completed", [countWords(confirmed)]);
  }
  if (phase === "paging" && pages === 0) return translated("phase_waiting");
  if (phase === "paging") return translated("phase_paging", [countWords(pages + 1)]);
  return pending > 0
    ? translated("phase_uploading", [countWords(pending)])
    : translated("phase_proving");
}

/**
 * @param {AccountStatus[]} accounts
 * @param {number} nowMs
 */
function showAnomalies(accounts, nowMs) {
  const latest = accounts.flatMap((account) => account.latestAnomalies);
  element("anomalies-card").hidden = latest.length === 0;
  element("anomalies").replaceChildren(
    ...latest.map(({ code, conversationId, observedAtMs }) => {
      const row = document.createElement("li");
      row.title = conversationId;
      const words = document.createElement("span");
      words.textContent = wordsFor("anomaly", code);
      const age = document.createElement("span");
      age.className = "quiet";
      age.textContent = ageWords(nowMs - observedAtMs);
      row.append(words, age);
      return row;
    }),
  );
}

async function refresh() {
  try {
    const status = await askWorker({ kind: "status" });
    const { accounts, bootId, nowMs, startedAtMs } = status;
    showState(status);
    showPages(status.pages);
    showFault(status);
    showTotals(accounts, nowMs);
    showConversations(accounts);
    showAnomalies(accounts, nowMs);
    const age = ageWords(nowMs - startedAtMs);
    say("worker", translated("worker", [bootId.slice(0, 8), age]));
    element("worker").dataset.bootId = bootId;
  } catch {
    say("worker", translated("workerSilent"));
  }
  setTimeout(refresh, REFRESH_MS);
}

translatePage();
element("options").addEventListener("click", () => void openOptions());
element("reconnect").addEventListener("click", () => {
  void askWorker({ kind: "reconnect" });
});
void refresh();
