// The options page's other half: for which accounts Bright may send messages. Off until it
// is switched on; each switch holds from the moment it is moved.

import { askWorker, readLocal, writeLocal } from "../shared/browser.js";

const KEY = "sendingAllowed";

/** @returns {Promise<string[]>} */
async function allowed() {
  const stored = (await readLocal([KEY]))[KEY];
  return Array.isArray(stored) ? stored.filter((each) => typeof each === "string") : [];
}

/** @returns {Promise<string[]>} whatever account is known here, in any way */
async function accounts() {
  const status = await askWorker({ kind: "status" });
  const connected = status.connection.accounts ?? [];
  const stored = status.accounts.map(
    (/** @type {{channelAccountId: string}} */ account) => account.channelAccountId,
  );
  return [...new Set([...connected, ...stored, ...(await allowed())])].sort();
}

/**
 * @param {string} account
 * @param {boolean} isAllowed
 */
function choice(account, isAllowed) {
  const row = document.createElement("li");
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = isAllowed;
  box.dataset.account = account;
  box.addEventListener("change", () => void choose(account, box.checked));
  label.append(box, account);
  row.append(label);
  return row;
}

/**
 * @param {string} account
 * @param {boolean} isAllowed
 */
async function choose(account, isAllowed) {
  const others = (await allowed()).filter((each) => each !== account);
  await writeLocal({ [KEY]: isAllowed ? [...others, account] : others });
}

async function show() {
  const known = await accounts();
  const already = await allowed();
  const list = /** @type {HTMLElement} */ (document.getElementById("sending"));
  list.replaceChildren(
    ...known.map((account) => choice(account, already.includes(account))),
  );
  const none = /** @type {HTMLElement} */ (document.getElementById("sending-none"));
  none.hidden = known.length > 0;
}

void show();
